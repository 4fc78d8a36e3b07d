// Energy by platform, where machines report it.
import type { Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { questionOf, timesOf } from "../address.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { Notes, Shown } from "../parts/status.tsx";
import { DataTable } from "../parts/table.tsx";
import { address } from "../state.ts";

export function Power() {
  const events = useAnswer<Table>("values", [
    ["of", "event"],
    ["match", "energy-"],
    ...timesOf(address.value),
    ["limit", "20"],
  ]);
  const names = (events.answer.value?.rows ?? [])
    .map(({ value }) => String(value))
    .filter((name) => name.startsWith("energy-"));
  const energy = names.includes("energy-pkg") ? "energy-pkg" : names[0];
  const view = viewNamed("top");
  const question =
    view === undefined || energy === undefined
      ? undefined
      : questionOf(address.value, view.parameters, {
          ratio: `${energy}/instructions`,
          by: "platform",
          limit: "50",
          event: "",
        });
  const asked = useAnswer<Table>("top", question);
  return (
    <section class="panel power" aria-labelledby="power">
      <h2 id="power">Energy</h2>
      {events.answer.value !== undefined && energy === undefined ? (
        <p class="hint">
          No machine reports energy at this time. <code>plimsolld probe</code> says whether a machine has
          counters for it (RAPL), and why not.
        </p>
      ) : question === undefined ? (
        <div class="placeholder" />
      ) : (
        <Shown {...asked}>
          {(table) => (
            <>
              <p class="hint">
                Microjoules{energy === "energy-pkg" ? " of the processor's package" : ""} for each instruction (
                {clipped(table.event, 60)}). Less is better. Energy is counted for whole machines: a filter on
                a job, a process or code leaves none.
              </p>
              <Notes notes={table.notes} />
              {table.rows.length === 0 ? (
                <p class="hint">
                  No machine counted both. Choose a longer time, or collect instructions too.
                </p>
              ) : (
                <DataTable
                  caption="Energy by platform"
                  columns={table.columns}
                  rows={table.rows}
                  view={view}
                  hidden={["numerator", "denominator"]}
                />
              )}
            </>
          )}
        </Shown>
      )}
    </section>
  );
}
