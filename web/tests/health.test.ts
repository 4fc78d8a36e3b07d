import assert from "node:assert/strict";
import { test } from "node:test";
import { helpFor, reasonsOf, versionsOf } from "../src/health.ts";

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
    machine("m8", "melted", "heat"),
    ...["m3", "m4", "m5", "m6", "m7"].map((name) => machine(name, "failed", "no file")),
  ]);
  assert.deepEqual(rows, [
    { outcome: "failed", machines: 5, reason: "no file", which: "m3, m4, m5, m6, \u2026" },
    { outcome: "melted", machines: 1, reason: "heat", which: "m8" },
    { outcome: "refused", machines: 1, reason: "limits", which: "m1" },
  ]);
});
