import "./browser.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Asked } from "../src/api.ts";

interface Running {
  signal: AbortSignal;
  answer: (value: string) => void;
}

function asked(): { place: Asked<string>; running: Running[] } {
  const running: Running[] = [];
  const place = new Asked<string>(
    (signal) => new Promise((answer) => void running.push({ signal, answer })),
  );
  return { place, running };
}

test("a refresh waits for an answer that takes longer than its interval", async () => {
  const { place, running } = asked();
  place.ask("top?");
  place.refresh();
  assert.equal(running.length, 1);
  running[0]!.answer("rows");
  await Promise.resolve();
  assert.equal(place.answer.value.value, "rows");
  place.refresh();
  assert.equal(running.length, 2);
});

test("another question gives up the one before", () => {
  const { place, running } = asked();
  place.ask("top?");
  place.ask("top?since=1h");
  assert.deepEqual(
    running.map(({ signal }) => signal.aborted),
    [true, false],
  );
});

test("a cancelled question is asked again on request alone", () => {
  const { place, running } = asked();
  place.ask("top?");
  place.cancel();
  assert.equal(running[0]!.signal.aborted, true);
  place.ask("top?"); // the tab is shown again
  place.refresh();
  assert.equal(running.length, 1);
  assert.equal(place.answer.value.state, "failed");
  place.ask("top?", true);
  assert.equal(running.length, 2);
});
