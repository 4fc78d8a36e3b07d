// What is not collected for now, since when, why, and how that ends.
import type { Row, Table } from "../api.ts";
import { ago, clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { quoted } from "../share.ts";
import { REFRESH_MS } from "./panel.tsx";
import { Shown } from "./status.tsx";

type Asked = ReturnType<typeof useAnswer<Table>>;

export function serverAddress(): string {
  return new URL("./", location.href).href.replace(/\/$/, "");
}

function subject(row: Row): string {
  const kind = String(row["stopped"] ?? "");
  return kind === "everything" ? "everything" : `${kind} ${clipped(String(row["which"] ?? ""), 80)}`;
}

export function StopList({ rows }: { rows: readonly Row[] }) {
  const now = Date.now();
  return (
    <ul class="problems">
      {rows.map((row, i) => (
        <li key={i} class="failed">
          <strong>
            <span class="state">stopped</span> {subject(row)}: {clipped(String(row["measured"] ?? ""), 80)} is
            measured
          </strong>
          <span>
            {row["by"] === "hand" ? "By hand" : "After failures"},{" "}
            {ago(Date.parse(String(row["since"])), now)}: {clipped(String(row["reason"] ?? ""), 300)}
            {typeof row["next"] === "string" && row["next"] !== ""
              ? `; more is tried at ${new Date(row["next"]).toLocaleTimeString()}`
              : ""}
          </span>
          <span>
            Collect again: <code>plimsoll collection --server {quoted(serverAddress())} --resume</code>
          </span>
        </li>
      ))}
    </ul>
  );
}

export function useStops(): Asked {
  return useAnswer<Table>("collection", [], REFRESH_MS);
}

// On the start page: only where something is stopped, or where that is not known.
export function Stops({ asked }: { asked: Asked }) {
  const rows = asked.answer.value?.rows ?? [];
  const { state, error, value } = asked.answer;
  // A server that is away is said above all pages; any other failure must not look as if nothing were stopped.
  const isUnknown = state === "failed" && !(error?.isAway === true && value !== undefined);
  if (rows.length === 0 && !isUnknown) return null;
  return (
    <section class="panel stops" aria-labelledby="stops">
      <h2 id="stops">{rows.length === 0 ? "Is collection stopped?" : "Collection is stopped"}</h2>
      <Shown {...asked}>{(table) => <StopList rows={table.rows} />}</Shown>
    </section>
  );
}
