// A filter as it is typed. Pure.

export interface Predicate {
  dimension: string;
  operator: string;
  value: string;
}

const FORM = /^\s*(label:[^=!~\s]+|[a-z_]+)\s*(=~|!~|!=|=|\sin\s)\s*(.*)$/s;

// Undefined: the text is no filter (yet).
export function parsePredicate(text: string): Predicate | undefined {
  const match = FORM.exec(text);
  return match === null ? undefined : { dimension: match[1]!, operator: match[2]!.trim(), value: match[3]! };
}

// The filter for one value of a dimension. A value that would be read as another operator is written as a pattern.
export function equals(dimension: string, value: string): string {
  return /^[~]/.test(value) || value !== value.trim()
    ? `${dimension}=~^${escaped(value)}$`
    : `${dimension}=${value}`;
}

export function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

// Of filters on dimensions of the answer, those on what it is grouped by: the server refuses others.
export function onlyWithin(filters: readonly string[], by: readonly string[]): string[] {
  return filters.filter((filter) => by.includes(parsePredicate(filter)?.dimension ?? ""));
}
