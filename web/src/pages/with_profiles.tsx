// What stands in place of a page as long as no profile is there.
import type { ComponentChildren } from "preact";
import type { Table } from "../api.ts";
import { plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { Shown } from "../parts/status.tsx";
import { FirstRun } from "./first_run.tsx";

// The first profile is looked for so often.
const IMPATIENT_MS = 3000;
const ANY_EVENT = [
  ["of", "event"],
  ["limit", "1"],
] as const;

export function WithProfiles({ children }: { children: ComponentChildren }) {
  // An event has been counted where there is a profile; unlike other views this one has an answer before that.
  const known = useAnswer<Table>("values", ANY_EVENT);
  const isEmpty = known.answer.value !== undefined && known.answer.value.rows.length === 0;
  if (isEmpty) return <Waiting known={known} />;
  return known.answer.value === undefined ? (
    <Shown {...known} placeholder={<div class="placeholder tall" />}>
      {() => null}
    </Shown>
  ) : (
    <>{children}</>
  );
}

function Waiting({ known }: { known: ReturnType<typeof useAnswer<Table>> }) {
  const machines = useAnswer<Table>("machines", [], IMPATIENT_MS);
  const first = useAnswer<Table>("values", ANY_EVENT, IMPATIENT_MS);
  // Then the page itself asks.
  if (
    first.answer.value !== undefined &&
    first.answer.value.rows.length > 0 &&
    known.answer.state === "ready"
  ) {
    queueMicrotask(known.again);
  }
  const registered = machines.answer.value?.rows.length ?? 0;
  if (registered === 0) return <FirstRun />;
  return (
    <section class="first-run">
      <h1>{plural(registered, "machine")} registered, no profile yet</h1>
      <p>
        The first profile comes when its window has ended and was sent, usually within two minutes. This page
        looks again every few seconds.
      </p>
      <p class="hint">
        If none comes: <code>plimsoll status --server ADDR</code> names daemons with problems, and{" "}
        <code>plimsolld probe</code> says what a machine can measure.
      </p>
    </section>
  );
}
