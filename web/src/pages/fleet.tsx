// Fleet: how many machines answer, what they do, what has changed.
import { valueOf, withParameters } from "../address.ts";
import type { Table } from "../api.ts";
import { useAnswer } from "../hooks.ts";
import { PanelHeading, REFRESH_MS, exploring } from "../parts/panel.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import { Stops, useStops } from "../parts/stops.tsx";
import { address, linkTo } from "../state.ts";
import { Headline } from "./fleet_headline.tsx";
import { Attention, Changes, OverTime, Ranking, TopBy } from "./fleet_panels.tsx";

export function Fleet() {
  const since = valueOf(address.value, "since") || "1h";
  const stops = useStops();
  const machines = useAnswer<Table>("machines", [], REFRESH_MS);
  const top = useAnswer<Table>(
    "top",
    [
      ["since", since],
      ["limit", "10"],
    ],
    REFRESH_MS,
  );
  // What is stopped stands first. Nothing is shown before that is known: it would push the rest down.
  if (stops.answer.state === "loading" && stops.answer.value === undefined) {
    return <div class="placeholder whole" aria-busy="true" />;
  }
  return (
    <>
      <Stops asked={stops} />
      <Headline machines={machines} since={since} />
      <div class="columns">
        <section class="panel wide" aria-labelledby="top-functions">
          <PanelHeading
            id="top-functions"
            text="Where the fleet's time goes"
            to={exploring({ since })}
            more="Explore"
          />
          <Shown {...top} placeholder={<div class="placeholder tall" />}>
            {(table) => (
              <>
                <CoverageLine coverage={table.coverage} event={table.event} />
                {table.rows.length === 0 ? (
                  <NoProfiles notes={table.notes} since={since} />
                ) : (
                  <Ranking table={table} dimension="function" since={since} />
                )}
              </>
            )}
          </Shown>
        </section>
        <div class="stack">
          <Changes since={since} />
          <Attention />
        </div>
      </div>
      <div class="thirds">
        <TopBy dimension="job" heading="Jobs" since={since} />
        <TopBy dimension="binary" heading="Programs and libraries" since={since} />
        <TopBy dimension="platform" heading="Platforms" since={since} />
      </div>
      <OverTime since={since} />
    </>
  );
}

function NoProfiles({ notes, since }: { notes: readonly string[]; since: string }) {
  return (
    <div class="message empty">
      <strong>No profiles in the last {since}.</strong>
      <Notes notes={notes.map((note) => note.replace(/^no results: /, ""))} />
      <p class="actions">
        <a {...linkTo(withParameters(address.value, { since: "7d" }))}>Show 7 days</a>
        <a {...linkTo(exploring({ since: "" }))}>Show all times</a>
      </p>
    </div>
  );
}
