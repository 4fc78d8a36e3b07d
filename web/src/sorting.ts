// The order of a table's rows. Pure.
import type { Row } from "./api.ts";

export interface Sort {
  column: string;
  isDescending: boolean;
}

// "self_share", or "-self_share": ascending.
export function parseSort(text: string): Sort | undefined {
  if (text === "") return undefined;
  return text.startsWith("-")
    ? { column: text.slice(1), isDescending: false }
    : { column: text, isDescending: true };
}

export function sortText(sort: Sort): string {
  return `${sort.isDescending ? "" : "-"}${sort.column}`;
}

// Numbers begin with the largest, texts with the first of the alphabet.
export function toggled(sort: Sort | undefined, column: string, isText: boolean): Sort {
  return sort?.column === column
    ? { column, isDescending: !sort.isDescending }
    : { column, isDescending: !isText };
}

// Stable; what is absent comes last, whatever the order.
export function sortedRows(rows: readonly Row[], sort: Sort): Row[] {
  const sign = sort.isDescending ? -1 : 1;
  const isAbsent = (value: unknown): boolean => value === null || value === undefined || value === "";
  return [...rows].sort((a, b) => {
    const x = a[sort.column];
    const y = b[sort.column];
    if (isAbsent(x) || isAbsent(y)) return Number(isAbsent(x)) - Number(isAbsent(y));
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    return sign * (String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0);
  });
}

// What a margin covers, or why there is none, for a tooltip.
export function measured(kind: string): string {
  return kind === "within one machine" ? "covers sampling noise on one machine only" : kind;
}
