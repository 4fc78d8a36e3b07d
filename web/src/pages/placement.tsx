// Placement: which job belongs on which platform. What it would save comes first, then the picture, then platforms, moves and jobs in numbers.
import { useMemo } from "preact/hooks";
import type { Question, Row, Table, ViewSpec } from "../api.ts";
import { viewNamed } from "../api.ts";
import { questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import { clipped, margin, plural, quantity, share } from "../format.ts";
import { assignmentsOf, flowsOf, pictureOf } from "../flows.ts";
import { useAnswer } from "../hooks.ts";
import { csvOf } from "../share.ts";
import { parseSort, sortText } from "../sorting.ts";
import { address, change, go, linkTo } from "../state.ts";
import { Alluvial } from "../parts/alluvial.tsx";
import { CopyMenu } from "../parts/copy_menu.tsx";
import { Filters } from "../parts/filters.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import type { Shape } from "../parts/table.tsx";
import { DataTable } from "../parts/table.tsx";
import { TextField } from "../parts/text_field.tsx";
import { TimeRange } from "../parts/time_range.tsx";
import "../styles/decisions.css";
import "../styles/placement.css";

const MORE: readonly [string, string][] = [
  ["0%", "as today"],
  ["10%", "+10\u202f%"],
  ["25%", "+25\u202f%"],
  ["50%", "+50\u202f%"],
  ["100%", "+100\u202f%"],
];

export function PlacementPage() {
  const view = viewNamed("placement");
  if (view === undefined) return null;
  const spec = (name: string) => view.parameters.find((parameter) => parameter.name === name);
  return (
    <>
      <h1 class="unseen">Placement</h1>
      <section class="question" aria-label="Question">
        <div class="row">
          <TimeRange />
          <TextField parameter={spec("headroom")} label="Headroom of each platform" />
          <TextField parameter={spec("max_unknown_cost")} label="Where no cost is known" />
        </div>
        <Filters view={view} />
      </section>
      <Answer view={view} />
    </>
  );
}

type Asked = ReturnType<typeof useAnswer<Table>>;

function useRows(view: ViewSpec, by: string) {
  return useAnswer<Table>(view.name, questionOf(address.value, view.parameters, { by }));
}

function Answer({ view }: { view: ViewSpec }) {
  const question = questionOf(address.value, view.parameters, { by: "summary" });
  const summary = useAnswer<Table>(view.name, question);
  const platforms = useRows(view, "platform");
  const moves = useRows(view, "move");
  const placed = useRows(view, "placement");
  const pairs = viewNamed("measured-pairs");
  const measured = useAnswer<Table>(
    "measured-pairs",
    pairs === undefined ? undefined : questionOf(address.value, pairs.parameters),
  );
  return (
    <>
      <section class="panel answer" aria-label="Answer">
        <Shown {...summary} placeholder={<div class="placeholder tall" />}>
          {(table) => (
            <Headline
              table={table}
              view={view}
              question={question}
              moves={moves}
              platforms={platforms}
              placed={placed}
            />
          )}
        </Shown>
      </section>
      {summary.answer.state === "failed" && summary.answer.value === undefined ? null : (
        <>
          <section class="panel" aria-labelledby="platforms">
            <h2 id="platforms">Platforms: what if one had more room?</h2>
            <Shown {...platforms}>{(table) => <Platforms table={table} view={view} />}</Shown>
          </section>
          <section class="panel" aria-labelledby="moves">
            <h2 id="moves">Moves</h2>
            <Shown {...moves}>{(table) => <Moves table={table} view={view} />}</Shown>
          </section>
          <section class="panel" aria-labelledby="assignment">
            <h2 id="assignment">Job by job: today and proposed</h2>
            <Shown {...measured}>
              {(table) => (
                <Shown {...placed}>
                  {(proposed) => <Assignments measured={table.rows} placed={proposed.rows} />}
                </Shown>
              )}
            </Shown>
          </section>
        </>
      )}
    </>
  );
}

const numberOf = (row: Row | undefined, name: string): number | undefined =>
  typeof row?.[name] === "number" ? (row[name] as number) : undefined;

function Headline(props: {
  table: Table;
  view: ViewSpec;
  question: Question;
  moves: Asked;
  platforms: Asked;
  placed: Asked;
}) {
  const { table, view, question } = props;
  const [moves, platforms, placed] = [props.moves, props.platforms, props.placed].map(
    ({ answer }) => answer.value,
  );
  const failed = [props.moves, props.platforms, props.placed].find(
    ({ answer }) => answer.state === "failed" && answer.value === undefined,
  );
  const row = table.rows[0];
  const unit = table.columns.find(({ name }) => name === "saving")?.unit ?? "";
  const saving = numberOf(row, "saving");
  const part = numberOf(row, "saving_share");
  const todays = numberOf(row, "todays_cost") ?? 0;
  const half = numberOf(row, "saving_margin");
  const low = numberOf(row, "saving_low");
  const certainMoves = numberOf(row, "certain_moves") ?? 0;
  const allMoves = numberOf(row, "moves") ?? 0;
  const certainSaving = numberOf(row, "certain_saving") ?? 0;
  const picture = useMemo(
    () =>
      platforms === undefined || placed === undefined || moves === undefined
        ? undefined
        : pictureOf(platforms.rows, flowsOf(platforms.rows, placed.rows, moves.rows)),
    [platforms, placed, moves],
  );
  const isReal = low !== undefined && low > 0;
  return (
    <>
      <header>
        <h2>What moving jobs would save</h2>
        <CopyMenu
          view={view}
          question={question}
          coverage={table.coverage}
          files={[
            {
              name: "moves.csv",
              says: "job, from, to, saving",
              make: () => new Blob([csvOf(moves?.columns ?? [], moves?.rows ?? [])], { type: "text/csv" }),
            },
            {
              name: "placement.csv",
              says: "the proposed assignment",
              make: () => new Blob([csvOf(placed?.columns ?? [], placed?.rows ?? [])], { type: "text/csv" }),
            },
          ]}
        />
      </header>
      <div class="decision-line">
        <p class={`big-figure tone-${allMoves === 0 ? "chance" : isReal ? "better" : "unknown"}`}>
          {allMoves === 0 ? "Nothing" : part === undefined ? "Unknown" : share(part)}
          {allMoves === 0 || saving === undefined || half === undefined || !(todays > 0) ? null : (
            <small> {margin(half / todays, "share")}</small>
          )}
        </p>
        <div class="verdict-text">
          {allMoves === 0 ? (
            <p>
              <b>Today's placement is the best one</b> in the room that there is. More headroom, or more room
              on one platform below, may change that.
            </p>
          ) : (
            <>
              <p>
                of what the fleet takes today:{" "}
                <b>{saving === undefined ? "unknown" : quantity(saving, unit)}</b>
                {half === undefined ? " (margin unknown)" : ` ${margin(half, unit)}`}, without a machine more.
              </p>
              <p>
                {plural(allMoves, "move")}:{" "}
                <span class="verdict tone-better">{plural(certainMoves, "certain", "certain")}</span>{" "}
                <span class="verdict tone-unknown">
                  {plural(allMoves - certainMoves, "not certain", "not certain")}
                </span>
                . Of the saving, certain moves bring {quantity(certainSaving, unit)}; they may need the room that
                others make.
              </p>
              {isReal || half === undefined ? null : (
                <p class="hint">The saving may be chance: measure for a longer time before jobs are moved.</p>
              )}
            </>
          )}
        </div>
      </div>
      {picture === undefined && failed !== undefined ? (
        <Shown {...failed}>{() => null}</Shown>
      ) : picture === undefined ? (
        <div class="placeholder tall" />
      ) : (
        <Alluvial
          picture={picture}
          unit={unit}
          label={`Capacity used by platform, today and proposed: ${picture.columns.map(({ platform, today, planned }) => `${clipped(platform, 40)} ${quantity(today, unit)}, then ${quantity(planned, unit)}`).join("; ")}. The tables below have the moves as text.`}
        />
      )}
      <CoverageLine coverage={table.coverage} event="" />
      <Notes notes={table.notes} />
    </>
  );
}

// Of each platform how much more it may take: a platform's own room, in place of the headroom of all.
function Platforms({ table, view }: { table: Table; view: ViewSpec }) {
  const room = valuesOf(address.value, "room");
  const roomOf = (platform: string): string =>
    room.find((one) => one.slice(0, one.lastIndexOf("=")) === platform)?.slice(platform.length + 1) ?? "";
  const forAll =
    valueOf(address.value, "headroom") ||
    (view.parameters.find(({ name }) => name === "headroom")?.default ?? "0%");
  const set = (platform: string, more: string): void => {
    const others = room.filter((one) => one.slice(0, one.lastIndexOf("=")) !== platform);
    go(withParameters(address.value, { room: more === "" ? others : [...others, `${platform}=${more}`] }));
  };
  const cell = (shape: Shape, row: Row) => {
    if (shape.name !== "capacity") return undefined;
    const platform = String(row["platform"] ?? "");
    const own = roomOf(platform);
    return (
      <span class="room">
        <span>{quantity(numberOf(row, "capacity") ?? 0, shape.unit)}</span>
        <select
          aria-label={`Room of ${clipped(platform, 40)}`}
          value={own}
          onChange={(event) => set(platform, event.currentTarget.value)}
        >
          <option value="">{`like all (+${forAll})`}</option>
          {own === "" || MORE.some(([value]) => value === own) ? null : <option value={own}>{`+${own}`}</option>}
          {MORE.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </span>
    );
  };
  return <DataTable caption="Platforms" columns={table.columns} rows={table.rows} view={view} cell={cell} />;
}

const CERTAIN: Readonly<Record<string, [string, string]>> = {
  yes: ["certain", "tone-better"],
  no: ["not certain", "tone-unknown"],
  unknown: ["margin unknown", "tone-unknown"],
};

function certainCell(shape: Shape, row: Row) {
  if (shape.name !== "certain") return undefined;
  const [text, tone] = CERTAIN[String(row["certain"])] ?? [String(row["certain"] ?? ""), "tone-unknown"];
  return <span class={`verdict ${tone}`}>{text}</span>;
}

function Moves({ table, view }: { table: Table; view: ViewSpec }) {
  if (table.rows.length === 0) return <p class="hint">No job moves.</p>;
  return (
    <>
      <DataTable
        caption="Moves"
        columns={table.columns}
        rows={table.rows}
        view={view}
        sort={parseSort(address.value.sort) ?? { column: "saving", isDescending: true }}
        onSort={(next) => change({ sort: sortText(next) })}
        cell={certainCell}
      />
      <p class="after-table">
        A move is certain where it holds with both costs at the unfavourable ends of their margins. One that
        only makes room for another costs something itself.
      </p>
    </>
  );
}

function Assignments({ measured, placed }: { measured: readonly Row[]; placed: readonly Row[] }) {
  const jobs = assignmentsOf(measured, placed);
  const platforms = [...new Set([...measured, ...placed].map((row) => String(row["platform"] ?? "")))].sort();
  if (jobs.length === 0) return <p class="hint">Nothing was measured. Choose a longer time.</p>;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Share of each job's load by platform">
      <table class="assignment">
        <caption class="unseen">Share of each job's load by platform, today and proposed</caption>
        <thead>
          <tr>
            <th scope="col">job</th>
            {platforms.map((name) => (
              <th key={name} scope="col">
                {clipped(name, 40)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {jobs.map(({ job, today, planned, isMoved }) => (
            <tr key={job} class={isMoved ? "moved" : ""}>
              <th scope="row" class="text">
                <span class="word">{clipped(job, 60) || "(none)"}</span>
              </th>
              {platforms.map((name) => {
                const before = today.get(name) ?? 0;
                const after = planned.get(name) ?? 0;
                const isSame = Math.abs(after - before) < 1e-6;
                return (
                  <td key={name}>
                    <span class="pair" aria-hidden="true">
                      <span class="before" style={{ width: `${before * 100}%` }} />
                      <span class="after" style={{ width: `${after * 100}%` }} />
                    </span>
                    <span class="share-text">
                      {before === 0 && after === 0 ? (
                        <span class="absent">{"\u2013"}</span>
                      ) : isSame ? (
                        share(before)
                      ) : (
                        <>
                          {share(before)} {"\u2192"} <b>{share(after)}</b>
                        </>
                      )}
                    </span>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="after-table">
        <span>
          Upper bar: today, lower: proposed.{" "}
          <a {...linkTo({ ...address.value, page: "hardware" })}>Why: what each job gains by a platform</a>
        </span>
      </p>
    </div>
  );
}
