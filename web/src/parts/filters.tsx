// Event, grouping and filters of a question: what there is to choose comes from the server.
import { useCallback, useState } from "preact/hooks";
import type { Row, Table, ViewSpec } from "../api.ts";
import { ask, registry } from "../api.ts";
import { timesOf, valueOf, valuesOf, withParameters } from "../address.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { onlyWithin, parsePredicate } from "../predicate.ts";
import { address, go } from "../state.ts";
import type { Proposal } from "./combobox.tsx";
import { Combobox } from "./combobox.tsx";

// Values within the times that are asked about.
async function valuesLike(of: string, match: string, limit: number, signal: AbortSignal): Promise<Table> {
  const question: [string, string][] = [
    ["of", of],
    ...timesOf(address.value),
    ["limit", String(limit)],
  ];
  if (match !== "") question.push(["match", match]);
  return ask<Table>("values", question, signal);
}

function dimensionProposals(typed: string): Proposal[] {
  const dimensions = registry.answer.value.value?.dimensions ?? [];
  return dimensions
    .filter(({ name }) => name.startsWith(typed.toLowerCase()))
    .map(({ name, meaning }) => ({ text: `${name}=`, shown: name, detail: meaning, goesOn: true }));
}

async function predicateProposals(typed: string, signal: AbortSignal): Promise<Proposal[]> {
  const predicate = parsePredicate(typed);
  if (predicate !== undefined) {
    if (predicate.operator.includes("~")) return [];
    const before = predicate.operator === "in" ? (/^(.*,)?/s.exec(predicate.value)?.[0] ?? "") : "";
    const table = await valuesLike(predicate.dimension, predicate.value.slice(before.length), 12, signal);
    const operator = predicate.operator === "in" ? " in " : predicate.operator;
    return table.rows.map(({ value }) => ({
      text: `${predicate.dimension}${operator}${before}${value}`,
      shown: String(value === "" ? "(none)" : value),
    }));
  }
  const proposals = dimensionProposals(typed);
  if (/^label(:.*)?$/.test(typed)) {
    const known = await valuesLike("dimension", typed.startsWith("label:") ? typed : "label:", 12, signal);
    const labels = known.rows.filter(({ value }) => String(value).startsWith("label:"));
    return [
      ...proposals,
      ...labels.map(({ value }) => ({ text: `${value}=`, shown: String(value), goesOn: true })),
    ];
  }
  // Who types a name means a function, a job or an application.
  if (proposals.length === 0 && typed.trim().length >= 2) {
    const kinds = ["job", "app", "function"];
    const found = await Promise.all(kinds.map((kind) => valuesLike(kind, typed.trim(), 5, signal)));
    return found.flatMap((table, i) =>
      table.rows.map(({ value }) => ({
        text: `${kinds[i]}=${value}`,
        shown: String(value),
        detail: kinds[i]!,
      })),
    );
  }
  return proposals;
}

const none = (): Promise<Proposal[]> => Promise.resolve([]);

function add(name: string, value: string): void {
  go(withParameters(address.value, { [name]: [...valuesOf(address.value, name), value] }));
}

function remove(name: string, value: string): void {
  go(
    withParameters(address.value, {
      [name]: valuesOf(address.value, name).filter((other) => other !== value),
    }),
  );
}

function Chip(props: { name: string; value: string; says: string }) {
  return (
    <li class={`chip ${props.name}`}>
      {props.says === "" ? null : <span class="kind">{props.says}</span>}
      <span class="text">{clipped(props.value, 80)}</span>
      <button
        type="button"
        aria-label={`Remove ${props.says} ${clipped(props.value, 40)}`}
        onClick={() => remove(props.name, props.value)}
      >
        {"\u00d7"}
      </button>
    </li>
  );
}

// Of a view: its parameters that filter, and may be repeated. `without`: those that have a place of their own.
export function Filters({ view, without = [] }: { view: ViewSpec; without?: readonly string[] }) {
  const kinds = view.parameters.filter(
    ({ kind, repeatable, name }) =>
      repeatable && (kind === "predicate" || kind === "regex") && !without.includes(name),
  );
  const [chosen, setChosen] = useState("where");
  const parameter = kinds.find(({ name }) => name === chosen) ?? kinds[0];
  const isPredicate = parameter?.kind === "predicate";
  const check = useCallback(
    (text: string): string =>
      isPredicate && parsePredicate(text) === undefined
        ? "A filter has a dimension and a value: job=search, function=~^std::, platform in rome,milan"
        : "",
    [isPredicate],
  );
  if (parameter === undefined) return null;
  const chips = kinds.flatMap(({ name }) => valuesOf(address.value, name).map((value) => ({ name, value })));
  return (
    <div class="filters">
      <div class="adder">
        <select
          aria-label="Kind of filter"
          title={parameter.help}
          value={parameter.name}
          onChange={(event) => setChosen(event.currentTarget.value)}
        >
          {kinds.map(({ name, help }) => (
            <option key={name} value={name} title={help}>
              {name.replaceAll("_", " ")}
            </option>
          ))}
        </select>
        <Combobox
          key={parameter.name}
          label={`Filter: ${parameter.help}`}
          placeholder={
            isPredicate
              ? "Filter: job=search, function=~^std::, \u2026"
              : "Regular expression: zlib, ^std::, \u2026"
          }
          propose={isPredicate ? predicateProposals : none}
          check={check}
          onPick={(text) => add(parameter.name, text)}
        />
      </div>
      {chips.length === 0 ? null : (
        <ul class="chips" aria-label="Filters">
          {chips.map(({ name, value }) => (
            <Chip
              key={`${name} ${value}`}
              name={name}
              value={value}
              says={name === "where" ? "" : name.replaceAll("_", " ")}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

// Those that the server has of these times.
export function useEvents(): readonly Row[] {
  const question: [string, string][] = [["of", "event"], ...timesOf(address.value), ["limit", "200"]];
  return useAnswer<Table>("values", question).answer.value?.rows ?? [];
}

export function EventPicker() {
  return <EventSelect events={useEvents()} />;
}

export function EventSelect({ events }: { events: readonly Row[] }) {
  const chosen = valueOf(address.value, "event");
  const isKnown = chosen === "" || events.some(({ value }) => value === chosen);
  return (
    <label class="field" title="Usual: cycles, or cpu-clock where a machine cannot count them">
      <span>Event</span>
      <select
        value={chosen}
        onChange={(event) => go(withParameters(address.value, { event: event.currentTarget.value }))}
      >
        <option value="">usual: CPU time</option>
        {isKnown ? null : <option value={chosen}>{clipped(chosen, 60)}</option>}
        {events.map(({ value, unit }) => (
          <option key={String(value)} value={String(value)}>
            {clipped(String(value), 60)}
            {unit === "" || unit === null ? "" : ` (${unit})`}
          </option>
        ))}
      </select>
    </label>
  );
}

// What rows are grouped by, in order.
export function GroupBy({ usual }: { usual: string }) {
  const chosen = valuesOf(address.value, "by").flatMap((value) => value.split(","));
  const shown = chosen.length === 0 ? [usual] : chosen;
  const set = (by: readonly string[]): void =>
    go(
      withParameters(address.value, {
        by: by.join(",") === usual ? [] : by.join(","),
        only: onlyWithin(valuesOf(address.value, "only"), by),
      }),
    );
  const propose = useCallback(
    async (typed: string, signal: AbortSignal): Promise<Proposal[]> => {
      if (typed.startsWith("label")) {
        const known = await valuesLike("dimension", "label:", 30, signal);
        return known.rows
          .map(({ value }) => ({ text: String(value) }))
          .filter(({ text }) => text.startsWith(typed));
      }
      return dimensionProposals(typed)
        .map(({ shown: name, detail }) => ({ text: name!, detail: detail! }))
        .filter(({ text }) => !shown.includes(text));
    },
    [shown.join()],
  );
  return (
    <div class="field group-by">
      <span id="group-by">Group by</span>
      <ul class="chips" aria-labelledby="group-by">
        {shown.map((name) => (
          <li key={name} class="chip by">
            <span class="text">{clipped(name, 40)}</span>
            <button
              type="button"
              aria-label={`Do not group by ${clipped(name, 40)}`}
              disabled={shown.length === 1}
              onClick={() => set(shown.filter((other) => other !== name))}
            >
              {"\u00d7"}
            </button>
          </li>
        ))}
        <li class="more">
          <Combobox
            label="Add a dimension to group by"
            placeholder="+ dimension"
            propose={propose}
            onPick={(name) => set([...shown, name])}
          />
        </li>
      </ul>
    </div>
  );
}
