// How numbers, times and names are written. Pure.

const MINUS = "\u2212";
const PLUS_MINUS = "\u00b1";
const NARROW = "\u202f"; // between a number and its unit

function digits(value: number, significant: number): string {
  if (value === 0) return "0";
  // What rounding makes a digit longer has one decimal less.
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(significant)))));
  const decimals = Math.max(0, Math.min(6, significant - 1 - magnitude));
  return value.toFixed(decimals);
}

function scaled(value: number, steps: readonly [number, string][]): string {
  const size = Math.abs(value);
  for (const [step, unit] of steps) {
    // What rounds up to the next step is written in it.
    if (size >= step * 0.99995) return `${digits(value / step, 4)}${unit}`;
  }
  const [step, unit] = steps[steps.length - 1]!;
  return `${digits(value / step, 4)}${unit}`;
}

const TIMES: readonly [number, string][] = [
  [86_400e9, `${NARROW}d`],
  [3600e9, `${NARROW}h`],
  [60e9, `${NARROW}min`],
  [1e9, `${NARROW}s`],
  [1e6, `${NARROW}ms`],
  [1e3, `${NARROW}\u00b5s`],
  [1, `${NARROW}ns`],
];
const BYTES: readonly [number, string][] = [
  [2 ** 40, `${NARROW}TiB`],
  [2 ** 30, `${NARROW}GiB`],
  [2 ** 20, `${NARROW}MiB`],
  [2 ** 10, `${NARROW}KiB`],
  [1, `${NARROW}B`],
];
const COUNTS: readonly [number, string][] = [
  [1e15, `${NARROW}P`],
  [1e12, `${NARROW}T`],
  [1e9, `${NARROW}G`],
  [1e6, `${NARROW}M`],
  [1e4, `${NARROW}k`],
];

function whole(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 }).replaceAll(",", NARROW);
}

function plain(value: number): string {
  if (Math.abs(value) >= 1e4) return scaled(value, COUNTS.slice(0, 4).concat([[1e3, `${NARROW}k`]]));
  return Number.isInteger(value) ? whole(value) : digits(value, 4);
}

// A fraction of 1 in percent. What is there but too small to be seen is not zero.
export function share(value: number): string {
  const percent = value * 100;
  if (percent !== 0 && Math.abs(percent) < 0.005) return `<${NARROW}0.01${NARROW}%`;
  return `${percent.toFixed(2)}${NARROW}%`.replace("-", MINUS);
}

// A value in the unit that a column says.
export function quantity(value: number, unit: string): string {
  if (unit === "share") return share(value);
  const sign = value < 0 ? MINUS : "";
  return sign + magnitude(Math.abs(value), unit);
}

function magnitude(value: number, unit: string): string {
  switch (unit) {
    case "ns":
      return scaled(value, TIMES);
    // Nanoseconds of a second are CPUs.
    case "ns/s":
      return `${digits(value / 1e9, 3)}${NARROW}CPUs`;
    case "bytes":
      return scaled(value, BYTES);
    case "bytes/s":
      return `${scaled(value, BYTES)}/s`;
    case "count":
      return plain(value);
    case "count/s":
      return `${plain(value)}/s`;
    case "CPUs":
      return `${Number.isInteger(value) ? whole(value) : digits(value, 3)}${NARROW}CPUs`;
    case "p":
      return value < 0.001 ? "<0.001" : digits(value, 2);
    case "":
      return plain(value);
    default:
      // Large ones are rates of some kind: "cycles/s" says which.
      if (Math.abs(value) >= 1e4) return `${plain(value)}${unit.endsWith("/s") ? ` ${unit}` : ""}`;
      return `${Number.isInteger(value) ? whole(value) : digits(value, 4)}`;
  }
}

// Half the width of an interval, behind a value that says the unit.
export function margin(value: number, unit: string): string {
  if (unit === "share") {
    const percent = value * 100;
    return `${PLUS_MINUS}${percent !== 0 && percent < 0.005 ? "<0.01" : percent.toFixed(2)}`;
  }
  return `${PLUS_MINUS}${quantity(value, unit)}`;
}

// A change, with its sign.
export function change(value: number, unit: string): string {
  const text = quantity(value, unit);
  return value > 0 ? `+${text}` : text;
}

// "2 h ago". `now` and `then` in ms.
export function ago(then: number, now: number): string {
  const seconds = Math.round((now - then) / 1000);
  if (seconds < 0) return "just now";
  if (seconds < 60) return seconds < 5 ? "just now" : `${seconds}${NARROW}s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}${NARROW}min ago`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)}${NARROW}h ago`;
  return `${Math.floor(seconds / 86_400)} days ago`;
}

function padded(value: number): string {
  return String(value).padStart(2, "0");
}

// The reader's own clock, with the date where it is not of the same day as `now`.
export function clock(time: number, now: number): string {
  const date = new Date(time);
  const today = new Date(now);
  const hours = `${padded(date.getHours())}:${padded(date.getMinutes())}`;
  return date.toDateString() === today.toDateString()
    ? hours
    : `${date.getFullYear()}-${padded(date.getMonth() + 1)}-${padded(date.getDate())} ${hours}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

// Names come from other people's programs: what is invisible, or turns around what stands beside it, is shown as its code.
const INVISIBLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function visible(text: string): string {
  return text.replace(INVISIBLE, (c) => `\\u${c.codePointAt(0)!.toString(16).padStart(4, "0")}`);
}

// At most so many characters of a name, the middle left out.
export function clipped(text: string, most = 300): string {
  if (text.length <= most) return visible(text);
  const half = Math.floor((most - 1) / 2);
  return `${visible(text.slice(0, half))}\u2026${visible(text.slice(-half))}`;
}

// A C++, Rust or Go name without template arguments, parameters, hashes and the path of its package.
export function shortName(name: string): string {
  let text = name.replace(/::h[0-9a-f]{16}$/, "");
  // "operator<" and its kin are no brackets.
  const operator = /operator\s*(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))/g;
  const kept: string[] = [];
  text = text.replace(operator, (match) => `\u0001${kept.push(match) - 1}\u0002`);
  let depth = 0;
  let short = "";
  for (let i = 0; i < text.length; ++i) {
    const c = text[i]!;
    if (c === "<" || c === "(") {
      const anonymous = depth === 0 && text.startsWith("(anonymous namespace)", i);
      if (anonymous) {
        short += "(anonymous namespace)";
        i += "(anonymous namespace)".length - 1;
        continue;
      }
      if (depth++ === 0 && c === "<" && short !== "" && !short.endsWith(" ")) short += "<\u2026>";
      else if (depth === 1 && (short === "" || short.endsWith(" "))) short += c; // "<T as Trait>::f" begins with it
      continue;
    }
    if (c === ">" || c === ")") {
      if (depth > 0) depth--;
      continue;
    }
    if (depth === 0) short += c;
  }
  if (depth > 0 || short.trim() === "" || /^(<|\((?!anonymous))/.test(short)) return name;
  short = short.replace(/\u0001(\d+)\u0002/g, (_, place) => kept[Number(place)]!);
  short = short.replace(/\s+(const|volatile|noexcept|&{1,2})*\s*$/, "");
  // A return type stands before the last space that is outside of brackets.
  const space = short.lastIndexOf(" ");
  if (space > 0 && !short.includes("operator") && !short.includes("namespace)") && !short.startsWith("[")) {
    short = short.slice(space + 1);
  }
  return short.replace(/^.*\/(?=[^/]+\.)/, "");
}
