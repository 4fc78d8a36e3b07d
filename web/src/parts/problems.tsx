// What the view `status` finds wrong, with what to do about it.
import type { Table } from "../api.ts";
import { registry } from "../api.ts";
import { clipped, plural } from "../format.ts";

export function problemsOf(table: Table) {
  const rank = (state: unknown): number => (state === "failed" ? 0 : 1);
  return table.rows
    .filter((row) => row["state"] !== "ok")
    .sort((a, b) => rank(a["state"]) - rank(b["state"]));
}

// Commands in a sentence are shown as such. What follows their names is part of them where it can be no word.
export function WithCommands({ text }: { text: string }) {
  const views = registry.answer.value.value?.views ?? [];
  const names = [...new Set(["store", "import", ...views.map(({ command }) => command)])].filter(Boolean);
  const command = new RegExp(
    `(plimsoll (?:${names.join("|")})\\b(?: --[a-z-]+| [A-Z]{2,}\\b| [\\w./-]*\\d[\\w:./-]*)*|plimsolld probe)`,
  );
  return <>{text.split(command).map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}

export function Problems({ table }: { table: Table }) {
  const problems = problemsOf(table);
  if (problems.length === 0) return <p class="fine">Nothing: {plural(table.rows.length, "check")} passed.</p>;
  return (
    <ul class="problems">
      {problems.map((row, i) => (
        <li key={i} class={String(row["state"])}>
          <strong>
            <span class="state">{String(row["state"])}</span> {clipped(String(row["subject"]), 80)}:{" "}
            {clipped(String(row["value"] ?? ""), 120)}
          </strong>
          {row["detail"] ? (
            <span>
              <WithCommands text={clipped(String(row["detail"]), 300)} />
            </span>
          ) : null}
        </li>
      ))}
    </ul>
  );
}
