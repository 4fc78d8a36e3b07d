// What the page Health computes. Pure.
import type { Column, Row } from "./api.ts";

// By the state of a machine the column's name; further states have their own.
const STATES: readonly [string, string][] = [
  ["live", "live"],
  ["gone", "gone"],
  ["profiles", "never registered"],
  ["unheard", "never heard of"],
];

// Machines by the version of their daemon and their state, the most frequent version first. "live" has a column also where no machine is.
export function versionsOf(machines: readonly Row[]): { columns: Column[]; rows: Row[] } {
  const byVersion = new Map<string, Map<string, number>>();
  for (const machine of machines) {
    const version = String(machine["version"] ?? "") || "(unknown)";
    const counts = byVersion.get(version) ?? new Map<string, number>();
    const state = String(machine["state"] ?? "");
    counts.set(state, (counts.get(state) ?? 0) + 1);
    byVersion.set(version, counts);
  }
  const found = new Set(["live", ...machines.map((machine) => String(machine["state"] ?? ""))]);
  const states: readonly [string, string][] = [
    ...STATES.filter(([state]) => found.has(state)),
    ...[...found]
      .filter((state) => !STATES.some(([known]) => known === state))
      .sort()
      .map((state): [string, string] => [state, state || "unknown state"]),
  ];
  const all = (counts: ReadonlyMap<string, number>): number =>
    [...counts.values()].reduce((sum, count) => sum + count, 0);
  const rows = [...byVersion]
    .sort(([a, ofA], [b, ofB]) => all(ofB) - all(ofA) || (a < b ? -1 : 1))
    .map(([version, counts]) => ({
      version,
      ...Object.fromEntries(states.map(([state, name]) => [name, counts.get(state) ?? 0])),
    }));
  return {
    columns: [{ name: "version", unit: "" }, ...states.map(([, name]) => ({ name, unit: "count" }))],
    rows,
  };
}

// How assignments end; those that the page does not know are trouble, so that a new one is seen.
const TONES: ReadonlyMap<string, string> = new Map([
  ["answered", "good"],
  ["partial", "good"],
  ["late", "good"],
  ["pending", "waits"],
  ["withheld", "held"],
  ["unreached", "missed"],
  ["vanished", "missed"],
]);
// Counted as answered too.
const OF_ANSWERED: ReadonlySet<string> = new Set(["partial", "late"]);

const toneOf = (outcome: string): string => TONES.get(outcome) ?? "bad";
const isTrouble = (outcome: string): boolean => outcome !== "" && toneOf(outcome) === "bad";

export interface Outcome {
  outcome: string;
  tone: string;
  count: number;
}

// What became of the machines of a draw: the view has a column of each outcome after "drawn".
export function responsesOf(columns: readonly Column[], row: Row): Outcome[] {
  const drawn = columns.findIndex(({ name }) => name === "drawn");
  return columns
    .slice(drawn < 0 ? columns.length : drawn + 1)
    .filter(({ name }) => !OF_ANSWERED.has(name))
    .map(({ name }) => ({ outcome: name, tone: toneOf(name), count: Number(row[name] ?? 0) }))
    .filter(({ count }) => count > 0);
}

const NAMED = 4; // machines of a reason

// Drawn machines that gave no profile, by why: the most frequent reason first.
export function reasonsOf(machines: readonly Row[]): { columns: Column[]; rows: Row[] } {
  const byReason = new Map<string, { outcome: string; detail: string; names: string[] }>();
  for (const machine of machines) {
    const outcome = String(machine["outcome"] ?? "");
    if (!isTrouble(outcome)) continue;
    const detail = String(machine["detail"] ?? "");
    const key = `${outcome} ${detail}`;
    const reason = byReason.get(key) ?? { outcome, detail, names: [] };
    reason.names.push(String(machine["machine"] ?? ""));
    byReason.set(key, reason);
  }
  const rows = [...byReason.values()]
    .sort((a, b) => b.names.length - a.names.length || (a.detail < b.detail ? -1 : 1))
    .map(({ outcome, detail, names }) => ({
      outcome,
      machines: names.length,
      reason: detail,
      which: names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ", \u2026" : ""),
    }));
  return {
    columns: [
      { name: "outcome", unit: "" },
      { name: "machines", unit: "count" },
      { name: "reason", unit: "" },
      { name: "which", unit: "" },
    ],
    rows,
  };
}

// What happens at a limit of the store; what has no limit in force reaches none.
export function atLimit(row: Row): string {
  const says = String(row["at_limit"] ?? "");
  return typeof row["max_bytes"] === "number"
    ? `At the limit ${says}`
    : `${says.slice(0, 1).toUpperCase()}${says.slice(1)}`;
}

export interface Help {
  says: string;
  command: string; // to be run where the server runs; "": none
}

const HEX = /^[0-9a-f]{4,128}$/;

// How a binary gets names. Only a build ID that is hexadecimal becomes part of a command.
export function helpFor(binary: string, build_id: string): Help {
  if (HEX.test(build_id)) {
    const path = `/usr/lib/debug/.build-id/${build_id.slice(0, 2)}/${build_id.slice(2)}.debug`;
    return {
      says: "Fetch its debug file to where the server looks (symbols.debug_roots), or install its -dbgsym package.",
      command: `install -D -m 644 "$(debuginfod-find debuginfo ${build_id})" ${path}`,
    };
  }
  if (binary === "[jit]") {
    return {
      says: "Let the runtime write a perf map or jitdump: perf-PID.map in /tmp names its code.",
      command: "",
    };
  }
  if (build_id.startsWith("xxh3:")) {
    return {
      says: "The file has no build ID: link it with -Wl,--build-id, so that debug files can be found.",
      command: "",
    };
  }
  return {
    says: "The profile has no build ID for it: let the daemon collect it, or import with symbols.",
    command: "",
  };
}
