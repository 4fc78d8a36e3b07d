// Explore as a table.
import { questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import type { Row, Table, ViewSpec } from "../api.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { CopyMenu, exports } from "../parts/copy_menu.tsx";
import { functionPage } from "../parts/links.ts";
import { Empty } from "../parts/no_answer.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable, isCode } from "../parts/table.tsx";
import { equals } from "../predicate.ts";
import { csvOf } from "../share.ts";
import type { Sort } from "../sorting.ts";
import { parseSort, sortText } from "../sorting.ts";
import { address, change, go, linkTo } from "../state.ts";

const MAX_ROWS = "100";

function drillDown(dimension: string, value: string): void {
  const where = [...valuesOf(address.value, "where"), equals(dimension, value)];
  go(withParameters(address.value, { where }));
}

export function TableAnswer({ view }: { view: ViewSpec }) {
  const limit = valueOf(address.value, "limit") || MAX_ROWS;
  const question = questionOf(address.value, view.parameters, { limit });
  const { answer, again, cancel } = useAnswer<Table>(view.name, question);
  // Of several events side by side the first one.
  const usualSort = (table: Table): Sort => ({
    column: table.columns.find(({ name }) => name === "self_share" || name.endsWith("_share"))?.name ?? "",
    isDescending: true,
  });
  const cell = (shape: Shape, row: Row) => {
    const value = row[shape.name];
    const isDimension =
      shape.unit === "" &&
      typeof value === "string" &&
      value !== "" &&
      !shape.name.endsWith("kind") &&
      shape.name !== "stack";
    if (!isDimension || value.startsWith("[")) return undefined;
    const filter = (
      <button
        type="button"
        class={`${isCode(shape.name) ? "name" : "word"} link`}
        title={`${clipped(value, 2000)}\nClick to filter by it`}
        onClick={() => drillDown(shape.name, value)}
      >
        {clipped(value, 300)}
      </button>
    );
    if (shape.name !== "function") return filter;
    return (
      <span class="with-page">
        {filter}
        <a class="page-of" aria-label={`Page of ${clipped(value, 100)}`} {...linkTo(functionPage(value))} />
      </span>
    );
  };
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
                    name: "rows.csv",
                    says: "these rows, with margins",
                    make: () => new Blob([csvOf(table.columns, table.rows)], { type: "text/csv" }),
                  },
                  {
                    name: "rows.json",
                    says: "the answer as the API gives it",
                    make: () => new Blob([JSON.stringify(table, null, 2)], { type: "application/json" }),
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
                <DataTable
                  caption="Hot code, largest first"
                  columns={table.columns}
                  rows={table.rows}
                  view={view}
                  sort={parseSort(address.value.sort) ?? usualSort(table)}
                  onSort={(next) => change({ sort: sortText(next) })}
                  cell={cell}
                />
                <p class="after-table">
                  <span class="legend">
                    <span class="bar" aria-hidden="true">
                      <span class="length" style={{ width: "60%" }} />
                      <span class="whisker" style={{ left: "45%", width: "30%" }} />
                    </span>
                    bar: share, relative to the largest; line: its 95 % confidence interval
                  </span>
                  {table.rows.length === Number(limit) ? (
                    <a {...linkTo(withParameters(address.value, { limit: String(Number(limit) * 5) }))}>
                      Show more rows
                    </a>
                  ) : null}
                </p>
              </>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}
