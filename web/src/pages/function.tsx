// Function: what one function costs, who runs it, how that develops, its callers and callees, and its lines.
import { useCallback } from "preact/hooks";
import { valueOf, withParameters } from "../address.ts";
import type { Question, Row, Table } from "../api.ts";
import { ask, viewNamed } from "../api.ts";
import { change, clipped, margin, quantity, share } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { CopyMenu } from "../parts/copy_menu.tsx";
import type { Proposal } from "../parts/combobox.tsx";
import { Combobox } from "../parts/combobox.tsx";
import { EventPicker, Filters } from "../parts/filters.tsx";
import { functionPage, selection } from "../parts/links.ts";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import { verdictClass } from "../parts/table.tsx";
import { TimeRange } from "../parts/time_range.tsx";
import { equals } from "../predicate.ts";
import { csvOf } from "../share.ts";
import { address, go, linkTo } from "../state.ts";
import { secondsOf } from "../times.ts";
import { Lines, Neighbours, Trend, Users } from "./function_parts.tsx";

export function FunctionPage() {
  const name = valueOf(address.value, "function");
  const top = viewNamed("top");
  if (top === undefined) return null;
  return (
    <>
      <section class="question" aria-label="Question">
        <div class="row">
          <Chooser isChosen={name !== ""} />
          <TimeRange />
          <EventPicker />
        </div>
        {name === "" ? null : <Filters view={top} without={["only"]} />}
      </section>
      {name === "" ? <Hottest /> : <OneFunction key={name} name={name} />}
    </>
  );
}

function Chooser({ isChosen }: { isChosen: boolean }) {
  const propose = useCallback(async (typed: string, signal: AbortSignal): Promise<Proposal[]> => {
    const question: [string, string][] = [
      ["of", "function"],
      ["limit", "12"],
    ];
    if (typed.trim() !== "") question.push(["match", typed.trim()]);
    const table = await ask<Table>("values", question, signal);
    return table.rows.map(({ value }) => ({ text: String(value) }));
  }, []);
  return (
    <div class="field function-chooser">
      <span id="function-chooser">Function</span>
      <Combobox
        label={isChosen ? "Another function, by a part of its name" : "Function, by a part of its name"}
        placeholder={isChosen ? "Another function\u2026" : "A part of its name\u2026"}
        propose={propose}
        onPick={(text) => go(functionPage(text))}
      />
    </div>
  );
}

// Nothing is chosen yet: those that cost most.
function Hottest() {
  const question: Question = [...selection(), ["limit", "12"], ["margins", "no"]];
  const asked = useAnswer<Table>("top", question);
  return (
    <section class="panel" aria-labelledby="function-hottest">
      <div class="panel-heading">
        <h1 id="function-hottest">Which function?</h1>
      </div>
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <Notes notes={table.notes} />
          ) : (
            <>
              <p class="hint">Type a part of its name above, or choose one of those that cost most:</p>
              <ol class="hottest">
                {table.rows.map((row) => (
                  <li key={String(row["function"])}>
                    <a class="name" {...linkTo(functionPage(String(row["function"])))}>
                      {clipped(String(row["function"]), 120)}
                    </a>
                    <span class="digits">{share(Number(row["self_share"]))} self</span>
                  </li>
                ))}
              </ol>
            </>
          )
        }
      </Shown>
    </section>
  );
}

function OneFunction({ name }: { name: string }) {
  const question: Question = [
    ...selection(),
    ["by", "function"],
    ["only", equals("function", name)],
    ["limit", "1"],
  ];
  const asked = useAnswer<Table>("top", question);
  const row = asked.answer.value?.rows[0];
  return (
    <>
      <section class="panel function-head" aria-labelledby="function-name">
        <h1 id="function-name" class="name" title={clipped(name, 2000)}>
          {clipped(name, 400)}
        </h1>
        <Shown {...asked} placeholder={<div class="placeholder cost-place" />}>
          {(table) => (
            <>
              {table.rows[0] === undefined ? (
                <NotFound name={name} notes={table.notes} />
              ) : (
                <Cost row={table.rows[0]} unit={unitOf(table)} name={name} />
              )}
              <div class="function-foot">
                <CoverageLine coverage={table.coverage} event={table.event} />
                <CopyMenu
                  view={viewNamed("top")!}
                  question={question}
                  coverage={table.coverage}
                  files={[
                    {
                      name: "function.csv",
                      says: "its cost, with margins",
                      make: () => new Blob([csvOf(table.columns, table.rows)], { type: "text/csv" }),
                    },
                  ]}
                />
              </div>
            </>
          )}
        </Shown>
      </section>
      {row === undefined ? null : (
        <>
          <Users name={name} />
          <Trend name={name} />
          <div class="halves">
            <Neighbours name={name} kind="callers" />
            <Neighbours name={name} kind="callees" />
          </div>
          <Lines name={name} />
        </>
      )}
    </>
  );
}

function unitOf(table: Table): string {
  return table.columns.find(({ name }) => name === "self")?.unit ?? "";
}

function NotFound({ name, notes }: { name: string; notes: readonly string[] }) {
  const has = (parameter: string): boolean => address.value.parameters.has(parameter);
  return (
    <div class="message empty">
      <strong>It has no samples in this selection.</strong>
      <Notes notes={notes.filter((note) => !note.startsWith("no results: no row"))} />
      <p class="actions">
        {has("since") || has("until") ? (
          <a {...linkTo(withParameters(address.value, { since: undefined, until: undefined }))}>
            Show all times
          </a>
        ) : null}
        {has("where") ? (
          <a {...linkTo(withParameters(address.value, { where: [] }))}>Remove the filters</a>
        ) : null}
        <a
          {...linkTo(
            withParameters(
              { ...address.value, page: "explore", show: "table" },
              { function: undefined, where: [`function=~${name.slice(0, 60).replace(/[^\w:]/g, ".")}`] },
            ),
          )}
        >
          Search for functions like it
        </a>
      </p>
    </div>
  );
}

// Self, total, and how that has changed.
function Cost({ row, unit, name }: { row: Row; unit: string; name: string }) {
  const part = (kind: "self" | "total", says: string) => {
    const half = row[`${kind}_share_margin`];
    const why = String(row[`${kind}_margin_kind`] ?? "");
    return (
      <li class={kind}>
        <span class="figure">
          {share(Number(row[`${kind}_share`]))}
          {typeof half === "number" ? <small> {margin(half, "share")}</small> : null}
        </span>
        <span class="says">{says}</span>
        <span class="detail">
          {quantity(Number(row[kind]), unit)}
          {typeof half === "number" ? "" : `; no margin: ${why}`}
        </span>
      </li>
    );
  };
  return (
    <ul class="cost" aria-label="Cost">
      {part("self", "in the function itself")}
      {part("total", "with what it calls")}
      <Changed name={name} />
    </ul>
  );
}

// Against the time of the same length before.
function Changed({ name }: { name: string }) {
  const since = valueOf(address.value, "since");
  const isAge = secondsOf(since) !== undefined && valueOf(address.value, "until") === "";
  const question: Question | undefined = isAge
    ? [...selection(), ["earlier", since], ["limit", "1000"]]
    : undefined;
  const { answer, isCurrent } = useAnswer<Table>("diff", question);
  const row = isCurrent ? answer.value?.rows.find((candidate) => candidate["function"] === name) : undefined;
  const verdict = String(row?.["self_verdict"] ?? "");
  const by = row?.["self_share_change"];
  const half = row?.["self_share_change_margin"];
  const says = !isAge
    ? "choose a time such as 1 hour to compare with the one before"
    : answer.state === "failed"
      ? (answer.error?.message ?? "")
      : !isCurrent
        ? "comparing\u2026"
        : row === undefined
          ? "too small to be compared"
          : `self, against the ${since} before`;
  return (
    <li class="changed">
      <span class="figure">
        {typeof by === "number" ? change(by, "share") : "\u2013"}
        {typeof half === "number" ? <small> {margin(half, "share")}</small> : null}
      </span>
      <span class="says">
        {verdict === "" ? "change" : <span class={`verdict ${verdictClass(verdict)}`}>{verdict}</span>}
      </span>
      <span class="detail">{clipped(says, 200)}</span>
    </li>
  );
}
