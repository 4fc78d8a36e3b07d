// Explore over time: the largest rows as lines with their margins, and as a table.
import { questionOf, valueOf, withParameters } from "../address.ts";
import type { Table, ViewSpec } from "../api.ts";
import { clock } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { CopyMenu, exports } from "../parts/copy_menu.tsx";
import { Empty } from "../parts/no_answer.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable } from "../parts/table.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { csvOf } from "../share.ts";
import { parseSort, sortText } from "../sorting.ts";
import { address, change, go } from "../state.ts";

// As many lines as colours that stay apart.
const MAX_LINES = "6";

export function SeriesAnswer({ view }: { view: ViewSpec }) {
  const limit = valueOf(address.value, "limit") || MAX_LINES;
  const question = questionOf(address.value, view.parameters, { limit });
  const { answer, again, cancel } = useAnswer<Table>(view.name, question);
  return (
    <section class="panel answer" aria-label="Answer">
      <Shown answer={answer} again={again} cancel={cancel} placeholder={<div class="placeholder tall" />}>
        {(table) => (
          <>
            <header>
              <CoverageLine coverage={table.coverage} event={table.event} />
              <CopyMenu
                view={view}
                question={question}
                coverage={table.coverage}
                files={[
                  {
                    name: "series.csv",
                    says: "each row in each step of time",
                    make: () => new Blob([csvOf(table.columns, table.rows)], { type: "text/csv" }),
                  },
                  ...exports(question),
                ]}
              />
            </header>
            <Notes notes={table.notes.filter((note) => !note.startsWith("no results"))} />
            {table.rows.length === 0 ? (
              <Empty coverage={table.coverage} notes={table.notes} />
            ) : (
              <>
                <Measures view={view} />
                <Timeline table={table} hasBrush isLarge />
                <Steps table={table} view={view} />
              </>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

const TEXTS: Readonly<Record<string, string>> = {
  share: "share of the whole",
  rate: "per machine and second",
};

function Measures({ view }: { view: ViewSpec }) {
  const parameter = view.parameters.find(({ name }) => name === "measure");
  if (parameter === undefined) return null;
  const chosen = valueOf(address.value, parameter.name) || parameter.default;
  return (
    <div class="segments sized" role="group" aria-label={parameter.help}>
      {parameter.choices.map((choice) => (
        <button
          key={choice}
          type="button"
          aria-pressed={choice === chosen}
          onClick={() =>
            go(
              withParameters(address.value, {
                [parameter.name]: choice === parameter.default ? undefined : choice,
              }),
            )
          }
        >
          {TEXTS[choice] ?? choice}
        </button>
      ))}
    </div>
  );
}

// The same as text.
function Steps({ table, view }: { table: Table; view: ViewSpec }) {
  const now = Date.now();
  const cell = (shape: Shape, row: Table["rows"][number]) => {
    const time = row["time"];
    if (shape.name !== "time" || typeof time !== "string") return undefined;
    return <time title={time}>{clock(Date.parse(time), now)}</time>;
  };
  return (
    <details class="steps">
      <summary>As a table: {table.rows.length} rows</summary>
      <DataTable
        caption="Rows by step of time"
        columns={table.columns}
        rows={table.rows}
        view={view}
        sort={parseSort(address.value.sort)}
        onSort={(next) => change({ sort: sortText(next) })}
        cell={cell}
      />
    </details>
  );
}
