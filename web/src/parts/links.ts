// Addresses of pages about one thing.
import type { Address } from "../address.ts";
import { valuesOf, withParameters } from "../address.ts";
import { address } from "../state.ts";

// What questions about the same samples have in common: event, filters and times.
export function selection(): [string, string][] {
  return ["event", "where", "focus", "ignore", "hide", "since", "until"].flatMap((name) =>
    valuesOf(address.value, name).map((value): [string, string] => [name, value]),
  );
}

// The page of a function, about the same times, event and filters.
export function functionPage(
  name: string,
  changes: Record<string, string | readonly string[]> = {},
): Address {
  const kept = new Map(
    [...address.value.parameters].filter(([parameter]) =>
      ["since", "until", "event", "where"].includes(parameter),
    ),
  );
  return withParameters(
    {
      ...address.value,
      page: "function",
      view: "",
      show: "table",
      sort: "",
      find: "",
      zoom: "",
      parameters: kept,
    },
    { ...changes, function: name },
  );
}

// What stands in brackets is code without a name, or no code at all.
export function isNamed(name: string): boolean {
  return name !== "" && !name.startsWith("[");
}
