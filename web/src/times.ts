// Times as the API takes them: RFC 3339, or how long ago. Pure.

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 };

// In seconds; undefined: no duration.
export function secondsOf(duration: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(s|m|min|h|d)$/.exec(duration);
  return match === null ? undefined : Number(match[1]) * UNITS[match[2]!]!;
}

// The time so much earlier; "" is now. Undefined: one of the two cannot be read.
export function earlierBy(time: string, duration: string): string | undefined {
  const by = secondsOf(duration);
  if (by === undefined) return undefined;
  if (time === "") return duration;
  const ago = secondsOf(time);
  if (ago !== undefined) return `${ago + by}s`;
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : new Date(at - by * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}

// In ms; undefined where it cannot be read, or is not given.
export function timeOf(time: string, now: number): number | undefined {
  const ago = secondsOf(time);
  if (ago !== undefined) return now - ago * 1000;
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : at;
}
