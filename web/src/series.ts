// Rows of the view `series` as lines of a plot. Pure.
import type { Table } from "./api.ts";

export interface Line {
  name: string;
  values: (number | undefined)[]; // by time; undefined: no profiles
  intervals: ([number, number] | undefined)[]; // of 95 %; undefined: there is none
}

export interface Points {
  lines: Line[];
  times: number[]; // ms; where steps begin
  step_ms: number;
  largest: number;
  highest: number; // end of an interval, or value
  unit: string;
}

const NOT_DIMENSIONS = /^(time|machines)$|^(self|total)_|_margin_kind$|^margin_kind$/;

export function pointsOf(table: Table): Points {
  const measure =
    ["self_rate", "self_share", "total_rate", "total_share"].find((name) =>
      table.columns.some((column) => column.name === name),
    ) ?? "self_share";
  const dimensions = table.columns.filter(({ name }) => !NOT_DIMENSIONS.test(name)).map(({ name }) => name);
  const times = [...new Set(table.rows.map((row) => Date.parse(String(row["time"]))))]
    .filter((time) => !Number.isNaN(time))
    .sort((a, b) => a - b);
  const place = new Map(times.map((time, i) => [time, i]));
  const lines = new Map<string, Line>();
  let largest = 0;
  let highest = 0;
  for (const row of table.rows) {
    const name = dimensions.map((dimension) => String(row[dimension] ?? "") || "(none)").join(" \u00b7 ");
    let line = lines.get(name);
    if (line === undefined) {
      const none = (): undefined[] => new Array<undefined>(times.length).fill(undefined);
      lines.set(name, (line = { name, values: none(), intervals: none() }));
    }
    const value = row[measure];
    const at = place.get(Date.parse(String(row["time"])));
    if (typeof value !== "number" || at === undefined) continue;
    line.values[at] = value;
    largest = Math.max(largest, value);
    const [low, high] = [row[`${measure}_low`], row[`${measure}_high`]];
    if (typeof low === "number" && typeof high === "number") line.intervals[at] = [low, high];
    highest = Math.max(highest, line.intervals[at]?.[1] ?? value);
  }
  let step_ms = Infinity;
  for (let i = 1; i < times.length; ++i) step_ms = Math.min(step_ms, times[i]! - times[i - 1]!);
  return {
    lines: [...lines.values()],
    times,
    step_ms: Number.isFinite(step_ms) ? step_ms : 60_000,
    largest: largest === 0 ? 1 : largest,
    highest: highest === 0 ? 1 : highest,
    unit: table.columns.find(({ name }) => name === measure)?.unit ?? "",
  };
}

// Round values from 0 to the largest.
export function ticksUpTo(largest: number, about: number): number[] {
  const rough = largest / about;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate >= rough) ?? rough;
  const ticks: number[] = [];
  for (let i = 0; i * step <= largest * 1.0001; ++i) ticks.push(i * step);
  return ticks;
}

// Whether a drag over a plot of `span_ms` means a time range: less is a click, and addresses have whole seconds.
export function isRange(dragged_ms: number, span_ms: number): boolean {
  return dragged_ms >= 1000 && dragged_ms > span_ms / 200;
}
