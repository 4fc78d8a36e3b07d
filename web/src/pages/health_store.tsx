// The store: what it holds against its limits, and block by block.
import type { Row, Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { clipped, clock, plural, quantity, share } from "../format.ts";
import { atLimit } from "../health.ts";
import { useAnswer } from "../hooks.ts";
import { PanelHeading, REFRESH_MS } from "../parts/panel.tsx";
import { Notes, Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable } from "../parts/table.tsx";
import { address } from "../state.ts";

const MAX_BLOCKS = 20;

export function Store() {
  const limits = useAnswer<Table>("store", [["by", "limit"]], 2 * REFRESH_MS);
  const blocks = useAnswer<Table>("store", [], 2 * REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="store">
      <PanelHeading
        id="store"
        text="The store"
        to={{ ...address.value, page: "views", view: "store", sort: "", parameters: new Map() }}
        more="All blocks"
      />
      <Shown {...limits} placeholder={<div class="placeholder" />}>
        {(table) => (
          <>
            <Notes notes={table.notes} />
            <ul class="limits">
              {table.rows.map((row) => (
                <Limit key={String(row["part"])} row={row} />
              ))}
            </ul>
          </>
        )}
      </Shown>
      <Shown {...blocks} placeholder={<div class="placeholder" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <p class="hint">No block yet: the first profile makes it.</p>
          ) : (
            <>
              <h3 class="below">
                {table.rows.length > MAX_BLOCKS
                  ? `The newest ${MAX_BLOCKS} of ${plural(table.rows.length, "block")}`
                  : plural(table.rows.length, "block")}
              </h3>
              <DataTable
                caption="Blocks of the store, the newest first"
                columns={table.columns}
                rows={table.rows.slice(-MAX_BLOCKS).reverse()}
                view={viewNamed("store")}
                cell={moment}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}

// To the minute; the tooltip has all of it.
function moment(shape: Shape, row: Row) {
  const value = row[shape.name];
  if (!["from", "to"].includes(shape.name) || typeof value !== "string" || value === "") return undefined;
  return (
    <time dateTime={clipped(value, 40)} title={clipped(value, 40)}>
      {clock(Date.parse(value), Date.now())}
    </time>
  );
}

function Limit({ row }: { row: Table["rows"][number] }) {
  const used = row["used_share"];
  const max = row["max_bytes"];
  const room = row["room"];
  const growth = row["bytes_a_day"];
  const age = row["max_age"];
  const facts = [
    typeof growth === "number" ? `${quantity(growth, "bytes")} more a day` : "",
    typeof room === "number"
      ? room > 3650
        ? "room for many years"
        : `room for ${quantity(room, "days")} days`
      : "",
    typeof age === "number" ? `kept for ${quantity(age, "days")} days at most` : "",
  ].filter(Boolean);
  const tone = typeof used === "number" && used > 0.95 ? "full" : "";
  return (
    <li class={tone}>
      <span class="part">{clipped(String(row["part"]), 40)}</span>
      <span class="meter" aria-hidden="true">
        <span style={{ width: typeof used === "number" ? `${Math.min(100, used * 100)}%` : "0" }} />
      </span>
      <span class="digits">
        {quantity(Number(row["bytes"] ?? 0), "bytes")}
        {typeof max === "number" ? ` of ${quantity(max, "bytes")}` : ""}
        {typeof used === "number" ? ` (${share(used)})` : ""}
      </span>
      <span class="hint">
        {facts.length === 0 ? "" : `${facts.join("; ")}. `}
        {clipped(atLimit(row), 140)}
        {typeof max === "number" ? (
          <>
            {" "}
            (<code>{clipped(String(row["key"]), 60)}</code>)
          </>
        ) : null}
        .
      </span>
    </li>
  );
}
