// Diff: two selections side by side; colour only where a change is more than chance.
import { withoutRecursion } from "../flame/derived.ts";
import { useMemo, useState } from "preact/hooks";
import type { Coverage, Row, Table, ViewSpec } from "../api.ts";
import { viewNamed } from "../api.ts";
import type { Address } from "../address.ts";
import { questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import type { Verdict } from "../flame/draw.ts";
import { FlameGraph } from "../flame/flame_graph.tsx";
import type { FlameAnswer } from "../flame/tree.ts";
import { treeOf } from "../flame/tree.ts";
import { clipped, plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { csvOf } from "../share.ts";
import { parseSort, sortText } from "../sorting.ts";
import { address, change, go, linkTo } from "../state.ts";
import { earlierBy } from "../times.ts";
import { CopyMenu } from "../parts/copy_menu.tsx";
import { EventPicker, Filters, GroupBy } from "../parts/filters.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import { DataTable } from "../parts/table.tsx";
import { TimeRange } from "../parts/time_range.tsx";
import { FlameTools } from "../parts/flame_tools.tsx";

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

export function verdictsOf(rows: readonly Row[], part: "self" | "total"): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const row of rows) {
    const verdict = row[`${part}_verdict`];
    verdicts.set(
      String(row["function"]),
      verdict === "more" || verdict === "less" ? verdict : verdict === "may be chance" ? "chance" : "unknown",
    );
  }
  return verdicts;
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
                  {isByFunction ? (
                    <DifferentialFlame rows={table.rows} />
                  ) : (
                    <p class="hint">Group by function alone to see the changes in a flame graph.</p>
                  )}
                  {unknown > 0 ? (
                    <p class="hint">
                      "Cannot tell" means that too few machines or samples were measured. A longer time range,
                      more machines per draw, or a smaller number of candidates makes smaller changes
                      decidable;{" "}
                      <a
                        {...linkTo({
                          ...address.value,
                          page: "views",
                          view: "stability",
                          parameters: new Map(),
                        })}
                      >
                        stability
                      </a>{" "}
                      says how many machines that takes.
                    </p>
                  ) : null}
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

// Of one side: its own filters and times, or those of both.
export function sideOf(of: Address, side: "base" | "new"): Address {
  const own = (name: string): string => valueOf(of, `${side}_${name}`) || valueOf(of, name);
  const earlier = valueOf(of, "earlier");
  const isShifted = side === "base" && earlier !== "";
  return withParameters(of, {
    where: [...valuesOf(of, "where"), ...valuesOf(of, `${side}_where`)],
    since: isShifted ? earlierBy(timeOfNew(of, "since"), earlier) : own("since"),
    until: isShifted ? earlierBy(timeOfNew(of, "until"), earlier) : own("until"),
  });
}

function timeOfNew(of: Address, name: string): string {
  return valueOf(of, `new_${name}`) || valueOf(of, name);
}

const DIRECTIONS: readonly ["base" | "new", string][] = [
  ["new", "after"],
  ["base", "before"],
];

// The stacks of one side, each box coloured by what is known of its function's total. Those of the side before show what is gone.
function DifferentialFlame({ rows }: { rows: readonly Row[] }) {
  const flame = viewNamed("flame");
  const shownSide = address.value.sized === "base" ? "base" : "new";
  const side = sideOf(address.value, shownSide);
  const question =
    flame === undefined
      ? undefined
      : questionOf(side, flame.parameters, { limit: "100000", form: "columns", margins: "no" });
  const asked = useAnswer<FlameAnswer>("flame", question);
  const value = asked.answer.value;
  const { collapse } = address.value;
  const tree = useMemo(() => {
    const whole = value === undefined ? undefined : treeOf(value);
    return whole === undefined || !collapse ? whole : withoutRecursion(whole);
  }, [value, collapse]);
  const verdicts = useMemo(() => verdictsOf(rows, "total"), [rows]);
  return (
    <section class="differential" aria-labelledby="differential">
      <div class="panel-heading">
        <h2 id="differential">Where the changes are</h2>
        <div class="segments" role="group" aria-label="Widths are of">
          {DIRECTIONS.map(([name, text]) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === shownSide}
              onClick={() => change({ sized: name === "base" ? "base" : "", zoom: "" })}
            >
              {text}
            </button>
          ))}
        </div>
      </div>
      <p class="hint">
        {shownSide === "new"
          ? "Stacks and widths of the new side; what is gone is seen in those before."
          : "Stacks and widths of the base side; what is new is seen in those after."}{" "}
        The colour is the verdict on the function's total: {plural(verdicts.size, "function")} judged.
      </p>
      <Shown {...asked} placeholder={<div class="placeholder tall" />}>
        {(answer) =>
          tree === undefined || tree.total[0] === 0 ? (
            <p class="hint">
              The {shownSide} side has no stacks ({plural((answer.coverage as Coverage).samples, "sample")}).
            </p>
          ) : (
            <>
              <FlameTools tree={tree} showsColours={false} />
              <FlameGraph
                tree={tree}
                rootBelow={address.value.show === "flame"}
                label="Differential flame graph"
                zoom={address.value.zoom}
                onZoom={(zoom) => change({ zoom })}
                find={address.value.find}
                colourBy="binary"
                short={address.value.names === "short"}
                verdicts={verdicts}
              />
              <p class="flame-legend">
                <span class="sample more" aria-hidden="true" /> more
                <span class="sample less" aria-hidden="true" /> less
                <span class="sample chance" aria-hidden="true" /> may be chance
                <span class="sample unknown-change" aria-hidden="true" /> not judged: too little measured, or
                too small
              </p>
            </>
          )
        }
      </Shown>
    </section>
  );
}
