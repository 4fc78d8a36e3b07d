// Times as the API takes them (base/time.h): "now", RFC 3339, or how long ago. Pure.

const UNITS: Readonly<Record<string, number>> = {
  d: 86_400,
  h: 3600,
  m: 60,
  min: 60,
  s: 1,
  "": 1,
  ms: 1e-3,
  us: 1e-6,
  ns: 1e-9,
};

// In seconds; undefined: no duration.
export function secondsOf(duration: string): number | undefined {
  const match = /^(\d+\.?\d*|\.\d+)([a-z]*)$/.exec(duration);
  const unit = match === null ? undefined : UNITS[match[2]!];
  return unit === undefined ? undefined : Number(match![1]) * unit;
}

// How long ago, in seconds. Without a unit it is none: 5 may be meant for minutes, hours or days.
function agoOf(time: string): number | undefined {
  if (time === "now") return 0;
  return /[a-z]$/.test(time) ? secondsOf(time.replace(/^-/, "")) : undefined;
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function dateOf(time: string): number | undefined {
  const at = RFC_3339.test(time) ? Date.parse(time.replace(" ", "T").toUpperCase()) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

// The time so much earlier; "" is now. Undefined: one of the two cannot be read.
export function earlierBy(time: string, duration: string): string | undefined {
  const by = secondsOf(duration);
  if (by === undefined) return undefined;
  const ago = time === "" ? 0 : agoOf(time);
  if (ago !== undefined) return ago === 0 && /[a-z]$/.test(duration) ? duration : `${ago + by}s`;
  const at = dateOf(time);
  return at === undefined ? undefined : timeText(at - by * 1000);
}

// A time in ms as the API takes it: in whole seconds, so that addresses stay short.
export function timeText(ms: number): string {
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

// In ms; undefined where it cannot be read, or is not given.
export function timeOf(time: string, now: number): number | undefined {
  const ago = agoOf(time);
  return ago === undefined ? dateOf(time) : now - ago * 1000;
}
