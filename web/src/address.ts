// What the page shows, as its address says it. Pure. Parameters of views have the names that the API gives them, so that an address reads
// like the question; what only the page knows (page, show, sized, sort, zoom, find, colour, names) stands beside them.

export const PAGES = [
  "fleet",
  "explore",
  "function",
  "diff",
  "hardware",
  "placement",
  "experiments",
  "views",
  "health",
] as const;
export type PageName = (typeof PAGES)[number];

// What questions about the same samples have in common, whatever the page.
export const SELECTION: readonly string[] = ["event", "where", "focus", "ignore", "hide", "since", "until"];

export const SHOWN = ["table", "flame", "icicle", "sandwich", "series"] as const;
export type Shown = (typeof SHOWN)[number];

export interface Address {
  page: PageName;
  show: Shown;
  // Parameters of the API, each with its values in order.
  parameters: ReadonlyMap<string, readonly string[]>;
  sort: string; // a column; "-" before it: ascending
  zoom: string; // a path in the flame graph (pathKey)
  find: string; // regular expression
  colour: string;
  sized: string; // what widths in a flame graph are of, where there are several
  names: string; // "short": without template arguments and parameters
  collapse: boolean; // recursion
  view: string; // of the page "views"
}

const OWN = new Set(["page", "show", "sized", "sort", "zoom", "find", "colour", "names", "collapse", "view"]);
const DEFAULTS = { page: "fleet", show: "table" } as const;

function oneOf<T extends string>(values: readonly T[], text: string | null, otherwise: T): T {
  return values.includes(text as T) ? (text as T) : otherwise;
}

export function parseAddress(search: string): Address {
  const given = new URLSearchParams(search);
  const parameters = new Map<string, string[]>();
  for (const [name, value] of given) {
    if (OWN.has(name) || value === "") continue;
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [value]);
    else if (!values.includes(value)) values.push(value);
  }
  return {
    page: oneOf(PAGES, given.get("page"), DEFAULTS.page),
    show: oneOf(SHOWN, given.get("show"), DEFAULTS.show),
    parameters,
    sort: given.get("sort") ?? "",
    zoom: given.get("zoom") ?? "",
    find: given.get("find") ?? "",
    colour: given.get("colour") ?? "",
    sized: given.get("sized") ?? "",
    names: given.get("names") ?? "",
    collapse: given.get("collapse") === "yes",
    view: given.get("view") ?? "",
  };
}

// "" for the start page. Equal states give equal texts.
export function formatAddress(address: Address): string {
  const text = new URLSearchParams();
  if (address.page !== DEFAULTS.page) text.set("page", address.page);
  if (address.view !== "") text.set("view", address.view);
  for (const [name, values] of [...address.parameters].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const value of values) if (value !== "") text.append(name, value);
  }
  if (address.show !== DEFAULTS.show) text.set("show", address.show);
  for (const name of ["sized", "sort", "zoom", "find", "colour", "names"] as const) {
    if (address[name] !== "") text.set(name, address[name]);
  }
  if (address.collapse) text.set("collapse", "yes");
  const written = text.toString();
  return written === "" ? "" : `?${written}`;
}

export function valuesOf(address: Address, name: string): readonly string[] {
  return address.parameters.get(name) ?? [];
}

export function valueOf(address: Address, name: string): string {
  return address.parameters.get(name)?.[0] ?? "";
}

// The times of an address, for questions that take nothing else of it.
export function timesOf(address: Address): [string, string][] {
  return ["since", "until"]
    .map((name): [string, string] => [name, valueOf(address, name)])
    .filter(([, value]) => value !== "");
}

// The address with other values of these parameters; no value: without it.
export function withParameters(
  address: Address,
  changes: Readonly<Record<string, readonly string[] | string | undefined>>,
): Address {
  const parameters = new Map(address.parameters);
  for (const [name, given] of Object.entries(changes)) {
    const values = (typeof given === "string" ? [given] : (given ?? [])).filter((value) => value !== "");
    if (values.length === 0) parameters.delete(name);
    else parameters.set(name, [...new Set(values)]);
  }
  // Another question has another tree.
  return { ...address, parameters, zoom: "" };
}

// Those of the address that a view takes, as the API wants them: "by" is one text.
export function questionOf(
  address: Address,
  taken: readonly { name: string }[],
  further: Readonly<Record<string, string>> = {},
): [string, string][] {
  const question: [string, string][] = [];
  for (const { name } of taken) {
    const own = further[name];
    if (own !== undefined) {
      if (own !== "") question.push([name, own]);
      continue;
    }
    const values = valuesOf(address, name);
    if (name === "by" && values.length > 0) question.push([name, values.join(",")]);
    else for (const value of values) question.push([name, value]);
  }
  return question;
}
