// Every view of the server, made from its registry: the form from its parameters, the answer as a table.
import type { Question, Table, ViewSpec } from "../api.ts";
import { registry, viewNamed } from "../api.ts";
import { questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { csvOf } from "../share.ts";
import type { Parameter } from "../share.ts";
import { parseSort, sortText } from "../sorting.ts";
import { address, change, go, linkTo } from "../state.ts";
import { CopyMenu } from "../parts/copy_menu.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import { DataTable } from "../parts/table.tsx";

function isShown(view: ViewSpec): boolean {
  return view.is_question && (view.answer === "table" || view.answer === "sql");
}

export function Views() {
  const all = registry.answer.value.value?.views ?? [];
  const view = viewNamed(address.value.view);
  return (
    <>
      <h1>Views</h1>
      <div class="views">
        <nav aria-label="Views">
          <ul>
            {all.filter(isShown).map((one) => (
              <li key={one.name}>
                <a
                  {...linkTo({ ...address.value, view: one.name, sort: "", parameters: new Map() })}
                  aria-current={one.name === view?.name ? "page" : undefined}
                >
                  <b>{one.name}</b>
                  <span>{one.summary}</span>
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {view === undefined || !isShown(view) ? (
          <p class="hint choose">Choose a view. Each is also a command of plimsoll and a route of the API.</p>
        ) : (
          <OneView key={view.name} view={view} />
        )}
      </div>
    </>
  );
}

function Field({ parameter }: { parameter: Parameter }) {
  const values = valuesOf(address.value, parameter.name);
  const says = parameter.help + (parameter.default === "" ? "" : ` (default: ${parameter.default})`);
  const choices = parameter.kind === "flag" ? ["yes", "no"] : parameter.choices;
  return (
    <label class="field" title={says}>
      <span>{parameter.name.replaceAll("_", " ")}</span>
      {choices.length > 0 ? (
        <select name={parameter.name}>
          <option value="" selected={values.length === 0}>
            {parameter.default === "" ? "" : `${parameter.default} (default)`}
          </option>
          {choices.map((choice) => (
            <option key={choice} value={choice} selected={values[0] === choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : parameter.kind === "statement" ? (
        <textarea
          name={parameter.name}
          rows={4}
          spellcheck={false}
          placeholder={parameter.placeholder}
          defaultValue={values[0] ?? ""}
        />
      ) : parameter.repeatable ? (
        <textarea
          name={parameter.name}
          rows={1}
          spellcheck={false}
          placeholder={`${parameter.placeholder}, one a line`}
          defaultValue={values.join("\n")}
        />
      ) : (
        <input
          name={parameter.name}
          type="text"
          spellcheck={false}
          placeholder={parameter.default || parameter.placeholder}
          defaultValue={values[0] ?? ""}
        />
      )}
      <small>{says}</small>
    </label>
  );
}

interface SqlAnswer {
  notes: string[];
  columns: string[];
  rows: (string | number | null)[][];
}

function tableOf(answer: Table | SqlAnswer): Table {
  if (!Array.isArray(answer.rows[0]) && typeof answer.columns[0] !== "string") return answer as Table;
  const given = answer as SqlAnswer;
  // Columns of a statement may have the same name twice.
  const names = given.columns.map((name, i) =>
    given.columns.indexOf(name) === i ? name : `${name} (${i + 1})`,
  );
  return {
    event: "",
    notes: given.notes,
    columns: names.map((name) => ({ name, unit: "" })),
    rows: given.rows.map((row) => Object.fromEntries(row.map((cell, i) => [names[i]!, cell]))),
    coverage: {
      from: "",
      to: "",
      machines_drawn: 0,
      machines_live: 0,
      samples: 0,
      lost: 0,
      stackless_share: 0,
      unsymbolized_share: 0,
      unsymbolized_by: [],
    },
  };
}

function OneView({ view }: { view: ViewSpec }) {
  const question = questionOf(address.value, view.parameters);
  const isComplete = view.parameters.every(
    (parameter) =>
      !(
        parameter.positional &&
        parameter.default === "" &&
        ["function", "statement", "text"].includes(parameter.kind)
      ) ||
      valueOf(address.value, parameter.name) !== "" ||
      valueOf(address.value, "of") !== "",
  );
  return (
    <section class="one-view" aria-labelledby="one-view">
      <h2 id="one-view">{view.name}</h2>
      <p>{view.summary}.</p>
      {view.details === "" ? null : (
        <details>
          <summary>Details</summary>
          <pre>{view.details}</pre>
        </details>
      )}
      <form
        class="parameters"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const changes: Record<string, string[]> = {};
          for (const { name, repeatable } of view.parameters) {
            const text = String(given.get(name) ?? "").trim();
            changes[name] = repeatable ? text.split("\n").map((line) => line.trim()) : [text];
          }
          go(withParameters(address.value, changes));
        }}
      >
        {view.parameters.map((parameter) => (
          <Field key={parameter.name} parameter={parameter} />
        ))}
        {view.parameters.length === 0 ? null : (
          <button type="submit" class="primary">
            Ask
          </button>
        )}
      </form>
      {isComplete ? (
        <ViewAnswer view={view} question={question} />
      ) : (
        <p class="hint">Fill in what the view requires, then ask.</p>
      )}
    </section>
  );
}

function ViewAnswer({ view, question }: { view: ViewSpec; question: Question }) {
  const asked = useAnswer<Table | SqlAnswer>(view.name, question);
  const sort = parseSort(address.value.sort);
  return (
    <div class="panel answer">
      <Shown {...asked} placeholder={<div class="placeholder tall" />}>
        {(given) => {
          const table = tableOf(given);
          return (
            <>
              <header>
                {table.event === "" ? (
                  <span />
                ) : (
                  <CoverageLine coverage={table.coverage} event={table.event} />
                )}
                <CopyMenu
                  view={view}
                  question={question}
                  coverage={undefined}
                  files={[
                    {
                      name: `${view.name.replaceAll("/", "-")}.csv`,
                      says: "these rows",
                      make: () => new Blob([csvOf(table.columns, table.rows)], { type: "text/csv" }),
                    },
                  ]}
                />
              </header>
              <Notes notes={table.notes} />
              {table.rows.length === 0 ? (
                <p class="hint">No rows.</p>
              ) : (
                <DataTable
                  caption={clipped(view.summary, 200)}
                  columns={table.columns}
                  rows={table.rows}
                  view={view}
                  sort={sort}
                  onSort={(next) => change({ sort: sortText(next) })}
                />
              )}
            </>
          );
        }}
      </Shown>
    </div>
  );
}
