// Hardware: platform against platform. What the newer one gives the fleet comes first, then each job, then what the answer covers.
import type { Row, Table, ViewSpec } from "../api.ts";
import { viewNamed } from "../api.ts";
import { questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import { change, clipped, margin, plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { isHigherBetter, scaleOf } from "../intervals.ts";
import { csvOf } from "../share.ts";
import { address, linkTo } from "../state.ts";
import { CopyMenu } from "../parts/copy_menu.tsx";
import { Filters } from "../parts/filters.tsx";
import { Axis, Forest, Strip } from "../parts/forest.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import { DataTable } from "../parts/table.tsx";
import { TextField } from "../parts/text_field.tsx";
import { TimeRange } from "../parts/time_range.tsx";
import { comparedRows, jobsCompared } from "../compared.ts";
import { Overview } from "./hardware_overview.tsx";
import { Power } from "./hardware_power.tsx";
import { changeOf, choose, compareQuestion, platformsOf, sidesOf } from "./hardware_question.ts";
import "../styles/decisions.css";

const MOST_PLATFORMS = 6;
const MAX_JOBS = "200";

export function Hardware() {
  const view = viewNamed("compare");
  const coverage = viewNamed("coverage");
  const asked = useAnswer<Table>("coverage", coverage === undefined ? undefined : coverageQuestion(coverage));
  if (view === undefined || coverage === undefined) return null;
  return (
    <>
      <h1 class="unseen">Hardware</h1>
      <Question view={view} names={platformsOf(asked.answer.value)} />
      <Shown {...asked} placeholder={<div class="placeholder tall" />}>
        {(table) => <Compared view={view} platforms={table} coverage={coverage} />}
      </Shown>
      {asked.answer.state === "failed" ? <WaysOut /> : null}
    </>
  );
}

// Of a question that has no answer.
function WaysOut() {
  const isGiven = (name: string): boolean => valuesOf(address.value, name).length > 0;
  return (
    <p class="actions">
      {isGiven("since") || isGiven("until") ? <WithoutTimes /> : null}
      {isGiven("where") ? (
        <a {...linkTo(withParameters(address.value, { where: [] }))}>Remove the filters</a>
      ) : null}
    </p>
  );
}

function WithoutTimes() {
  return (
    <a {...linkTo(withParameters(address.value, { since: undefined, until: undefined }))}>Show all times</a>
  );
}

function Question({ view, names }: { view: ViewSpec; names: readonly string[] }) {
  const { base, fresh } = sidesOf(names);
  return (
    <section class="question" aria-label="Question">
      <div class="row">
        <TimeRange />
        <PlatformPicker
          label="Today's platform"
          names={names}
          value={base}
          onPick={(one) => choose(names, { base: one })}
        />
        <PlatformPicker
          label="Compare with"
          names={names}
          value={fresh}
          onPick={(one) => choose(names, { fresh: one })}
        />
        <TextField parameter={view.parameters.find(({ name }) => name === "ratio")} label="Performance" />
      </div>
      <Filters view={view} without={["base_where", "new_where"]} />
    </section>
  );
}

// Of the usual event: whether machines of a platform count those of the ratio, the answer says.
function coverageQuestion(view: ViewSpec): [string, string][] {
  return questionOf(address.value, view.parameters, { by: "platform", event: "", limit: "200" });
}

function Compared({ view, platforms, coverage }: { view: ViewSpec; platforms: Table; coverage: ViewSpec }) {
  const names = platformsOf(platforms);
  const { base, fresh } = sidesOf(names);
  return (
    <>
      {base === "" || fresh === "" ? (
        <div class="message empty">
          <strong>
            {names.length === 0
              ? "No platform has profiles at this time."
              : `All profiles are of one platform: ${clipped(names[0]!, 80)}.`}
          </strong>
          <p>
            A comparison needs machines of two platforms with the events of the ratio. Choose a longer time,
            or start plimsolld on a machine of the other platform.
          </p>
          <p class="actions">
            <WithoutTimes />
          </p>
        </div>
      ) : base === fresh ? (
        <div class="message empty">
          <strong>Both sides are {clipped(base, 80)}.</strong>
          <p>Choose another platform to compare it with.</p>
        </div>
      ) : (
        <>
          <Answer key={`${base} ${fresh}`} view={view} base={base} fresh={fresh} />
          {names.length > 2 ? (
            <Overview
              view={view}
              base={base}
              fresh={fresh}
              others={names.filter((name) => name !== base).slice(0, MOST_PLATFORMS)}
            />
          ) : null}
          <div class="halves">
            <section class="panel" aria-labelledby="covered">
              <h2 id="covered">What the answers cover</h2>
              <DataTable
                caption="Coverage by platform"
                columns={platforms.columns}
                rows={platforms.rows}
                view={coverage}
                hidden={[
                  "machines_seen_share",
                  "stackless_share",
                  "unsymbolized_share",
                  "observed",
                  "samples",
                ]}
              />
            </section>
            <Power />
          </div>
        </>
      )}
    </>
  );
}

function PlatformPicker(props: {
  label: string;
  names: readonly string[];
  value: string;
  onPick: (name: string) => void;
}) {
  const { names, value } = props;
  return (
    <label class="field">
      <span>{props.label}</span>
      <select value={value} onChange={(event) => props.onPick(event.currentTarget.value)}>
        {value !== "" && !names.includes(value) ? <option value={value}>{clipped(value, 60)}</option> : null}
        {names.map((name) => (
          <option key={name} value={name}>
            {clipped(name, 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

function ratioName(table: Table): string {
  return clipped(table.event, 80);
}

function marginWanted(view: ViewSpec): string {
  return (
    valueOf(address.value, "margin") || (view.parameters.find(({ name }) => name === "margin")?.default ?? "")
  );
}

function Answer({ view, base, fresh }: { view: ViewSpec; base: string; fresh: string }) {
  const question = compareQuestion(view, base, fresh, valueOf(address.value, "limit") || MAX_JOBS);
  const asked = useAnswer<Table>(view.name, question);
  return (
    <section class="panel answer" aria-label="Answer">
      <Shown {...asked} placeholder={<div class="placeholder tall" />}>
        {(table) => {
          const { summary, actual, compared, leftOut } = comparedRows(table.rows);
          const ratio = table.event;
          const counts = jobsCompared(table.notes);
          const isCut = counts !== undefined && counts.all > compared.length + leftOut.length;
          const rows = compared.map((row) => changeOf(row, String(row["job"] ?? "") || "(none)", ratio));
          const total = summary === undefined ? undefined : changeOf(summary, "all jobs", ratio);
          const mixed = actual === undefined ? undefined : changeOf(actual, "all samples", ratio);
          const scale = scaleOf([...rows, ...(total === undefined ? [] : [total])]);
          return (
            <>
              <header>
                <h2>
                  {clipped(fresh, 60)} <span class="against">against {clipped(base, 60)}</span>
                </h2>
                <CopyMenu
                  view={view}
                  question={question}
                  coverage={undefined}
                  files={[
                    {
                      name: "platforms.csv",
                      says: "these rows, with margins",
                      make: () => new Blob([csvOf(table.columns, table.rows)], { type: "text/csv" }),
                    },
                  ]}
                />
              </header>
              {total === undefined || total.value === undefined ? (
                <div class="message empty">
                  <strong>No job runs on both platforms with enough machines.</strong>
                  <p>
                    The list below says what each lacks. A longer time range or more machines per draw helps.
                  </p>
                </div>
              ) : (
                <div class="decision-line">
                  <p class={`big-figure tone-${total.tone}`}>
                    {change(total.value, "share")}
                    {total.half === undefined ? null : <small> {margin(total.half, "share")}</small>}
                  </p>
                  <div class="verdict-text">
                    <p>
                      <span class={`verdict tone-${total.tone}`}>{clipped(total.verdict, 80)}</span>{" "}
                      <b>{ratioName(table)}</b>, mean over{" "}
                      {counts === undefined ? "jobs" : plural(counts.compared, "job")} by{" "}
                      {summary!["job"] === "[by quota]" ? "CPU quota" : "what they use"}
                    </p>
                    <div class="one-strip">
                      <Strip row={total} scale={scale} isLarge />
                      <Axis scale={scale} />
                    </div>
                    {mixed === undefined || mixed.value === undefined ? null : (
                      <p class="hint">
                        All samples, whatever runs where: {change(mixed.value, "share")}
                        {mixed.half === undefined ? "" : ` ${margin(mixed.half, "share")}`}. This moves with
                        the mix of jobs too.
                      </p>
                    )}
                  </div>
                </div>
              )}
              {rows.length === 0 ? null : (
                <>
                  <h3 class="of-list">Job by job{isCut ? `: the ${rows.length} largest` : ""}</h3>
                  <Forest
                    caption="Change by job, with margins"
                    label="job"
                    value="change"
                    rows={rows}
                    scale={scale}
                  />
                  <p class="after-table">
                    <span>
                      Dot: change; line: its 95 % confidence interval.{" "}
                      {isHigherBetter(ratio) === undefined
                        ? "Orange: higher, blue: lower"
                        : "Blue: faster, orange: slower"}
                      , grey: cannot tell
                      {rows.some(({ needs }) => needs !== undefined)
                        ? `; so many machines more bring its margin to ${marginWanted(view)}`
                        : ""}
                      .
                    </span>
                  </p>
                </>
              )}
              {leftOut.length === 0 ? null : <LeftOut rows={leftOut} all={isCut ? counts.all - counts.compared : leftOut.length} />}
              <CoverageLine coverage={table.coverage} event="" />
              <Notes notes={[...new Set(table.notes)]} />
            </>
          );
        }}
      </Shown>
      {asked.answer.state === "failed" ? <WaysOut /> : null}
    </section>
  );
}

// `all`: of which `rows` are the largest.
function LeftOut({ rows, all }: { rows: readonly Row[]; all: number }) {
  return (
    <div class="left-out">
      <h3>
        Left out: {plural(all, "job")}
        {all > rows.length ? `, the ${rows.length} largest of them` : ""}
      </h3>
      <ul>
        {rows.map((row) => (
          <li key={String(row["job"])}>
            <b>{clipped(String(row["job"] ?? "") || "(none)", 80)}</b>{" "}
            <span>{clipped(String(row["verdict"] ?? ""), 200)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
