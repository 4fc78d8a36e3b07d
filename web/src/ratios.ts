// Several events side by side: what the view `top` gives for them. Pure.
import type { Column, Row } from "./api.ts";
import type { Verdict } from "./flame/colours.ts";

// "instructions/cycles": columns of the ratios to the first event, in their order.
export function ratioColumns(columns: readonly Column[]): string[] {
  const names = new Set(columns.map(({ name }) => name));
  return columns
    .map(({ name }) => name)
    .filter((name) => name.includes("/") && names.has(`${name}_margin_kind`));
}

// The events that have columns, the first one first: "cycles" and "instructions" of "instructions/cycles". Names of events may have a "/".
export function eventsOf(columns: readonly Column[]): string[] {
  const names = columns.map(({ name }) => name);
  return names.filter((name) => names.includes(`${name}_share`) && name !== "self" && name !== "total");
}

export function overallRatio(
  rows: readonly Row[],
  numerator: string,
  denominator: string,
): number | undefined {
  let above = 0;
  let below = 0;
  for (const row of rows) {
    above += Number(row[numerator] ?? 0);
    below += Number(row[denominator] ?? 0);
  }
  return below > 0 ? above / below : undefined;
}

// By function, whether its ratio is above or below that of all: only where its whole interval is.
export function ratioVerdicts(rows: readonly Row[], ratio: string, overall: number): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const row of rows) {
    const value = row[ratio];
    const low = row[`${ratio}_low`];
    const high = row[`${ratio}_high`];
    const name = String(row["function"] ?? "");
    if (typeof value !== "number") continue;
    if (typeof low !== "number" || typeof high !== "number") verdicts.set(name, "unknown");
    else verdicts.set(name, low > overall ? "more" : high < overall ? "less" : "chance");
  }
  return verdicts;
}
