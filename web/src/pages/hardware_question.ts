// What Hardware asks: today's platform, the one to compare it with, and the question about both.
import type { Row, Table, ViewSpec } from "../api.ts";
import { questionOf, valuesOf, withParameters } from "../address.ts";
import { platformIn } from "../compared.ts";
import { plural } from "../format.ts";
import { isHigherBetter } from "../intervals.ts";
import type { ForestRow } from "../parts/forest.tsx";
import { forestRowOf } from "../parts/forest.tsx";
import { equals } from "../predicate.ts";
import { address, go } from "../state.ts";

// The filters of one side, with this platform in place of another; "": of all.
export function sideWith(name: "base_where" | "new_where", platform: string): string[] {
  const others = valuesOf(address.value, name).filter((filter) => !filter.startsWith("platform="));
  return platform === "" ? others : [...others, equals("platform", platform)];
}

// Those that have profiles.
export function platformsOf(table: Table | undefined): string[] {
  return (table?.rows ?? [])
    .map((row) => String(row["platform"] ?? ""))
    .filter((name) => name !== "" && name !== "unknown");
}

// Today's platform and the one to compare it with: those of the address, else the first two.
export function sidesOf(names: readonly string[]): { base: string; fresh: string } {
  const base = platformIn(valuesOf(address.value, "base_where")) ?? names[0] ?? "";
  return {
    base,
    fresh: platformIn(valuesOf(address.value, "new_where")) ?? names.find((name) => name !== base) ?? "",
  };
}

export function choose(names: readonly string[], changes: { base?: string; fresh?: string }): void {
  const { base, fresh } = { ...sidesOf(names), ...changes };
  go(
    withParameters(address.value, {
      base_where: sideWith("base_where", base),
      new_where: sideWith("new_where", fresh),
    }),
  );
}

export function compareQuestion(
  view: ViewSpec,
  base: string,
  fresh: string,
  limit: string,
): [string, string][] {
  const sided = withParameters(address.value, {
    base_where: sideWith("base_where", base),
    new_where: sideWith("new_where", fresh),
  });
  return questionOf(sided, view.parameters, { limit, event: "" });
}

export function changeOf(row: Row, label: string, ratio: string): ForestRow {
  const needed = row["machines_needed"];
  return {
    ...forestRowOf(row, "ratio_change", label, isHigherBetter(ratio)),
    ...(row["verdict"] === "cannot tell" && typeof needed === "number" && needed > 0
      ? { needs: `${plural(needed, "machine")} more` }
      : {}),
  };
}
