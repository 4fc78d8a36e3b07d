// Diff: two selections side by side; colour only where a change is more than chance.
import { useState } from "preact/hooks";
import type { Row, Table, ViewSpec } from "../api.ts";
import { viewNamed } from "../api.ts";
import { questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import { clipped, plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { csvOf } from "../share.ts";
import { parseSort, sortText } from "../sorting.ts";
import { address, change, go, linkTo } from "../state.ts";
import { CopyMenu } from "../parts/copy_menu.tsx";
import { EventPicker, Filters, GroupBy } from "../parts/filters.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import { DataTable } from "../parts/table.tsx";
import { TimeRange } from "../parts/time_range.tsx";
import { DifferentialFlame } from "./diff_flame.tsx";
import { Undecided } from "./diff_undecided.tsx";

const EARLIER: readonly [string, string][] = [
  ["", "\u2026"],
  ["15m", "15 minutes before"],
  ["1h", "an hour before"],
  ["1d", "a day before"],
  ["7d", "a week before"],
];

function isAsked(): boolean {
  return ["earlier", "base_where", "new_where", "base_since", "base_until", "new_since", "new_until"].some(
    (name) => valueOf(address.value, name) !== "",
  );
}

export function Diff() {
  const view = viewNamed("diff");
  if (view === undefined) return null;
  return (
    <>
      <h1 class="unseen">Diff</h1>
      <section class="question" aria-label="Question">
        <div class="row">
          <TimeRange />
          <label class="field">
            <span>Compare with</span>
            <select
              value={valueOf(address.value, "earlier")}
              onChange={(event) =>
                go(
                  withParameters(address.value, {
                    earlier: event.currentTarget.value,
                    since: valueOf(address.value, "since") || "1h",
                  }),
                )
              }
            >
              {EARLIER.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
              {EARLIER.some(([value]) => value === valueOf(address.value, "earlier")) ? null : (
                <option value={valueOf(address.value, "earlier")}>
                  {clipped(valueOf(address.value, "earlier"), 20)} before
                </option>
              )}
            </select>
          </label>
          <EventPicker />
          <GroupBy usual="function" />
        </div>
        <Filters view={view} />
      </section>
      {isAsked() ? <Answer view={view} /> : <Ask />}
    </>
  );
}

function Ask() {
  const to = (changes: Record<string, string>) => linkTo(withParameters(address.value, changes));
  return (
    <div class="message empty">
      <strong>Compare with what?</strong>
      <p class="actions">
        <a {...to({ since: "1h", earlier: "1h" })}>The last hour with the hour before</a>
        <a {...to({ since: "1h", earlier: "1d" })}>The last hour with a day before</a>
        <a {...to({ since: "1d", earlier: "7d" })}>The last day with a week before</a>
      </p>
      <p>Or give each side its own filter, such as "base where" revision=41 and "new where" revision=42.</p>
    </div>
  );
}

function Answer({ view }: { view: ViewSpec }) {
  const question = questionOf(address.value, view.parameters, {
    limit: valueOf(address.value, "limit") || "100",
  });
  const { answer, again, cancel } = useAnswer<Table>(view.name, question);
  const by = valuesOf(address.value, "by");
  const isByFunction = by.length === 0 || (by.length === 1 && by[0] === "function");
  return (
    <section class="panel answer" aria-label="Answer">
      <Shown answer={answer} again={again} cancel={cancel} placeholder={<div class="placeholder tall" />}>
        {(table) => {
          const count = (verdict: string): number =>
            table.rows.filter((row) => row["self_verdict"] === verdict).length;
          const [more, less, chance] = [count("more"), count("less"), count("may be chance")];
          const unknown = table.rows.length - more - less - chance;
          return (
            <>
              <header>
                <p class="verdicts" aria-label="Verdicts on self">
                  <span class="verdict more">{more} more</span>
                  <span class="verdict less">{less} less</span>
                  <span class="verdict chance">{chance} may be chance</span>
                  <span class="verdict unknown">{unknown} cannot tell</span>
                </p>
                <CopyMenu
                  view={view}
                  question={question}
                  coverage={undefined}
                  files={[
                    {
                      name: "changes.csv",
                      says: "these rows, with margins",
                      make: () => new Blob([csvOf(table.columns, table.rows)], { type: "text/csv" }),
                    },
                    {
                      name: "changes.json",
                      says: "the answer as the API gives it",
                      make: () => new Blob([JSON.stringify(table, null, 2)], { type: "application/json" }),
                    },
                  ]}
                />
              </header>
              <CoverageLine coverage={table.coverage} event={table.event} />
              <Notes notes={table.notes} />
              {table.rows.length === 0 ? (
                <div class="message empty">
                  <strong>Nothing to compare.</strong>
                  <p>One of the sides has no profiles: choose another time, or fewer filters.</p>
                </div>
              ) : (
                <>
                  <Changes table={table} view={view} />
                  <Undecided table={table} />
                  {isByFunction ? (
                    <DifferentialFlame rows={table.rows} />
                  ) : (
                    <p class="hint">Group by function alone to see the changes in a flame graph.</p>
                  )}
                </>
              )}
            </>
          );
        }}
      </Shown>
    </section>
  );
}

const DETAILS = ["base_total_share", "new_total_share", "total_p", "base_total_rate", "new_total_rate"];
const SIDES = ["base_self_share", "new_self_share"];

function isChanged(row: Row): boolean {
  return [row["self_verdict"], row["total_verdict"]].some(
    (verdict) => verdict === "more" || verdict === "less",
  );
}

// What is more than chance; the rest on request.
function Changes({ table, view }: { table: Table; view: ViewSpec }) {
  const [showsAll, setShowsAll] = useState(false);
  const changed = table.rows.filter(isChanged);
  const rest = table.rows.length - changed.length;
  const rows = showsAll || changed.length === 0 ? table.rows : changed;
  return (
    <>
      <DataTable
        caption="Changes, new minus base"
        columns={table.columns}
        rows={rows}
        view={view}
        hidden={DETAILS}
        plain={SIDES}
        sort={parseSort(address.value.sort)}
        onSort={(next) => change({ sort: sortText(next) })}
      />
      {changed.length > 0 && rest > 0 ? (
        <p class="after-table">
          <button type="button" aria-expanded={showsAll} onClick={() => setShowsAll(!showsAll)}>
            {showsAll
              ? "Show only changes that are more than chance"
              : `Show ${plural(rest, "other row")} too`}
          </button>
        </p>
      ) : null}
    </>
  );
}
