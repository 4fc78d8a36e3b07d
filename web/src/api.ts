// Questions to the server that this page is from, and to no other.
import type { Signal } from "@preact/signals";
import { signal } from "@preact/signals";
import type { Parameter } from "./share.ts";
import { loginNeeded, setToken, token } from "./state.ts";

export interface Column {
  name: string;
  unit: string;
}

export type Cell = string | number | null;
export type Row = Readonly<Record<string, Cell>>;

export interface Coverage {
  from: string;
  to: string;
  machines_drawn: number;
  machines_live: number;
  samples: number;
  lost: number;
  stackless_share: number;
  unsymbolized_share: number;
  unsymbolized_by: { binary: string; build_id: string; share: number; reason: string }[];
}

export interface Table {
  event: string;
  notes: string[];
  columns: Column[];
  rows: Row[];
  coverage: Coverage;
}

export interface ViewSpec {
  name: string;
  command: string;
  taken_by: string;
  summary: string;
  details: string;
  audience: "readers" | "operators";
  answer: "table" | "tree" | "sql" | "file";
  is_question: boolean;
  parameters: Parameter[];
  columns: { name: string; unit: string; meaning: string }[];
  examples: { command: string; meaning: string }[];
}

export interface Registry {
  version: string;
  views: ViewSpec[];
  dimensions: { name: string; meaning: string; source: string }[];
}

const CANCELLED = -1;

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: the server did not answer; CANCELLED
    message: string,
    readonly hint: string,
    readonly field: string,
  ) {
    super(message);
  }
  get isAway(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

// Whether the server has answered the newest question.
export const isReached = signal(true);

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as { error: { message: string; hint: string; field: string } };
    return new ApiError(response.status, error.message, error.hint ?? "", error.field ?? "");
  } catch {
    return new ApiError(
      response.status,
      `The server answered with status ${response.status} ${response.statusText}.`,
      "Check the proxy between this page and the server, if there is one.",
      "",
    );
  }
}

export type Question = readonly (readonly [string, string])[];

interface Change {
  readonly method: "PUT" | "DELETE";
  readonly body: string; // JSON
}

async function send(
  view: string,
  question: Question,
  signal?: AbortSignal,
  change?: Change,
): Promise<Response> {
  const query = new URLSearchParams(question.map(([name, value]) => [name, value])).toString();
  const used = token.value;
  const headers: Record<string, string> = {
    ...(used === "" ? {} : { Authorization: `Bearer ${used}` }),
    ...(change === undefined ? {} : { "Content-Type": "application/json" }),
  };
  let response: Response;
  try {
    response = await fetch(`api/v1/${view}${query === "" ? "" : `?${query}`}`, {
      headers,
      credentials: "same-origin",
      redirect: "error",
      ...(signal === undefined ? {} : { signal }),
      ...(change === undefined ? {} : change),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    isReached.value = false;
    const hint =
      change === undefined
        ? "It is asked again every few seconds."
        : "Whether it was changed is not known: reload the page and look.";
    throw new ApiError(0, "The server does not answer.", hint, "");
  }
  isReached.value = true;
  if (response.status === 401) {
    const refused = await errorOf(response);
    // Of several questions with one token, the first has said so; meanwhile there may be another token.
    if (token.value === used) {
      loginNeeded.value = used === "" ? "" : refused.message;
      setToken("");
    }
    throw refused;
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

export async function ask<T = Table>(view: string, question: Question, signal?: AbortSignal): Promise<T> {
  const response = await send(view, question, signal);
  return (await response.json()) as T;
}

// Changes something on the server, which answers with a table. `path` is below api/v1/, and encoded.
export async function changeOnServer(
  method: Change["method"],
  path: string,
  body: unknown,
): Promise<Table> {
  const response = await send(path, [], undefined, { method, body: JSON.stringify(body) });
  return (await response.json()) as Table;
}

// With the token, which a link would not have.
export async function download(view: string, question: Question): Promise<Blob> {
  return (await send(view, question)).blob();
}

export interface Answer<T> {
  state: "loading" | "ready" | "failed";
  value: T | undefined; // of the newest answer, also while the next one is waited for
  question: string; // that `value` answers
  error: ApiError | undefined;
  since: number; // ms; when it was asked
}

// One place of the page that shows the answer to a question, asks again when that changes, and gives up the question before.
export class Asked<T> {
  readonly answer: Signal<Answer<T>> = signal({
    state: "loading",
    value: undefined,
    question: "",
    error: undefined,
    since: 0,
  });
  private running: AbortController | undefined;
  private key = "";
  private asked_ms = -Infinity;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly load: (signal: AbortSignal) => Promise<T>) {}

  ask(key: string, again = false): void {
    if (key === this.key && !again) return;
    this.key = key;
    this.start();
  }

  // Unless it was asked within `min_age_ms`. An answer that takes longer than the interval between refreshes has to come too, and what was
  // cancelled stays so.
  refresh(min_age_ms = 0): void {
    const { state, error } = this.answer.peek();
    if (state === "loading" || error?.status === CANCELLED) return;
    if (performance.now() - this.asked_ms >= min_age_ms) this.start();
  }

  private start(): void {
    this.running?.abort();
    clearTimeout(this.retry);
    const controller = new AbortController();
    this.running = controller;
    this.asked_ms = performance.now();
    const { key } = this;
    const before = this.answer.peek();
    this.answer.value = { ...before, state: "loading", error: undefined, since: this.asked_ms };
    this.load(controller.signal).then(
      (value) => {
        if (controller.signal.aborted) return;
        this.answer.value = { state: "ready", value, question: key, error: undefined, since: 0 };
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const failed = error instanceof ApiError ? error : new ApiError(0, String(error), "", "");
        this.answer.value = { ...this.answer.peek(), state: "failed", error: failed };
        if (failed.isAway) this.tryAgain();
      },
    );
  }

  // A server that restarts is away for seconds. A tab that is not seen waits.
  private tryAgain(): void {
    this.retry = setTimeout(() => (document.hidden ? this.tryAgain() : this.start()), 3000);
  }

  // The key stays: the question is not asked again when the tab is shown again.
  cancel(): void {
    this.running?.abort();
    clearTimeout(this.retry);
    const error = new ApiError(CANCELLED, "Cancelled.", "Ask again, or choose a shorter time range.", "");
    this.answer.value = { ...this.answer.peek(), state: "failed", error };
  }

  stop(): void {
    this.running?.abort();
    clearTimeout(this.retry);
  }
}

export const registry = new Asked<Registry>((signal) => ask<Registry>("registry", [], signal));

export function viewNamed(name: string): ViewSpec | undefined {
  return registry.answer.value.value?.views.find((view) => view.name === name);
}
