// A table of a view: values with their margins as whiskers, sorted by any column.
import type { ComponentChildren } from "preact";
import type { Cell, Column, Row, ViewSpec } from "../api.ts";
import { registry } from "../api.ts";
import { change, clipped, margin, quantity, share, visible } from "../format.ts";
import type { Sort } from "../sorting.ts";
import { measured, sortedRows, toggled } from "../sorting.ts";
import { linkTo } from "../state.ts";
import { functionPage, isNamed } from "./links.ts";

// Columns whose values have a page of their own.
const FUNCTIONS = ["function", "caller", "callee"];

export interface Shape {
  name: string; // of a column
  unit: string;
  margin: string | undefined; // columns of its interval
  low: string | undefined;
  high: string | undefined;
  kind: string | undefined;
}

// Columns as they are shown: those of an interval are part of its value's.
export function shapesOf(columns: readonly Column[]): Shape[] {
  const names = new Set(columns.map(({ name }) => name));
  const belongs = new Set<string>();
  const shapes: Shape[] = [];
  for (const { name, unit } of columns) {
    const part = (suffix: string): string | undefined => {
      const found = names.has(name + suffix) ? name + suffix : undefined;
      if (found !== undefined) belongs.add(found);
      return found;
    };
    const ofPart = name.replace(/_(share|rate)(_change)?$/, "_margin_kind");
    const kind = part("_margin_kind") ?? (ofPart !== name && names.has(ofPart) ? ofPart : undefined);
    if (kind !== undefined) belongs.add(kind);
    shapes.push({ name, unit, margin: part("_margin"), low: part("_low"), high: part("_high"), kind });
  }
  return shapes.filter(({ name }) => !belongs.has(name) && name !== "margin_kind");
}

function number(cell: Cell | undefined): number | undefined {
  return typeof cell === "number" ? cell : undefined;
}

// A bar as long as the value, and the 95 % confidence interval over its end.
function Whiskers(props: {
  value: number;
  low: number | undefined;
  high: number | undefined;
  largest: number;
}) {
  const { value, low, high, largest } = props;
  const percent = (part: number): string => `${Math.max(0, Math.min(100, (part / largest) * 100))}%`;
  return (
    <span class="bar" aria-hidden="true">
      <span class="length" style={{ width: percent(value) }} />
      {low !== undefined && high !== undefined && high > low ? (
        <span
          class="whisker"
          style={{ left: percent(low), width: `calc(${percent(high)} - ${percent(low)})` }}
        />
      ) : null}
    </span>
  );
}

// A change about zero, with its interval.
function ChangeBar(props: {
  value: number;
  low: number | undefined;
  high: number | undefined;
  largest: number;
  verdict: string;
}) {
  const { value, low, high, largest, verdict } = props;
  const at = (part: number): number => 50 + Math.max(-50, Math.min(50, (part / largest) * 50));
  const [from, to] = value < 0 ? [at(value), 50] : [50, at(value)];
  return (
    <span class={`bar change ${verdictClass(verdict)}`} aria-hidden="true">
      <span class="length" style={{ left: `${from}%`, width: `${to - from}%` }} />
      {low !== undefined && high !== undefined && high > low ? (
        <span class="whisker" style={{ left: `${at(low)}%`, width: `${at(high) - at(low)}%` }} />
      ) : null}
    </span>
  );
}

export function verdictClass(verdict: string): string {
  switch (verdict) {
    case "more":
    case "higher":
      return "more";
    case "less":
    case "lower":
      return "less";
    case "may be chance":
      return "chance";
    default:
      return "unknown";
  }
}

// Names of code have letters of one width; others are words.
export function isCode(column: string): boolean {
  const source = registry.answer.value.value?.dimensions.find(({ name }) => name === column)?.source;
  return source === "frame" || source === "stack" || column === "caller" || column === "callee";
}

function heading(shape: Shape): string {
  return shape.name.replaceAll("_", " ");
}

function meaningOf(view: ViewSpec | undefined, name: string): string {
  return view?.columns.find((column) => column.name === name)?.meaning ?? "";
}

const isText = (shape: Shape, rows: readonly Row[]): boolean =>
  shape.unit === "" && !rows.some((row) => typeof row[shape.name] === "number");

export function DataTable(props: {
  caption: string;
  columns: readonly Column[];
  rows: readonly Row[];
  view?: ViewSpec | undefined;
  hidden?: readonly string[]; // columns
  plain?: readonly string[]; // shares without a bar
  sort?: Sort | undefined;
  onSort?: (sort: Sort) => void;
  cell?: (shape: Shape, row: Row) => ComponentChildren | undefined; // undefined: as usual
}) {
  const { rows, hidden = [], plain = [], sort, onSort } = props;
  // What no row has says nothing.
  const shapes = shapesOf(props.columns).filter(
    ({ name }) =>
      !hidden.includes(name) &&
      (rows.length === 0 || rows.some((row) => row[name] !== null && row[name] !== "")),
  );
  const ordered = sort === undefined ? rows : sortedRows(rows, sort);
  const isChange = (shape: Shape): boolean => shape.name.endsWith("_change");
  const hasBar = (shape: Shape): boolean =>
    (shape.unit === "share" || isChange(shape)) && !plain.includes(shape.name);
  const largest = new Map(
    shapes
      .filter(hasBar)
      .map((shape) => [
        shape.name,
        Math.max(
          1e-12,
          ...rows.map((row) =>
            Math.max(
              Math.abs(number(row[shape.name]) ?? 0),
              isChange(shape) ? Math.abs(number(row[shape.low ?? ""]) ?? 0) : 0,
              Math.abs(number(row[shape.high ?? ""]) ?? 0),
            ),
          ),
        ),
      ]),
  );
  const verdictOf = (shape: Shape, row: Row): string =>
    String(row[shape.name.replace(/_(share|rate)_change$/, "_verdict")] ?? row["verdict"] ?? "");
  const cellOf = (shape: Shape, row: Row): ComponentChildren => {
    const own = props.cell?.(shape, row);
    if (own !== undefined) return own;
    const value = row[shape.name] ?? null;
    if (value === null)
      return (
        <span class="absent" title={String(row[shape.kind ?? ""] ?? "")}>
          {"\u2013"}
        </span>
      );
    if (typeof value === "string") {
      if (shape.name.endsWith("verdict") || shape.name === "state") {
        return (
          <span
            class={`verdict ${shape.name === "state" ? `state-${value.replaceAll(" ", "-")}` : verdictClass(value)}`}
          >
            {visible(value)}
          </span>
        );
      }
      if (FUNCTIONS.includes(shape.name) && isNamed(value)) {
        return (
          <a class="name" title={clipped(value, 2000)} {...linkTo(functionPage(value))}>
            {clipped(value, 300)}
          </a>
        );
      }
      return value === "" ? (
        <span class="absent">(none)</span>
      ) : (
        <span class={isCode(shape.name) ? "name" : "word"} title={clipped(value, 2000)}>
          {clipped(value, 300)}
        </span>
      );
    }
    const low = number(row[shape.low ?? ""]);
    const high = number(row[shape.high ?? ""]);
    const half = number(row[shape.margin ?? ""]);
    const text = isChange(shape)
      ? change(value, shape.unit)
      : shape.unit === "share"
        ? share(value)
        : quantity(value, shape.unit);
    const why = measured(String(row[shape.kind ?? ""] ?? ""));
    return (
      <span
        class="value"
        title={
          half === undefined
            ? why
            : `95 % interval ${quantity(low ?? value, shape.unit)} to ${quantity(high ?? value, shape.unit)}${why === "" ? "" : `; ${why}`}`
        }
      >
        {hasBar(shape) ? (
          isChange(shape) ? (
            <ChangeBar
              value={value}
              low={low}
              high={high}
              largest={largest.get(shape.name)!}
              verdict={verdictOf(shape, row)}
            />
          ) : (
            <Whiskers value={value} low={low} high={high} largest={largest.get(shape.name)!} />
          )
        ) : null}
        <span class="digits">{text}</span>
        {shape.margin === undefined ? null : (
          <span class="margin">{half === undefined ? "" : margin(half, shape.unit)}</span>
        )}
      </span>
    );
  };
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={props.caption}>
      <table>
        <caption class="unseen">{props.caption}</caption>
        <thead>
          <tr>
            {shapes.map((shape) => {
              const isSorted = sort?.column === shape.name;
              return (
                <th
                  key={shape.name}
                  scope="col"
                  class={isText(shape, rows) ? "text" : "number"}
                  aria-sort={isSorted ? (sort.isDescending ? "descending" : "ascending") : undefined}
                  title={meaningOf(props.view, shape.name)}
                >
                  {onSort === undefined ? (
                    heading(shape)
                  ) : (
                    <button
                      type="button"
                      onClick={() => onSort(toggled(sort, shape.name, isText(shape, rows)))}
                    >
                      {heading(shape)}
                      <span class="arrow" aria-hidden="true">
                        {isSorted ? (sort.isDescending ? "\u25be" : "\u25b4") : ""}
                      </span>
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {ordered.map((row, i) => (
            <tr key={i}>
              {shapes.map((shape, at) =>
                at === 0 ? (
                  <th key={shape.name} scope="row" class={isText(shape, rows) ? "text" : "number"}>
                    {cellOf(shape, row)}
                  </th>
                ) : (
                  <td
                    key={shape.name}
                    class={`${isText(shape, rows) ? "text" : "number"} ${hasBar(shape) ? "with-bar" : ""}`}
                  >
                    {cellOf(shape, row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
