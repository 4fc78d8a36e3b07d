// The parts of the start page.
import { linkTo, address } from "../state.ts";
import { withParameters } from "../address.ts";
import type { Question, Row, Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { clipped, plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { functionPage, isNamed } from "../parts/links.ts";
import { PanelHeading, REFRESH_MS, exploring } from "../parts/panel.tsx";
import { Problems } from "../parts/problems.tsx";
import { Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable, isCode } from "../parts/table.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { equals } from "../predicate.ts";

export function Ranking({ table, dimension, since }: { table: Table; dimension: string; since: string }) {
  const measure = dimension === "binary" ? "total" : "self";
  const other = measure === "self" ? "total" : "self";
  const hidden = [measure, other, ...(dimension === "function" ? [] : [`${other}_share`])];
  const cell = (shape: Shape, row: Row) => {
    const value = row[shape.name];
    if (shape.name !== dimension || typeof value !== "string") return undefined;
    if (value === "" || (dimension === "function" && !isNamed(value))) return undefined;
    return (
      <a
        class={isCode(dimension) ? "name" : "word"}
        title={clipped(value, 1000)}
        {...linkTo(
          dimension === "function"
            ? functionPage(value, { since })
            : exploring({ since, where: [equals(dimension, value)], by: "function" }),
        )}
      >
        {clipped(value, 200)}
      </a>
    );
  };
  return (
    <DataTable
      caption={`Largest by ${dimension}`}
      columns={table.columns}
      rows={table.rows}
      view={viewNamed("top")}
      hidden={hidden}
      plain={dimension === "function" ? ["total_share"] : []}
      cell={cell}
    />
  );
}

export function TopBy({ dimension, heading, since }: { dimension: string; heading: string; since: string }) {
  const asked = useAnswer<Table>(
    "top",
    [
      ["since", since],
      ["by", dimension],
      ["limit", "6"],
    ],
    REFRESH_MS,
  );
  return (
    <section class="panel" aria-labelledby={`top-${dimension}`}>
      <PanelHeading
        id={`top-${dimension}`}
        text={heading}
        to={exploring({ since, by: dimension })}
        more="All"
      />
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <p class="hint">Nothing in this time range.</p>
          ) : (
            <Ranking table={table} dimension={dimension} since={since} />
          )
        }
      </Shown>
    </section>
  );
}

// Only what is more than chance.
export function Changes({ since }: { since: string }) {
  const question: Question = [
    ["since", since],
    ["earlier", since],
    ["limit", "100"],
  ];
  const asked = useAnswer<Table>("diff", question, 2 * REFRESH_MS);
  const to = withParameters(
    { ...address.value, page: "diff", sort: "", find: "", zoom: "" },
    { since, earlier: since },
  );
  return (
    <section class="panel" aria-labelledby="changes">
      <PanelHeading id="changes" text="Changes that are more than chance" to={to} more="Compare" />
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) => {
          const changed = table.rows
            .filter((row) => row["self_verdict"] === "more" || row["self_verdict"] === "less")
            .slice(0, 6);
          const undecided = table.rows.filter((row) => row["self_verdict"] === "cannot tell").length;
          if (changed.length > 0) {
            return (
              <DataTable
                caption={`Changes against the ${since} before`}
                columns={table.columns.filter(({ name }) => /^(function|self_share_change.*)$/.test(name))}
                rows={changed}
                view={viewNamed("diff")}
              />
            );
          }
          return (
            <p class="hint">
              {table.rows.length === 0
                ? `There is nothing to compare: no profiles of the ${since} before.`
                : undecided === table.rows.length
                  ? `Too little was measured to tell: ${plural(undecided, "row")} compared with the ${since} before.`
                  : `No function changed by more than chance against the ${since} before (${plural(table.rows.length, "row")} compared).`}
            </p>
          );
        }}
      </Shown>
    </section>
  );
}

export function Attention() {
  const asked = useAnswer<Table>("status", [], REFRESH_MS);
  return (
    <section class="panel" aria-labelledby="attention">
      <PanelHeading
        id="attention"
        text="Needs attention"
        to={{ ...address.value, page: "health", view: "", sort: "", parameters: new Map() }}
        more="Health"
      />
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) => <Problems table={table} />}
      </Shown>
    </section>
  );
}

export function OverTime({ since }: { since: string }) {
  const asked = useAnswer<Table>(
    "series",
    [
      ["since", since],
      ["by", "job"],
      ["measure", "rate"],
      ["limit", "5"],
    ],
    REFRESH_MS,
  );
  return (
    <section class="panel" aria-labelledby="over-time">
      <PanelHeading id="over-time" text="The largest jobs over time, per machine" />
      <Shown {...asked} placeholder={<div class="placeholder timeline-place" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <p class="hint">Nothing in this time range.</p>
          ) : (
            <Timeline table={table} />
          )
        }
      </Shown>
    </section>
  );
}
