// Health: whether daemons, collection, symbols, the store and the server do what they are there for, and what to do where they do not.
import type { Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { REFRESH_MS } from "../parts/panel.tsx";
import { Problems, problemsOf } from "../parts/problems.tsx";
import { Shown } from "../parts/status.tsx";
import { StopList } from "../parts/stops.tsx";
import { DataTable } from "../parts/table.tsx";
import { Daemons, Draws } from "./health_fleet.tsx";
import { Questions, Work } from "./health_server.tsx";
import { Store } from "./health_store.tsx";
import { Unsymbolized } from "./health_symbols.tsx";

export function Health() {
  const status = useAnswer<Table>("status", [], REFRESH_MS);
  const table = status.answer.value;
  const problems = table === undefined ? [] : problemsOf(table);
  const failed = problems.filter((row) => row["state"] === "failed").length;
  const tone = failed > 0 ? "failed" : problems.length > 0 ? "warning" : "ok";
  return (
    <>
      <section class={`panel verdict-line ${table === undefined ? "" : tone}`} aria-labelledby="health">
        <h1 id="health">Health</h1>
        <Shown {...status} placeholder={<p class="whole">{"\u2007"}</p>}>
          {(checks) => (
            <>
              <p class="whole">
                {failed > 0
                  ? `${plural(failed, "check")} failed`
                  : problems.length > 0
                    ? `${plural(problems.length, "check")} ${problems.length === 1 ? "needs" : "need"} attention`
                    : `All ${checks.rows.length} checks passed`}
              </p>
              {problems.length === 0 ? null : <Problems table={checks} />}
              <details>
                <summary>All {plural(checks.rows.length, "check")}</summary>
                <DataTable
                  caption="All checks"
                  columns={checks.columns}
                  rows={checks.rows}
                  view={viewNamed("status")}
                />
              </details>
            </>
          )}
        </Shown>
      </section>
      {/* Not seen before it is known how much stands above: it would be pushed down. */}
      <div class={`below-verdict ${table === undefined && status.answer.state === "loading" ? "unknown" : ""}`}>
        <div class="halves">
          <Daemons />
          <div class="stack">
            <Collection />
            <Overhead />
          </div>
        </div>
        <Draws />
        <Unsymbolized />
        <Store />
        <div class="halves">
          <Work />
          <Questions />
        </div>
      </div>
    </>
  );
}

function Collection() {
  const asked = useAnswer<Table>("collection", [], REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="collection">
      <div class="panel-heading">
        <h2 id="collection">Collection</h2>
      </div>
      <Shown {...asked} placeholder={<div class="placeholder low" />}>
        {(table) =>
          table.rows.length === 0 ? <p class="fine">Nothing is stopped.</p> : <StopList rows={table.rows} />
        }
      </Shown>
    </section>
  );
}

function Overhead() {
  const asked = useAnswer<Table>("status", [["by", "overhead"]], REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="overhead">
      <div class="panel-heading">
        <h2 id="overhead">Overhead against its budgets</h2>
      </div>
      <Shown {...asked} placeholder={<div class="placeholder low" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <p class="hint">No live daemon has reported yet what it takes.</p>
          ) : (
            <DataTable
              caption="Overhead against its budgets"
              columns={table.columns}
              rows={table.rows}
              view={viewNamed("status")}
              plain={["spent", "limit"]}
            />
          )
        }
      </Shown>
    </section>
  );
}
