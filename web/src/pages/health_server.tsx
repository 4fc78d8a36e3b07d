// The server itself: its background work, and how long its answers take.
import type { Row, Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { ago, clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { REFRESH_MS } from "../parts/panel.tsx";
import { Notes, Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable } from "../parts/table.tsx";

const TIMES = ["newest_success", "running_since", "failing_since", "last_error_at"];

// Times are ages; the time itself is in the tooltip.
function age(shape: Shape, row: Row) {
  const value = row[shape.name];
  if (!TIMES.includes(shape.name) || typeof value !== "string" || value === "") return undefined;
  return (
    <time dateTime={clipped(value, 40)} title={clipped(value, 40)}>
      {ago(Date.parse(value), Date.now())}
    </time>
  );
}

export function Work() {
  const asked = useAnswer<Table>("status", [["by", "work"]], REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="work">
      <div class="panel-heading">
        <h2 id="work">Background work</h2>
      </div>
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) => (
          <>
            <Notes notes={table.notes} />
            <DataTable
              caption="Background work, with its last errors"
              columns={table.columns}
              rows={table.rows}
              view={viewNamed("status")}
              cell={age}
            />
            {table.rows.some((row) => Number(row["errors"] ?? 0) > 0) ? null : (
              <p class="hint below">No pass has failed since the server{"\u2019"}s start.</p>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

export function Questions() {
  const asked = useAnswer<Table>("status", [["by", "question"]], REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="questions">
      <div class="panel-heading">
        <h2 id="questions">Slow questions</h2>
      </div>
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) => {
          const slow = table.rows.filter((row) => Number(row["over_1s"] ?? 0) > 0);
          return (
            <>
              <p class={slow.length === 0 ? "fine" : "hint"}>
                {slow.length === 0
                  ? "No answer took over a second since the server\u2019s start."
                  : "The views with most answers over a second first: shorter times, fewer rows and no margins are faster."}
              </p>
              <DataTable
                caption="How long answers took, by view"
                columns={table.columns}
                rows={table.rows.slice(0, 10)}
                view={viewNamed("status")}
              />
            </>
          );
        }}
      </Shown>
    </section>
  );
}
