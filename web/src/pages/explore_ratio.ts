// A flame graph of one of several events, coloured by their ratio: what is asked for it.
import { useMemo } from "preact/hooks";
import type { Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { questionOf, valueOf, valuesOf } from "../address.ts";
import type { Verdict } from "../flame/colours.ts";
import { useAnswer } from "../hooks.ts";
import { BESIDE } from "../parts/beside.tsx";
import { eventsOf, overallRatio, ratioColumns, ratioVerdicts } from "../ratios.ts";
import { address } from "../state.ts";

const MAX_FUNCTIONS = "1000";

export interface RatioColours {
  events: readonly string[]; // the first one first; empty: there is but one
  ratios: readonly string[];
  chosen: string; // that colours; "": none does
  overall: number | undefined;
  verdicts: ReadonlyMap<string, Verdict> | undefined; // by function
}

export function useRatioColours(): RatioColours {
  const view = viewNamed("top");
  const isAsked = view !== undefined && valuesOf(address.value, BESIDE).length > 0;
  // Every row is of one platform: its sums are those of all.
  const all = useAnswer<Table>(
    "top",
    isAsked
      ? questionOf(address.value, view.parameters, { by: "platform", limit: "1000", ratio: "", only: "" })
      : undefined,
  ).answer.value;
  const ratios = useMemo(() => (all === undefined ? [] : ratioColumns(all.columns)), [all]);
  const events = useMemo(() => (all === undefined ? [] : eventsOf(all.columns)), [all]);
  const colour = address.value.colour;
  const chosen =
    !isAsked || colour === "binary" || colour === "function"
      ? ""
      : ratios.includes(colour)
        ? colour
        : (ratios[0] ?? "");
  const functions = useAnswer<Table>(
    "top",
    isAsked && chosen !== ""
      ? questionOf(address.value, view.parameters, { by: "function", limit: MAX_FUNCTIONS, ratio: "", only: "" })
      : undefined,
  ).answer.value;
  return useMemo(() => {
    if (!isAsked || all === undefined)
      return { events: [], ratios: [], chosen: "", overall: undefined, verdicts: undefined };
    const denominator = events[0] ?? "";
    const overall = overallRatio(all.rows, chosen.slice(0, -denominator.length - 1), denominator);
    const verdicts =
      chosen === "" || overall === undefined
        ? undefined
        : ratioVerdicts(functions?.rows ?? [], chosen, overall);
    return { events, ratios, chosen, overall, verdicts };
  }, [isAsked, all, functions, chosen]);
}

// The event that widths are of: "" is the first.
export function sizedEvent(): string {
  const beside = valuesOf(address.value, BESIDE);
  const { sized } = address.value;
  return beside.includes(sized) ? sized : valueOf(address.value, "event");
}
