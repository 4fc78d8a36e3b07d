import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Question } from "./api.ts";
import { ask, Asked } from "./api.ts";
import { isVisible } from "./state.ts";

// The answer to a question of a view, asked again where it changes, and every `refresh_ms` while the tab is seen. Undefined: nothing is
// asked for now.
export function useAnswer<T>(
  view: string,
  question: Question | undefined,
  refresh_ms = 0,
): { answer: Answer<T>; isCurrent: boolean; again: () => void; cancel: () => void } {
  const key =
    question === undefined ? "" : `${view}?${new URLSearchParams(question.map(([n, v]) => [n, v]))}`;
  const newest = useRef<Question>([]);
  if (question !== undefined) newest.current = question;
  const [asked] = useState(() => new Asked<T>((signal) => ask<T>(view, newest.current, signal)));
  const seen = isVisible.value;
  useEffect(() => {
    if (question !== undefined && seen) asked.ask(key);
  }, [key, seen]);
  useEffect(() => () => asked.stop(), []);
  useEffect(() => {
    if (refresh_ms === 0 || !seen || question === undefined) return undefined;
    asked.refresh(refresh_ms); // who comes back to the tab does not wait for the next time
    const timer = setInterval(() => asked.refresh(), refresh_ms);
    return () => clearInterval(timer);
  }, [key, seen, refresh_ms]);
  const answer = asked.answer.value;
  return {
    answer,
    // Whether the value is of this question: it stays while the next one is asked, and where that fails.
    isCurrent: question !== undefined && answer.value !== undefined && answer.question === key,
    again: () => asked.ask(key, true),
    cancel: () => asked.cancel(),
  };
}

// A value as it is now: what was rendered, or what a handler has set since. Two keys may come before the next rendering, and the
// second must see what the first did.
export function useNewest<T>(rendered: T): { current: T } {
  const newest = useRef(rendered);
  newest.current = rendered;
  return newest;
}

// The size of an element, as it changes.
export function useSize<T extends HTMLElement>(): [
  (element: T | null) => void,
  { width: number; height: number },
] {
  const [size, setSize] = useState({ width: 0, height: 0 });
  const observer = useRef<ResizeObserver | undefined>(undefined);
  const ref = useRef((element: T | null) => {
    observer.current?.disconnect();
    if (element === null) return;
    observer.current = new ResizeObserver(([entry]) => {
      if (entry === undefined) return;
      const { width, height } = entry.contentRect;
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }));
    });
    observer.current.observe(element);
  });
  return [ref.current, size];
}
