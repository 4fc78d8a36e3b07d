// What stands where an answer is not there yet, is empty, or did not come.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answer, Coverage } from "../api.ts";
import { clipped, clock, plural, share, visible } from "../format.ts";

export function Failure({
  error,
  again,
}: {
  error: Error & { hint?: string };
  again?: (() => void) | undefined;
}) {
  return (
    <div class="message failure" role="alert">
      <strong>{visible(error.message)}</strong>
      {error.hint ? <p>{visible(error.hint)}</p> : null}
      {again ? (
        <button type="button" onClick={again}>
          Ask again
        </button>
      ) : null}
    </div>
  );
}

// After half a second, so that quick answers do not flicker.
export function Waiting({ cancel }: { cancel?: (() => void) | undefined }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const start = performance.now();
    const timer = setInterval(() => setSeconds((performance.now() - start) / 1000), 250);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class={`waiting ${seconds < 0.5 ? "soon" : ""}`} role="status">
      <span class="spinner" aria-hidden="true" />
      <span>{seconds < 3 ? "Computing\u2026" : `Computing for ${Math.floor(seconds)} s\u2026`}</span>
      {seconds >= 1.5 && cancel ? (
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      ) : null}
    </div>
  );
}

// The answer where there is one, also while the next one is computed; else what is the matter.
export function Shown<T>(props: {
  answer: Answer<T>;
  again?: () => void;
  cancel?: () => void;
  placeholder?: ComponentChildren;
  children: (value: T) => ComponentChildren;
}) {
  const { answer, again, cancel } = props;
  if (
    answer.state === "failed" &&
    answer.error !== undefined &&
    !(answer.error.isAway && answer.value !== undefined)
  ) {
    return <Failure error={answer.error} again={again} />;
  }
  const isOld = answer.state !== "ready";
  return (
    <div class={`shown ${isOld && answer.value !== undefined ? "old" : ""}`} aria-busy={isOld}>
      {answer.state === "loading" ? <Waiting cancel={cancel} /> : null}
      {answer.state === "failed" && answer.error !== undefined ? (
        <p class="hint late">Not refreshed: {visible(answer.error.message)}</p>
      ) : null}
      {answer.value === undefined
        ? (props.placeholder ?? <div class="placeholder" />)
        : props.children(answer.value)}
    </div>
  );
}

export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes">
      {notes.map((note) => (
        <li key={note}>{clipped(note, 1000)}</li>
      ))}
    </ul>
  );
}

// What an answer stands on, in a line.
export function CoverageLine({ coverage, event }: { coverage: Coverage; event: string }) {
  const now = Date.now();
  const span = `${clock(Date.parse(coverage.from), now)} to ${clock(Date.parse(coverage.to), now)}`;
  const isEmpty = coverage.samples === 0;
  return (
    <p class="coverage">
      {event === "" ? null : <span class="event">{visible(event)}</span>}
      <span>{plural(coverage.samples, "sample")}</span>
      <span>
        {coverage.machines_drawn} of {plural(coverage.machines_live, "machine")}
      </span>
      {isEmpty ? null : <span title={`${coverage.from} to ${coverage.to}`}>{span}</span>}
      {coverage.lost > 0 ? <span>{plural(coverage.lost, "sample")} lost</span> : null}
      {coverage.unsymbolized_share > 0.0005 ? (
        <span>{share(coverage.unsymbolized_share)} without symbols</span>
      ) : null}
    </p>
  );
}
