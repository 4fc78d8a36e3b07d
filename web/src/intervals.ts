// Values with their 95 % confidence intervals on one common scale. Pure.

export interface Interval {
  value: number | undefined;
  low: number | undefined;
  high: number | undefined;
}

export interface Scale {
  from: number;
  to: number;
  ticks: readonly number[]; // round values, `about` among them
}

// Of a better or worse, higher or lower: what is faster is blue, what is slower is orange, as less and more time are elsewhere.
export type Tone = "better" | "worse" | "chance" | "unknown";

// Whether more of a ratio means faster: instructions per cycle does, cycles per instruction does not. Undefined: neither is known.
export function isHigherBetter(ratio: string): boolean | undefined {
  if (/^(exact-)?ipc$/.test(ratio) || /^(exact-)?instructions\//.test(ratio)) return true;
  if (/^(exact-)?cpi$/.test(ratio) || /\/instructions$/.test(ratio)) return false;
  return undefined;
}

export function toneOf(verdict: string, higherIsBetter: boolean | undefined): Tone {
  switch (verdict) {
    case "better":
    case "worse":
      return verdict;
    case "higher":
    case "more":
      return higherIsBetter === true ? "better" : "worse";
    case "lower":
    case "less":
      return higherIsBetter === true ? "worse" : "better";
    case "may be chance":
      return "chance";
    default:
      return "unknown";
  }
}

function stepFor(span: number, about: number): number {
  const rough = span / about;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * magnitude).find((step) => step >= rough) ?? rough;
}

// From the least to the largest, with `about` (no change) within. Whiskers of jobs that hardly anything is known of do not press the others
// together: they end at the edge.
export function scaleOf(intervals: readonly Interval[], about = 0): Scale {
  const known = intervals.filter(({ value }) => value !== undefined);
  const values = known.map(({ value }) => value!);
  const reach = Math.max(1e-9, ...values.map((value) => Math.abs(value - about)));
  const widths = known
    .map(({ low, high }) => (low === undefined || high === undefined ? 0 : high - low))
    .sort((a, b) => a - b);
  const usual = widths[Math.floor(widths.length / 2)] ?? 0;
  const most = Math.max(reach * 0.6, usual * 3);
  let from = about;
  let to = about;
  for (const { value, low, high } of known) {
    from = Math.min(from, value!, Math.max(low ?? value!, value! - most));
    to = Math.max(to, value!, Math.min(high ?? value!, value! + most));
  }
  if (to - from < 1e-9) {
    from -= 0.01;
    to += 0.01;
  }
  const step = stepFor(to - from, 4);
  from = about + Math.floor((from - about) / step - 1e-9) * step;
  to = about + Math.ceil((to - about) / step + 1e-9) * step;
  const ticks: number[] = [];
  for (let i = Math.round((from - about) / step); about + i * step <= to + step / 2; ++i)
    ticks.push(about + i * step);
  return { from, to, ticks };
}

// In percent of the scale's width, within it.
export function placeOn(scale: Scale, value: number): number {
  return Math.max(0, Math.min(100, ((value - scale.from) / (scale.to - scale.from)) * 100));
}
