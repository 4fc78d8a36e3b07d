// Values with their intervals under each other on one scale: a dot, whiskers, and a line where nothing changes. A table, so that it can be
// read as text too.
import type { ComponentChildren } from "preact";
import type { Row } from "../api.ts";
import { change, clipped, margin, share } from "../format.ts";
import type { Interval, Scale, Tone } from "../intervals.ts";
import { placeOn, scaleOf, toneOf } from "../intervals.ts";

export interface ForestRow extends Interval {
  key: string;
  label: ComponentChildren;
  half: number | undefined; // of the interval
  tone: Tone;
  verdict: string;
  kind?: string; // why there is no margin, or what it covers
  weight?: number | undefined;
  needs?: string; // what would decide it
  isCurrent?: boolean;
}

// Of a row of the API whose value is in the column `name`, its interval in those that begin with it.
export function forestRowOf(
  row: Row,
  name: string,
  label: string,
  higherIsBetter: boolean | undefined,
): ForestRow {
  const number = (column: string): number | undefined => {
    const value = row[column];
    return typeof value === "number" ? value : undefined;
  };
  const verdict = String(row["verdict"] ?? "");
  return {
    key: label,
    label: <span class="word">{clipped(label, 80)}</span>,
    value: number(name),
    low: number(`${name}_low`),
    high: number(`${name}_high`),
    half: number(`${name}_margin`),
    kind: String(row[`${name}_margin_kind`] ?? ""),
    verdict,
    tone: toneOf(verdict, higherIsBetter),
    weight: number("weight"),
  };
}

export function Strip({ row, scale, isLarge = false }: { row: ForestRow; scale: Scale; isLarge?: boolean }) {
  const { value, low, high, tone } = row;
  const at = (position: number): string => `${placeOn(scale, position)}%`;
  return (
    <span class={`strip tone-${tone} ${isLarge ? "large" : ""}`} aria-hidden="true">
      {scale.ticks.map((tick) => (
        <span key={tick} class={`rule ${Math.abs(tick) < 1e-12 ? "zero" : ""}`} style={{ left: at(tick) }} />
      ))}
      {value === undefined ? null : (
        <>
          {low === undefined || high === undefined ? null : (
            <span
              class={`reach ${low < scale.from ? "open-left" : ""} ${high > scale.to ? "open-right" : ""}`}
              style={{ left: at(low), width: `calc(${at(high)} - ${at(low)})` }}
            />
          )}
          <span class="dot" style={{ left: at(value) }} />
        </>
      )}
    </span>
  );
}

function tickText(tick: number, scale: Scale): string {
  const step = (scale.ticks[1] ?? 1) - (scale.ticks[0] ?? 0);
  const decimals = Math.max(0, -Math.floor(Math.log10(step * 100) + 1e-9));
  const text = `${(Math.abs(tick) * 100).toFixed(Math.min(4, decimals))}%`;
  return Math.abs(tick) < 1e-12 ? "0" : `${tick < 0 ? "\u2212" : "+"}${text}`;
}

export function Axis({ scale }: { scale: Scale }) {
  // Labels of all ticks would touch each other where there is little room.
  const every = scale.ticks.length > 6 ? 2 : 1;
  const zero = scale.ticks.findIndex((tick) => Math.abs(tick) < 1e-12);
  return (
    <span class="strip axis" aria-hidden="true">
      {scale.ticks.map((tick, i) =>
        (i - Math.max(0, zero)) % every === 0 ? (
          <span
            key={tick}
            class={i === 0 ? "first" : i === scale.ticks.length - 1 ? "last" : ""}
            style={{ left: `${placeOn(scale, tick)}%` }}
          >
            {tickText(tick, scale)}
          </span>
        ) : null,
      )}
    </span>
  );
}

export function Forest(props: {
  caption: string;
  label: string; // heading of the rows
  value: string; // heading of the values
  rows: readonly ForestRow[];
  scale?: Scale;
}) {
  const { rows } = props;
  const scale = props.scale ?? scaleOf(rows);
  const hasWeights = rows.some(({ weight }) => weight !== undefined);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={props.caption}>
      <table class="forest">
        <caption class="unseen">{props.caption}</caption>
        <thead>
          <tr>
            <th scope="col">{props.label}</th>
            <th scope="col" class="plot">
              <span class="unseen">interval</span>
              <Axis scale={scale} />
            </th>
            <th scope="col" class="number">
              {props.value}
            </th>
            <th scope="col" class="judged">
              verdict
            </th>
            {hasWeights ? (
              <th scope="col" class="number weight" title="Share of all CPU quotas (or of use)">
                weight
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key} class={row.isCurrent ? "current" : ""}>
              <th scope="row" class="text">
                {row.label}
              </th>
              <td class="plot">
                <Strip row={row} scale={scale} />
              </td>
              <td class="number">
                {row.value === undefined ? (
                  <span class="absent">{"\u2013"}</span>
                ) : (
                  <span
                    class="value"
                    title={
                      row.low === undefined || row.high === undefined
                        ? (row.kind ?? "")
                        : `95 % interval ${change(row.low, "share")} to ${change(row.high, "share")}`
                    }
                  >
                    <span class="digits">{change(row.value, "share")}</span>
                    <span class="margin">{row.half === undefined ? "" : margin(row.half, "share")}</span>
                  </span>
                )}
              </td>
              <td class="judged">
                <span class={`verdict tone-${row.tone}`}>{clipped(row.verdict, 80)}</span>
                {row.needs === undefined ? null : <span class="needs">{row.needs}</span>}
              </td>
              {hasWeights ? (
                <td class="number weight">{row.weight === undefined ? "" : share(row.weight)}</td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
