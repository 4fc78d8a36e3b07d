// Health of the fleet: daemons by version and state, draws and what became of the drawn machines.
import type { Row, Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { clipped, clock, plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { PanelHeading, REFRESH_MS } from "../parts/panel.tsx";
import { Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable } from "../parts/table.tsx";
import type { Outcome } from "../health.ts";
import { reasonsOf, responsesOf, versionsOf } from "../health.ts";
import { daemonsAddress } from "../share.ts";
import { address, linkTo } from "../state.ts";
import { UsualPort } from "./first_run.tsx";

function viewPage(view: string, parameters: ReadonlyMap<string, readonly string[]> = new Map()) {
  return { ...address.value, page: "views" as const, view, sort: "", parameters };
}

export function Daemons() {
  const asked = useAnswer<Table>("machines", [], REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="daemons">
      <PanelHeading id="daemons" text="Daemons" to={viewPage("machines")} more="All machines" />
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) => {
          if (table.rows.length === 0) {
            return (
              <div class="message empty">
                <strong>No machine has registered.</strong>
                <p>
                  Start one: <code>plimsolld --server {daemonsAddress(location.hostname)}</code>
                </p>
                <p class="hint">
                  <UsualPort />
                </p>
              </div>
            );
          }
          const { columns, rows } = versionsOf(table.rows);
          const refused = table.rows.filter((row) => Number(row["refused"] ?? 0) > 0);
          return (
            <>
              <DataTable caption="Daemons by version and state" columns={columns} rows={rows} />
              {refused.length === 0 ? (
                <p class="hint below">No machine{"\u2019"}s profiles were refused.</p>
              ) : (
                <>
                  <h3 class="below">Machines whose profiles were refused</h3>
                  <DataTable
                    caption="Machines whose profiles were refused"
                    columns={table.columns.filter(({ name }) =>
                      ["hostname", "version", "refused", "refused_why"].includes(name),
                    )}
                    rows={refused.slice(0, 20)}
                    view={viewNamed("machines")}
                  />
                </>
              )}
            </>
          );
        }}
      </Shown>
    </section>
  );
}

// What became of the drawn machines, as parts of a bar.
function Responses({ parts, drawn }: { parts: readonly Outcome[]; drawn: number }) {
  return (
    <span class="responses">
      <span class="parts" aria-hidden="true">
        {parts.map(({ outcome, tone, count }) => (
          <span
            key={outcome}
            class={tone}
            style={{ width: `${(count / Math.max(1, drawn)) * 100}%` }}
            title={`${count} ${outcome}`}
          />
        ))}
      </span>
      <span>{parts.map(({ outcome, count }) => `${count} ${outcome}`).join(", ") || "none"}</span>
    </span>
  );
}

export function Draws() {
  const asked = useAnswer<Table>("draws", [["limit", "8"]], REFRESH_MS);
  const responses = (row: Row): Outcome[] => responsesOf(asked.answer.value?.columns ?? [], row);
  const troubled = asked.answer.value?.rows.find((row) => responses(row).some(({ tone }) => tone === "bad"));
  const cell = (shape: Shape, row: Row) => {
    if (shape.name === "responses")
      return <Responses parts={responses(row)} drawn={Number(row["drawn"] ?? 0)} />;
    if (shape.name === "window_start" && typeof row["window_start"] === "string") {
      return <time title={row["window_start"]}>{clock(Date.parse(row["window_start"]), Date.now())}</time>;
    }
    if (shape.name !== "draw") return undefined;
    const id = String(row["draw"] ?? "");
    return (
      <a class="word" {...linkTo(viewPage("draws", new Map([["draw", [id]]])))}>
        {clipped(id, 80)}
      </a>
    );
  };
  return (
    <section class="panel" aria-labelledby="draws">
      <PanelHeading id="draws" text="Draws and their responses" to={viewPage("draws")} more="All draws" />
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <p class="hint">
              None: machines are not drawn, so that all of them are profiled all the time (draw.interval of
              the server{"\u2019"}s configuration).
            </p>
          ) : (
            <>
              <DataTable
                caption="Draws and their responses"
                columns={table.columns
                  .filter(({ name }) =>
                    ["draw", "window_start", "machines", "drawn", "answered"].includes(name),
                  )
                  .map((column) => (column.name === "answered" ? { name: "responses", unit: "" } : column))}
                rows={table.rows.map((row) => ({ ...row, responses: "of the drawn machines" }))}
                view={viewNamed("draws")}
                cell={cell}
              />
              {troubled === undefined ? (
                <p class="hint below">
                  No assignment of{" "}
                  {table.rows.length === 1 ? "this draw" : `these ${plural(table.rows.length, "draw")}`} was
                  refused or failed.
                </p>
              ) : (
                <Troubled draw={String(troubled["draw"])} />
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}

// The assignments of a draw that were refused or failed, with the reasons that machines gave.
function Troubled({ draw }: { draw: string }) {
  const asked = useAnswer<Table>("draws", [
    ["draw", draw],
    ["limit", "10000"],
  ]);
  return (
    <>
      <h3 class="below">Refused and failed assignments of {clipped(draw, 80)}</h3>
      <Shown {...asked} placeholder={<div class="placeholder low" />}>
        {(table) => {
          const { columns, rows } = reasonsOf(table.rows);
          return (
            <DataTable
              caption="Refused and failed assignments, by their reasons"
              columns={columns}
              rows={rows}
            />
          );
        }}
      </Shown>
    </>
  );
}
