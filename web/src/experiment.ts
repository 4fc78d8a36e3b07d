// An experiment as an address and as a file of `plimsoll experiment` says it. Pure.
import type { Address } from "./address.ts";
import { valueOf, valuesOf } from "./address.ts";
import type { Row } from "./api.ts";
import { timeOf, timeText } from "./times.ts";

// Those that the views of an experiment do not take: what people call it.
export const NAME = "name";
export const FEATURE = "feature";
// Of the server's definition alone.
const OWNER = "owner";

// All parameters of the views of an experiment, each once: some are of one view alone, such as `history` of the plan.
export function definedBy<P extends { readonly name: string }>(
  views: readonly ({ readonly parameters: readonly P[] } | undefined)[],
): P[] {
  const all = new Map<string, P>();
  for (const parameter of views.flatMap((view) => view?.parameters ?? [])) {
    if (!all.has(parameter.name)) all.set(parameter.name, parameter);
  }
  return [...all.values()];
}

export type Parameters = Readonly<Record<string, readonly string[]>>;

function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1);
  return text.slice(1, -1).replace(/\\(u[0-9a-fA-F]{4}|.)/g, (_, escape: string) => {
    if (escape.startsWith("u") && escape.length === 5)
      return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return { n: "\n", t: "\t", r: "\r" }[escape] ?? escape;
  });
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"|'[^']*'`;
const STRINGS = new RegExp(STRING, "g");
// A key and its value: a text, texts in brackets (over several lines), or a number.
const ENTRY = new RegExp(
  String.raw`^\s*([A-Za-z_]+)\s*=\s*(?:(${STRING})|(\[(?:\s|,|#[^\n]*|${STRING})*\])|([-+0-9.eE_]+))\s*(?:#[^\n]*)?$`,
  "gm",
);

// What `plimsoll experiment define` writes, as parameters of the API. Undefined: the text is no such file.
export function parseExperimentFile(text: string): Parameters | undefined {
  const found = new Map<string, readonly string[]>();
  const parts = text.split(/^\s*\[([A-Za-z_]+)\]\s*(?:#[^\n]*)?$/m);
  for (let i = 1; i < parts.length; i += 2) {
    for (const [, key, single, list, number] of parts[i + 1]!.matchAll(ENTRY)) {
      const values =
        single !== undefined
          ? [unquoted(single)]
          : list !== undefined
            ? [...list.matchAll(STRINGS)].map(([one]) => unquoted(one))
            : [number!.replaceAll("_", "")];
      found.set(`${parts[i]}.${key}`, values);
    }
  }
  const of = (key: string): readonly string[] => (found.get(key) ?? []).filter((value) => value !== "");
  if (of("arms.control").length === 0 || of("arms.test").length === 0) return undefined;
  const percent = (key: string, otherwise: number): readonly string[] =>
    of(key)
      .filter((value) => Number(value) !== otherwise)
      .map((value) => `${value}%`);
  return {
    [NAME]: of("experiment.name"),
    [FEATURE]: of("experiment.feature"),
    control: of("arms.control"),
    test: of("arms.test"),
    where: of("arms.both"),
    since: of("time.since"),
    until: of("time.until"),
    ratio: of("target.ratio").filter((value) => value !== "ipc"),
    margin: percent("target.margin_percent", 1),
    detect: percent("target.detect_percent", 0),
    power: percent("target.power_percent", 95),
    min_instances: of("target.min_instances").filter((value) => value !== "4"),
  };
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"\u0000-\u001f\u007f]/g, (c) => {
    if (c === "\\" || c === '"') return `\\${c}`;
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  })}"`;
}

function percentOf(share: string): string | undefined {
  const value = share.endsWith("%") ? Number(share.slice(0, -1)) : Number(share) * 100;
  return share === "" || !Number.isFinite(value) ? undefined : String(Number(value.toPrecision(12)));
}

// What the views take, and the file has no key for.
const NOT_IN_FILE = ["focus", "ignore", "hide", "history"] as const;

// The file for the command line. What is not said has the command's default.
export function experimentFile(address: Address): string {
  const list = (name: string): string => `[${valuesOf(address, name).map(quoted).join(", ")}]`;
  const text = (name: string): string => valueOf(address, name);
  const lost = NOT_IN_FILE.flatMap((name) =>
    valuesOf(address, name).map((value) => `${name}=${quoted(value)}`),
  );
  const lines = [
    "# An experiment of Plimsoll (docs/wsmeter.md): plan, watch and report read this file.",
    ...(lost.length === 0 ? [] : [`# Not in this file, which has no key for it: ${lost.join(", ")}`]),
    "[experiment]",
    `name = ${quoted(text(NAME) || "experiment")}`,
    ...(text(FEATURE) === "" ? [] : [`feature = ${quoted(text(FEATURE))}`]),
    "[arms]",
    `control = ${list("control")}`,
    `test = ${list("test")}`,
    ...(valuesOf(address, "where").length === 0 ? [] : [`both = ${list("where")}`]),
    "[time]",
    ...(["since", "until"] as const)
      .filter((name) => text(name) !== "")
      .map((name) => `${name} = ${quoted(text(name))}`),
    "[target]",
    ...(text("ratio") === "" ? [] : [`ratio = ${quoted(text("ratio"))}`]),
    ...(["margin", "detect", "power"] as const).flatMap((name) => {
      const percent = percentOf(text(name));
      return percent === undefined ? [] : [`${name}_percent = ${percent}`];
    }),
    ...(/^\d+$/.test(text("min_instances"))
      ? [`min_instances = ${Number(text("min_instances"))}`]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}

export type State = "to be planned" | "running" | "ended";

// As the server judges it: ended are those whose time is over, and those of which all wanted instances were observed.
export function stateOf(address: Address, now: number, isComplete: boolean): State {
  const since = timeOf(valueOf(address, "since"), now);
  const until = timeOf(valueOf(address, "until"), now);
  if (since === undefined || since > now) return "to be planned";
  return isComplete || (until !== undefined && until <= now) ? "ended" : "running";
}

export interface Progress {
  there: number; // of the instances that are wanted
  wanted: number;
  isComplete: boolean;
}

export function progressOf(rows: readonly Row[]): Progress {
  let there = 0;
  let wanted = 0;
  for (const row of rows) {
    const of = Number(row["wanted"] ?? 0);
    wanted += of;
    there += Math.min(of, Number(row["test"] ?? 0));
  }
  return { there, wanted, isComplete: wanted > 0 && there === wanted };
}

// Notes of an experiment's view: its own sentence, and all others, such as those of data that is missing, which may stand before it.
export function notesOf(
  notes: readonly string[],
  kind: keyof typeof SENTENCES,
): { sentence: string; others: string[] } {
  const at = notes.findIndex((note) => SENTENCES[kind].test(note));
  return { sentence: notes[at] ?? "", others: notes.filter((_, i) => i !== at) };
}

const SENTENCES = {
  plan: /^\d+ instances of the test, which cost /,
  progress: /^\d+ of \d+ instances of the test /,
  result: /^(better|worse|cannot tell): the metric changes by /,
} as const;

// An experiment that the server keeps: a row of the view `experiments`.
export interface Kept {
  readonly name: string;
  readonly state: string; // planned, running, ended
  readonly owner: string;
  readonly parameters: Parameters; // of an address: with its name and feature
}

function textsOf(value: unknown): string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((one): one is string => typeof one === "string" && one !== "");
}

export function keptOf(rows: readonly Row[]): Kept[] {
  return rows.flatMap((row) => {
    const name = String(row["experiment"] ?? "");
    let read: unknown;
    try {
      read = JSON.parse(String(row["definition"] ?? ""));
    } catch {
      return [];
    }
    if (typeof read !== "object" || read === null) return [];
    const given = Object.entries(read as Record<string, unknown>)
      .filter(([key]) => key !== OWNER)
      .map(([key, value]): [string, readonly string[]] => [key, textsOf(value)]);
    return [
      {
        name,
        state: String(row["state"] ?? ""),
        owner: String(row["owner"] ?? ""),
        parameters: { ...Object.fromEntries(given), [NAME]: [name] },
      },
    ];
  });
}

// What the server keeps must not move with the clock.
function fixedTime(text: string, now: number): string {
  const at = timeOf(text, now);
  if (at === undefined || at === timeOf(text, now - 3_600_000)) return text;
  return timeText(at);
}

export type Definition = Readonly<Record<string, string | readonly string[]>>;

// The definition that an address says, as PUT takes it: its feature, and the parameters of the experiment's views.
export function definitionOf(
  address: Address,
  taken: readonly { readonly name: string; readonly repeatable: boolean }[],
  now: number,
): Definition {
  const definition: Record<string, string | readonly string[]> = {};
  const feature = valueOf(address, FEATURE);
  if (feature !== "") definition[FEATURE] = feature;
  for (const { name, repeatable } of taken) {
    const values = valuesOf(address, name);
    const [first] = values;
    if (first === undefined) continue;
    if (repeatable) definition[name] = values;
    else definition[name] = name === "since" || name === "until" ? fixedTime(first, now) : first;
  }
  return definition;
}

function written(parameters: Parameters): string {
  const said = Object.entries(parameters).filter(([name, values]) => name !== NAME && values.length > 0);
  return JSON.stringify(said.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function saysTheSame(kept: Kept, definition: Definition): boolean {
  const given = Object.entries(definition).map(([name, value]): [string, readonly string[]] => [
    name,
    typeof value === "string" ? [value] : value,
  ]);
  return written(kept.parameters) === written(Object.fromEntries(given));
}

// Below api/v1/.
export function pathOf(name: string): string {
  return `experiments/${encodeURIComponent(name)}`;
}
