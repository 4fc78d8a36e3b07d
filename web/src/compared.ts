// What the rows of the view `compare` are. Pure.
import type { Row } from "./api.ts";
import { parsePredicate } from "./predicate.ts";

export interface ComparedRows {
  summary: Row | undefined; // the mean over jobs
  actual: Row | undefined; // over all samples
  compared: Row[];
  leftOut: Row[]; // their verdict says why
}

export function comparedRows(rows: readonly Row[]): ComparedRows {
  const named = (name: string): Row | undefined =>
    rows.find((row) => Object.values(row).some((cell) => cell === name));
  const summary = named("[by quota]") ?? named("[fixed mix]");
  const actual = named("[actual mix]");
  const others = rows.filter((row) => row !== summary && row !== actual);
  // Any other verdict is one of a comparison, also where the page does not know it.
  const isCompared = (row: Row): boolean => !String(row["verdict"] ?? "").startsWith("left out");
  return {
    summary,
    actual,
    compared: others.filter(isCompared),
    leftOut: others.filter((row) => !isCompared(row)),
  };
}

// How many jobs are compared, as a note says it: no more rows than were asked for are in the table.
export function jobsCompared(notes: readonly string[]): { compared: number; all: number } | undefined {
  for (const note of notes) {
    const match = /^compared (\d+) of (\d+) jobs/.exec(note);
    if (match !== null) return { compared: Number(match[1]), all: Number(match[2]) };
  }
  return undefined;
}

// Of filters that choose one platform.
export function platformIn(filters: readonly string[]): string | undefined {
  for (const filter of filters) {
    const predicate = parsePredicate(filter);
    if (predicate?.dimension === "platform" && predicate.operator === "=") return predicate.value;
  }
  return undefined;
}
