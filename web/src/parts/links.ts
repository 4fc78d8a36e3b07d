// Addresses of pages about one thing.
import type { Address } from "../address.ts";
import { SELECTION, valuesOf, withParameters } from "../address.ts";
import { address } from "../state.ts";

// Event, filters and times of the address.
export function selection(): [string, string][] {
  return SELECTION.flatMap((name) =>
    valuesOf(address.value, name).map((value): [string, string] => [name, value]),
  );
}

// The page of a function, about the same times, event and filters.
export function functionPage(
  name: string,
  changes: Record<string, string | readonly string[]> = {},
): Address {
  const kept = new Map(
    [...address.value.parameters].filter(([parameter]) => SELECTION.includes(parameter)),
  );
  return withParameters(
    {
      ...address.value,
      page: "function",
      view: "",
      show: "table",
      sized: "",
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
