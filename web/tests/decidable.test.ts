import assert from "node:assert/strict";
import { test } from "node:test";
import { deviationOf, timesAsMuch, undecidedOf } from "../src/decidable.ts";

test("deviations are those of tables of the normal distribution", () => {
  for (const [p, deviation] of [
    [0.025, 1.95996],
    [0.01, 2.32635],
    [0.001, 3.09023],
    [0.0001, 3.71902],
  ] as const)
    assert.ok(Math.abs(deviationOf(p) - deviation) < 5e-4, `${p}`);
});

test("half the change takes four times as much, and more rows take more", () => {
  const once = timesAsMuch(0.01, 0.02, 10)!;
  assert.ok(Math.abs(timesAsMuch(0.005, 0.02, 10)! / once - 4) < 1e-9);
  assert.ok(timesAsMuch(0.01, 0.02, 100)! > once);
  // Of one row: a deviation of 2.326 is wanted, one of 0.98 was seen.
  assert.ok(Math.abs(timesAsMuch(0.01, 0.02, 1)! - (2.32635 / 0.98) ** 2) < 0.01);
});

test("what has no margin, or no change, is not reckoned", () => {
  assert.equal(timesAsMuch(0.01, undefined, 10), undefined);
  assert.equal(timesAsMuch(0.01, 0, 10), undefined);
  assert.equal(timesAsMuch(0, 0.02, 10), undefined);
});

test("the largest changes that are not told come first; what is told, or takes too much, is not listed", () => {
  const row = (name: string, verdict: string, change: number, margin: number | null) => ({
    function: name,
    self_verdict: verdict,
    self_share_change: change,
    self_share_change_margin: margin,
  });
  const rows = [
    row("told", "more", 0.2, 0.01),
    row("small", "may be chance", -0.01, 0.02),
    row("large", "cannot tell", 0.05, 0.08),
    row("hopeless", "may be chance", 0.0001, 0.08),
    row("unmeasured", "cannot tell", 0.3, null),
  ];
  const found = undecidedOf(rows, (one) => String(one["function"]), 5);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["large", "small"],
  );
  assert.equal(undecidedOf(rows, () => "", 1).length, 1);
});
