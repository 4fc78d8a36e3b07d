// What would tell a change from chance that is not told yet. Pure.
import type { Row } from "./api.ts";

// The level of the view `diff` for all its rows together, both directions.
const LEVEL = 0.02;
const QUANTILE_95 = 1.96; // of a margin: half of a 95 % interval

// The normal deviation that is exceeded with the probability p < 0.5, within 0.0005 (Abramowitz and Stegun 26.2.23).
export function deviationOf(p: number): number {
  const t = Math.sqrt(-2 * Math.log(p));
  const above = 2.515517 + t * (0.802853 + t * 0.010328);
  const below = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  return t - above / below;
}

// How many times as many machines, or as long a time: a margin shrinks with the square root of what was measured. By Bonferroni over the
// rows, which asks for no less than what the server does. Undefined: there is no margin, or no change.
export function timesAsMuch(change: number, half: number | undefined, rows: number): number | undefined {
  if (half === undefined || half <= 0 || change === 0) return undefined;
  const wanted = deviationOf(LEVEL / 2 / Math.max(1, rows));
  const seen = Math.abs(change) / (half / QUANTILE_95);
  return Math.max(1, (wanted / seen) ** 2);
}

export interface Undecided {
  name: string;
  change: number;
  half: number;
  times: number;
}

// Above this a change is not worth what it would take.
const MAX_TIMES = 100;

// The largest changes of a diff's rows that are not told from chance, and could be.
export function undecidedOf(rows: readonly Row[], nameOf: (row: Row) => string, most: number): Undecided[] {
  const found: Undecided[] = [];
  for (const row of rows) {
    const verdict = row["self_verdict"];
    const change = row["self_share_change"] ?? row["self_rate_change"];
    const half = row["self_share_change_margin"] ?? row["self_rate_change_margin"];
    if ((verdict !== "may be chance" && verdict !== "cannot tell") || typeof change !== "number") continue;
    const times = timesAsMuch(change, typeof half === "number" ? half : undefined, rows.length);
    if (times !== undefined && times <= MAX_TIMES)
      found.push({ name: nameOf(row), change, half: half as number, times });
  }
  return found.sort((a, b) => Math.abs(b.change) - Math.abs(a.change)).slice(0, most);
}
