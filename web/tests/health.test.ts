import assert from "node:assert/strict";
import { test } from "node:test";
import { atLimit, helpFor, reasonsOf, responsesOf, versionsOf } from "../src/health.ts";

test("machines are counted by version and state, the most frequent version first", () => {
  const { columns, rows } = versionsOf([
    { version: "0.9", state: "live" },
    { version: "1.0", state: "live" },
    { version: "1.0", state: "gone" },
    { version: "", state: "profiles" },
  ]);
  assert.deepEqual(
    columns.map(({ name }) => name),
    ["version", "live", "gone", "never registered"],
  );
  assert.deepEqual(rows, [
    { version: "1.0", live: 1, gone: 1, "never registered": 0 },
    { version: "(unknown)", live: 0, gone: 0, "never registered": 1 },
    { version: "0.9", live: 1, gone: 0, "never registered": 0 },
  ]);
  assert.deepEqual(versionsOf([]).rows, []);
});

test("machines of the inventory alone, and of a state that the page does not know, are counted too", () => {
  const unheard = { version: "", state: "unheard" };
  const { columns, rows } = versionsOf([unheard, unheard, { version: "2.0", state: "resting" }]);
  assert.deepEqual(
    columns.map(({ name }) => name),
    ["version", "live", "never heard of", "resting"],
  );
  assert.deepEqual(rows, [
    { version: "(unknown)", live: 0, "never heard of": 2, resting: 0 },
    { version: "2.0", live: 0, "never heard of": 0, resting: 1 },
  ]);
});

test("the command for a binary without symbols names its build ID and the place of its debug file", () => {
  assert.equal(
    helpFor("libz.so.1", "abcdef0123").command,
    'install -D -m 644 "$(debuginfod-find debuginfo abcdef0123)" /usr/lib/debug/.build-id/ab/cdef0123.debug',
  );
});

test("a build ID that is none becomes no part of a command", () => {
  for (const id of ["", "xxh3:00ff", 'ab"; rm -rf /', "../../etc", "ABCD"]) {
    assert.equal(helpFor("libz.so.1", id).command, "", id);
    assert.notEqual(helpFor("libz.so.1", id).says, "", id);
  }
  assert.match(helpFor("[jit]", "").says, /perf map/);
});

test("assignments without a profile are grouped by why", () => {
  const machine = (name: string, outcome: string, detail: string) => ({ machine: name, outcome, detail });
  const { rows } = reasonsOf([
    machine("m1", "refused", "limits"),
    machine("m2", "answered", ""),
    machine("m9", "partial", ""),
    machine("m10", "late", ""),
    machine("m8", "melted", "heat"),
    ...["m3", "m4", "m5", "m6", "m7"].map((name) => machine(name, "failed", "no file")),
  ]);
  assert.deepEqual(rows, [
    { outcome: "failed", machines: 5, reason: "no file", which: "m3, m4, m5, m6, \u2026" },
    { outcome: "melted", machines: 1, reason: "heat", which: "m8" },
    { outcome: "refused", machines: 1, reason: "limits", which: "m1" },
  ]);
});

test("a draw's responses are all outcomes that the server counts, each machine once", () => {
  const names = ["machines", "drawn", "answered", "partial", "late", "pending", "refused", "melted"];
  const columns = names.map((name) => ({ name, unit: "count" }));
  const row = { machines: 9, drawn: 9, answered: 5, partial: 2, late: 1, pending: 0, refused: 3, melted: 1 };
  const responses = responsesOf(columns, row);
  assert.deepEqual(responses, [
    { outcome: "answered", tone: "good", count: 5 },
    { outcome: "refused", tone: "bad", count: 3 },
    { outcome: "melted", tone: "bad", count: 1 },
  ]);
  assert.equal(
    responses.reduce((sum, { count }) => sum + count, 0),
    row.drawn,
  );
  assert.deepEqual(responsesOf(columns.slice(0, 1), row), [], "of another view");
});

test("a part of the store without a limit in force reaches none", () => {
  assert.equal(
    atLimit({ max_bytes: 5000, at_limit: "the oldest block is dropped" }),
    "At the limit the oldest block is dropped",
  );
  const never = "never rolled up (retention.full_max_age is 0)";
  assert.equal(
    atLimit({ max_bytes: null, at_limit: never }),
    "Never rolled up (retention.full_max_age is 0)",
  );
});
