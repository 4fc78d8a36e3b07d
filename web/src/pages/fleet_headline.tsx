// How many machines there are and answer, and how much of their time is covered.
import type { ComponentChildren } from "preact";
import { withParameters } from "../address.ts";
import type { Row, Table } from "../api.ts";
import { ago, plural, quantity, share } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { REFRESH_MS } from "../parts/panel.tsx";
import { Shown } from "../parts/status.tsx";
import { address, linkTo } from "../state.ts";

function Tile(props: {
  value: string;
  says: string;
  detail?: ComponentChildren;
  tone?: string;
  part?: number;
}) {
  return (
    <li class={`tile ${props.tone ?? ""}`}>
      <span class="figure">{props.value}</span>
      <span class="says">{props.says}</span>
      {props.part === undefined ? null : (
        <span class="meter" aria-hidden="true">
          <span style={{ width: `${Math.round(Math.max(0, Math.min(1, props.part)) * 100)}%` }} />
        </span>
      )}
      <span class="detail">{props.detail}</span>
    </li>
  );
}

function total(rows: readonly Row[], name: string): number {
  return rows.reduce((sum, row) => sum + (typeof row[name] === "number" ? row[name] : 0), 0);
}

type Asked = ReturnType<typeof useAnswer<Table>>;

const RANGES: readonly [string, string][] = [
  ["1h", "hour"],
  ["1d", "day"],
  ["7d", "week"],
];

export function Headline({ machines, since }: { machines: Asked; since: string }) {
  const coverage = useAnswer<Table>(
    "coverage",
    [
      ["since", since],
      ["limit", "10000"],
    ],
    REFRESH_MS,
  );
  const draws = useAnswer<Table>("draws", [["limit", "1"]], REFRESH_MS);
  const overhead = useAnswer<Table>("status", [["by", "overhead"]], REFRESH_MS);
  const rows = machines.answer.value?.rows ?? [];
  const live = rows.filter((row) => row["state"] === "live").length;
  const parts = coverage.answer.value?.rows ?? [];
  const fleet = total(parts, "machines");
  const seen = total(parts, "machines_seen");
  const used = total(parts, "cpus_used");
  const covered = parts.reduce(
    (sum, row) =>
      sum +
      (typeof row["cpus_seen_share"] === "number" && typeof row["cpus_used"] === "number"
        ? row["cpus_seen_share"] * row["cpus_used"]
        : 0),
    0,
  );
  const draw = draws.answer.value?.rows[0];
  const newest = Math.max(
    0,
    ...rows.map((row) => Date.parse(String(row["last_seen"]))).filter((time) => !Number.isNaN(time)),
  );
  // The budget that is used up most.
  const budget = (overhead.answer.value?.rows ?? []).reduce<Row | undefined>(
    (most, row) =>
      most === undefined || Number(row["used_share"]) > Number(most["used_share"]) ? row : most,
    undefined,
  );
  const waits = machines.answer.value === undefined || coverage.answer.value === undefined;
  return (
    <section class="headline" aria-label="State of the fleet">
      <div class="title-row">
        <h1>Fleet</h1>
        <div class="segments" role="group" aria-label="Time">
          {RANGES.map(([value, text]) => (
            <a
              key={value}
              {...linkTo(withParameters(address.value, { since: value === "1h" ? undefined : value }))}
              aria-current={since === value ? "true" : undefined}
            >
              last {text}
            </a>
          ))}
        </div>
      </div>
      <ul class={`tiles ${waits ? "waits" : ""}`}>
        <Tile
          value={waits ? "\u2007" : `${seen} of ${fleet}`}
          says="machines answered"
          part={fleet > 0 ? seen / fleet : 0}
          tone={!waits && seen === 0 ? "bad" : "first"}
          detail={waits ? "" : `with profiles of the last ${since}`}
        />
        <Tile
          value={waits ? "\u2007" : String(live)}
          says="machines live"
          tone={!waits && live === 0 ? "bad" : ""}
          detail={
            waits || rows.length === 0
              ? ""
              : `of ${plural(rows.length, "known machine")}${newest > 0 ? `; last seen ${ago(newest, Date.now())}` : ""}`
          }
        />
        <Tile
          value={waits ? "\u2007" : used > 0 ? share(covered / used) : "unknown"}
          says="of CPU time covered"
          part={used > 0 ? covered / used : 0}
          detail={
            waits ? "" : used > 0 ? `${quantity(used, "CPUs")} in use` : "no census of the machines yet"
          }
        />
        <Tile
          value={
            draws.answer.value === undefined ? "\u2007" : draw === undefined ? "all" : String(draw["drawn"])
          }
          says={draw === undefined ? "machines, all the time" : "machines drawn"}
          detail={
            draw === undefined
              ? "no random draws are configured"
              : `newest draw: ${draw["answered"] ?? 0} answered, of ${draw["machines"]} to draw from`
          }
        />
        <Tile
          value={
            overhead.answer.value === undefined
              ? "\u2007"
              : budget === undefined
                ? "unknown"
                : share(Number(budget["spent"]))
          }
          says="spent on profiling"
          part={budget === undefined ? 0 : Number(budget["used_share"])}
          tone={budget !== undefined && budget["state"] !== "ok" ? "bad" : ""}
          detail={
            overhead.answer.value === undefined
              ? ""
              : budget === undefined
                ? "no live daemon has reported what it takes"
                : `of CPU time, at most ${share(Number(budget["limit"]))} (${String(budget["budget"])})`
          }
        />
      </ul>
      {machines.answer.state === "failed" ? <Shown {...machines}>{() => null}</Shown> : null}
      {coverage.answer.state === "failed" ? <Shown {...coverage}>{() => null}</Shown> : null}
      {draws.answer.state === "failed" ? <Shown {...draws}>{() => null}</Shown> : null}
      {overhead.answer.state === "failed" ? <Shown {...overhead}>{() => null}</Shown> : null}
    </section>
  );
}

// The largest rows by one dimension; a click explores one.
