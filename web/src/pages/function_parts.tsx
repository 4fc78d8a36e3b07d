// The parts of the page of a function.
import { withParameters } from "../address.ts";
import type { Question, Row, Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { functionPage, isNamed, selection } from "../parts/links.ts";
import { PanelHeading } from "../parts/panel.tsx";
import { Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable, isCode } from "../parts/table.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { equals, escaped } from "../predicate.ts";
import { address, linkTo } from "../state.ts";

const ROWS = "8";

// In two columns.
const USERS: readonly (readonly [string, string])[][] = [
  [
    ["job", "Jobs that run it"],
    ["platform", "Platforms"],
  ],
  [
    ["binary", "Binaries that contain it"],
    ["machine", "Machines"],
  ],
];

export function Users({ name }: { name: string }) {
  return (
    <div class="users">
      {USERS.map((column, i) => (
        <div key={i} class="stack">
          {column.map(([dimension, heading]) => (
            <UsersBy key={dimension} name={name} dimension={dimension} heading={heading} />
          ))}
        </div>
      ))}
    </div>
  );
}

// Shares are of the whole selection, so that those of all jobs add up to the function's.
function UsersBy({ name, dimension, heading }: { name: string; dimension: string; heading: string }) {
  const question: Question = [
    ...selection(),
    ["by", `function,${dimension}`],
    ["only", equals("function", name)],
    ["limit", ROWS],
  ];
  const asked = useAnswer<Table>("top", question);
  const cell = (shape: Shape, row: Row) => {
    const value = row[shape.name];
    if (shape.name !== dimension || typeof value !== "string" || value === "") return undefined;
    const where = [...selection().flatMap(([n, v]) => (n === "where" ? [v] : [])), equals(dimension, value)];
    return (
      <a
        class={isCode(dimension) ? "name" : "word"}
        title={`${clipped(value, 1000)}\nClick to see the function there`}
        {...linkTo(withParameters(address.value, { where }))}
      >
        {clipped(value, 200)}
      </a>
    );
  };
  return (
    <section class="panel" aria-labelledby={`by-${dimension}`}>
      <PanelHeading
        id={`by-${dimension}`}
        text={heading}
        to={withParameters(
          { ...address.value, page: "explore", show: "table", sort: "", find: "" },
          { function: undefined, by: `function,${dimension}`, only: equals("function", name) },
        )}
        more="All"
      />
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) =>
          table.rows.every((row) => row[dimension] === "") ? (
            <p class="hint">Not known of this function.</p>
          ) : (
            <DataTable
              caption={heading}
              columns={table.columns}
              rows={table.rows}
              view={viewNamed("top")}
              hidden={["function", "self", "total"]}
              cell={cell}
            />
          )
        }
      </Shown>
    </section>
  );
}

// Per machine, with what it calls: of stacks that contain it.
export function Trend({ name }: { name: string }) {
  const question: Question = [
    ...selection(),
    ["where", equals("function", name)],
    ["by", "job"],
    ["measure", "rate"],
    ["limit", "5"],
  ];
  const asked = useAnswer<Table>("series", question);
  return (
    <section class="panel" aria-labelledby="trend">
      <PanelHeading id="trend" text="Over time, with what it calls, per machine" />
      <Shown {...asked} placeholder={<div class="placeholder timeline-place" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <p class="hint">No profiles in this time range.</p>
          ) : (
            <Timeline table={table} hasBrush />
          )
        }
      </Shown>
    </section>
  );
}

export function Neighbours({ name, kind }: { name: string; kind: "callers" | "callees" }) {
  const column = kind === "callers" ? "caller" : "callee";
  const heading = kind === "callers" ? "Callers" : "Callees";
  const asked = useAnswer<Table>(kind, [...selection(), ["function", name], ["limit", "12"]]);
  const cell = (shape: Shape, row: Row) => {
    const value = row[shape.name];
    if (shape.name !== column || typeof value !== "string" || !isNamed(value)) return undefined;
    return (
      <a class="name" title={clipped(value, 1000)} {...linkTo(functionPage(value))}>
        {clipped(value, 200)}
      </a>
    );
  };
  return (
    <section class="panel" aria-labelledby={kind}>
      <PanelHeading
        id={kind}
        text={heading}
        to={withParameters(
          { ...address.value, page: "explore", show: "sandwich", find: `^${escaped(name)}$`, sort: "" },
          { function: undefined },
        )}
        more="As a graph"
      />
      <p class="hint">Shares of the function{"\u2019"}s total.</p>
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) =>
          table.rows.length === 0 ? (
            <p class="hint">None.</p>
          ) : (
            <DataTable
              caption={heading}
              columns={table.columns}
              rows={table.rows}
              view={viewNamed(kind)}
              hidden={["total"]}
              cell={cell}
            />
          )
        }
      </Shown>
    </section>
  );
}

export function Lines({ name }: { name: string }) {
  const question: Question = [
    ...selection(),
    ["by", "function,line"],
    ["only", equals("function", name)],
    ["limit", "30"],
  ];
  const asked = useAnswer<Table>("top", question);
  return (
    <section class="panel" aria-labelledby="lines">
      <PanelHeading
        id="lines"
        text="Its lines"
        to={withParameters(
          { ...address.value, page: "explore", show: "table", sort: "", find: "" },
          { function: undefined, by: "function,line", only: equals("function", name) },
        )}
        more="All"
      />
      <Shown {...asked} placeholder={<div class="placeholder" />}>
        {(table) =>
          table.rows.some((row) => row["line"] !== "") ? (
            <DataTable
              caption="Lines of the function"
              columns={table.columns}
              rows={table.rows}
              view={viewNamed("top")}
              hidden={["function", "total"]}
            />
          ) : (
            <div class="message empty">
              <strong>The lines of this function are not known.</strong>
              <p>
                Its binary has no line tables here: build it with <code>-g</code>, or put its debug file below
                one of symbols.debug_roots of the server. The page Health lists binaries without symbols.
              </p>
            </div>
          )
        }
      </Shown>
    </section>
  );
}
