import assert from "node:assert/strict";
import { test } from "node:test";
import { isRange, pointsOf, ticksUpTo } from "../src/series.ts";
import { parseSort, sortedRows, sortText, toggled } from "../src/sorting.ts";

test("a column sorts largest first, a text from a to z, and again the other way", () => {
  assert.deepEqual(toggled(undefined, "self", false), { column: "self", isDescending: true });
  assert.deepEqual(toggled(undefined, "function", true), { column: "function", isDescending: false });
  assert.deepEqual(toggled({ column: "self", isDescending: true }, "self", false), {
    column: "self",
    isDescending: false,
  });
  for (const text of ["self", "-self"]) assert.equal(sortText(parseSort(text)!), text);
  assert.equal(parseSort(""), undefined);
});

test("what is absent comes last, whatever the order", () => {
  const rows = [{ a: null }, { a: 2 }, { a: 1 }, { a: "" }];
  const of = (isDescending: boolean) => sortedRows(rows, { column: "a", isDescending }).map(({ a }) => a);
  assert.deepEqual(of(true), [2, 1, null, ""]);
  assert.deepEqual(of(false), [1, 2, null, ""]);
});

const table = (columns: string[], rows: Record<string, string | number | null>[]) => ({
  event: "cycles",
  notes: [],
  columns: columns.map((name) => ({ name, unit: name.endsWith("rate") ? "count/s" : "" })),
  rows,
  coverage: {
    from: "",
    to: "",
    machines_drawn: 0,
    machines_live: 0,
    samples: 0,
    lost: 0,
    stackless_share: 0,
    unsymbolized_share: 0,
    unsymbolized_by: [],
  },
});

test("rows of a series are lines, with gaps where there are no profiles", () => {
  const points = pointsOf(
    table(
      ["time", "machines", "job", "self_rate", "self_rate_margin", "total_rate"],
      [
        { time: "2026-01-01T00:00:00Z", machines: 1, job: "a", self_rate: 5, self_rate_low: 2, self_rate_high: 8 },
        { time: "2026-01-01T00:00:00Z", machines: 1, job: "", self_rate: 1 },
        { time: "2026-01-01T00:01:00Z", machines: 1, job: "a", self_rate: 7 },
        { time: "2026-01-01T00:05:00Z", machines: 1, job: "a", self_rate: null },
      ],
    ),
  );
  assert.deepEqual(points.lines, [
    { name: "a", values: [5, 7, undefined], intervals: [[2, 8], undefined, undefined] },
    { name: "(none)", values: [1, undefined, undefined], intervals: [undefined, undefined, undefined] },
  ]);
  assert.equal(points.step_ms, 60_000);
  assert.equal(points.largest, 7);
  assert.equal(points.highest, 8);
  assert.equal(points.unit, "count/s");
  assert.deepEqual(pointsOf(table(["time"], [])).times, []);
});

test("ticks are round and end below the largest", () => {
  assert.deepEqual(ticksUpTo(7, 3), [0, 2.5, 5]);
  assert.deepEqual(ticksUpTo(1, 2), [0, 0.5, 1]);
});

test("a short drag is a click, and no range begins and ends in the same second", () => {
  assert.deepEqual(
    [
      [999, 10_000],
      [1000, 10_000],
      [1000, 3_600_000],
      [18_001, 3_600_000],
    ].map(([dragged, span]) => isRange(dragged!, span!)),
    [false, true, false, true],
  );
});
