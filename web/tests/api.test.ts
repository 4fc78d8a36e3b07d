import "./browser.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, Asked } from "../src/api.ts";
import { loginNeeded, setToken, token } from "../src/state.ts";

interface Running {
  signal: AbortSignal;
  answer: (value: string) => void;
}

function asked(): { place: Asked<string>; running: Running[] } {
  const running: Running[] = [];
  const place = new Asked<string>((signal) => new Promise((answer) => void running.push({ signal, answer })));
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

test("a token that is refused late takes neither the reason nor the next token away", async (t) => {
  const waiting: ((response: Response) => void)[] = [];
  const sent: (string | null)[] = [];
  t.mock.method(globalThis, "fetch", (_: string, { headers }: { headers: Record<string, string> }) => {
    sent.push(headers["Authorization"] ?? null);
    return new Promise<Response>((answer) => void waiting.push(answer));
  });
  const refuse = (place: number): void =>
    waiting[place]!(
      new Response(JSON.stringify({ error: { message: "The token has expired." } }), { status: 401 }),
    );
  setToken("old");
  const questions = [ask("top", []), ask("machines", []), ask("status", [])];
  refuse(0);
  await assert.rejects(questions[0]!);
  assert.deepEqual([token.value, loginNeeded.value], ["", "The token has expired."]);
  refuse(1);
  await assert.rejects(questions[1]!);
  assert.equal(loginNeeded.value, "The token has expired.");
  setToken("new");
  loginNeeded.value = undefined;
  refuse(2);
  await assert.rejects(questions[2]!);
  assert.deepEqual([token.value, loginNeeded.value], ["new", undefined]);
  assert.deepEqual(sent, ["Bearer old", "Bearer old", "Bearer old"]);
});
