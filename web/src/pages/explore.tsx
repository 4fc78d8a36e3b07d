// Explore: what is hot, as a table, a flame graph, an icicle, the callers and callees of one function, or over time.
import type { Shown as ShownAs } from "../address.ts";
import { questionOf } from "../address.ts";
import type { Table, ViewSpec } from "../api.ts";
import { viewNamed } from "../api.ts";
import { useAnswer } from "../hooks.ts";
import { EventPickers } from "../parts/beside.tsx";
import { Filters, GroupBy } from "../parts/filters.tsx";
import { Shown } from "../parts/status.tsx";
import { TimeRange } from "../parts/time_range.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { address, linkTo } from "../state.ts";
import { FlameAnswerPart } from "./explore_flame.tsx";
import { SeriesAnswer } from "./explore_series.tsx";
import { TableAnswer } from "./explore_table.tsx";

const TABS: readonly [ShownAs, string, string][] = [
  ["table", "Table", "Rows by the dimensions chosen"],
  ["flame", "Flame graph", "Call paths, outermost function at the bottom"],
  ["icicle", "Icicle", "Call paths, outermost function at the top"],
  ["sandwich", "Callers and callees", "All paths into one function, and out of it"],
  ["series", "Over time", "The largest rows, with their margins in each step"],
];

export function Explore() {
  const show = address.value.show;
  const series = viewNamed("series");
  const view = show === "series" ? series : viewNamed(show === "table" ? "top" : "flame");
  if (view === undefined || series === undefined) return null;
  return (
    <>
      <h1 class="unseen">Explore</h1>
      <section class="question" aria-label="Question">
        <div class="row">
          <TimeRange />
          <EventPickers />
          {show === "table" || show === "series" ? <GroupBy usual="function" /> : null}
        </div>
        <Filters view={view} />
      </section>
      {show === "series" ? null : <OverTime view={series} />}
      <nav class="tabs" aria-label="Form of the answer">
        {TABS.map(([name, text, says]) => (
          <a
            key={name}
            {...linkTo({ ...address.value, show: name, zoom: "" })}
            aria-current={show === name ? "page" : undefined}
            title={says}
          >
            {text}
          </a>
        ))}
      </nav>
      {show === "table" ? (
        <TableAnswer view={view} />
      ) : show === "series" ? (
        <SeriesAnswer view={series} />
      ) : (
        <FlameAnswerPart view={view} />
      )}
    </>
  );
}

function OverTime({ view }: { view: ViewSpec }) {
  const question = questionOf(address.value, view.parameters, { limit: "5", measure: "rate", bucket: "" });
  const { answer, again, cancel } = useAnswer<Table>(view.name, question);
  return (
    <section class="panel over-time" aria-label="Over time">
      {answer.state === "failed" && !(answer.error?.isAway && answer.value !== undefined) ? (
        // The answer below says why, and stays where it is.
        <p class="hint timeline-place">Nothing over time.</p>
      ) : (
        <Shown
          answer={answer}
          again={again}
          cancel={cancel}
          placeholder={<div class="placeholder timeline-place" />}
        >
          {(table) => <Timeline table={table} hasBrush />}
        </Shown>
      )}
    </section>
  );
}
