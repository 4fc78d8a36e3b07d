// One experiment: its result where it has ended, else how far it is, and the plan. As long as it runs, nothing of its effect is asked for.
import type { Row, Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { questionOf, withParameters } from "../address.ts";
import { notesOf, progressOf, stateOf } from "../experiment.ts";
import { change, clipped, margin, plural, share } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { scaleOf } from "../intervals.ts";
import { csvOf } from "../share.ts";
import { address, linkTo } from "../state.ts";
import { CopyMenu } from "../parts/copy_menu.tsx";
import { Curve } from "../parts/curve.tsx";
import type { ForestRow } from "../parts/forest.tsx";
import { Axis, Forest, forestRowOf, Strip } from "../parts/forest.tsx";
import { REFRESH_MS } from "../parts/panel.tsx";
import { Notes, Shown } from "../parts/status.tsx";
import { DataTable } from "../parts/table.tsx";

export function ExperimentAnswer() {
  const progress = viewNamed("experiment/progress");
  const result = viewNamed("experiment/result");
  const hasBegun = stateOf(address.value, Date.now(), false) !== "to be planned";
  const asked = useAnswer<Table>(
    "experiment/progress",
    progress === undefined || !hasBegun ? undefined : questionOf(address.value, progress.parameters),
    REFRESH_MS,
  );
  const table = asked.answer.value;
  const seen = table === undefined ? undefined : progressOf(table.rows);
  const state = stateOf(address.value, Date.now(), seen?.isComplete === true);
  const isKnown = asked.answer.state !== "loading" || table !== undefined;
  return (
    <>
      {!hasBegun ? (
        <p class="state-line">
          <span class="verdict tone-unknown">to be planned</span> Roll the feature out to so many instances,
          then set since to that time.
        </p>
      ) : null}
      {state === "ended" && result !== undefined ? <Result /> : null}
      {hasBegun && (state === "running" || (state === "ended" && isKnown)) ? (
        <section class="panel" aria-labelledby="progress">
          <h2 id="progress">{state === "ended" ? "What was observed" : "How far it is"}</h2>
          {/* About as high as the jobs of a usual plan: what stands below stays where it is. */}
          <Shown {...asked} placeholder={<div class="placeholder tall" />}>
            {(known) => <Progress table={known} isRunning={state === "running"} />}
          </Shown>
        </section>
      ) : null}
      <Plan />
    </>
  );
}

function Progress({ table, isRunning }: { table: Table; isRunning: boolean }) {
  const { there, wanted } = progressOf(table.rows);
  const part = wanted > 0 ? there / wanted : 0;
  return (
    <>
      {isRunning ? (
        <p class="state-line">
          <span class="verdict tone-running">running</span> Its effect is shown when all wanted instances were
          observed, or when its time is over: looking early, and stopping when it looks good, finds changes
          that do not exist.
        </p>
      ) : null}
      <div class="progress-line">
        <p class="big-figure">{share(part)}</p>
        <div>
          <div class="meter large" role="img" aria-label={`${there} of ${wanted} instances`}>
            <span style={{ width: `${part * 100}%` }} />
          </div>
          <p class="hint">
            {there} of {plural(wanted, "instance")} of the test
          </p>
        </div>
      </div>
      <Notes notes={notesOf(table.notes, "progress").others} />
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Instances by job">
        <table class="jobs-observed">
          <caption class="unseen">Instances observed by job</caption>
          <thead>
            <tr>
              <th scope="col">job</th>
              <th scope="col" class="plot">
                <span class="unseen">part</span>
              </th>
              <th scope="col" class="number">
                with it
              </th>
              <th scope="col" class="number">
                wanted
              </th>
              <th scope="col" class="number">
                without it
              </th>
              <th scope="col" class="number weight">
                weight
              </th>
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row) => {
              const of = Number(row["wanted"] ?? 0);
              const has = Number(row["test"] ?? 0);
              return (
                <tr key={String(row["job"])}>
                  <th scope="row" class="text">
                    <span class="word">{clipped(String(row["job"] ?? ""), 60) || "(none)"}</span>
                  </th>
                  <td class="plot">
                    <span class={`meter ${has >= of ? "full" : ""}`} aria-hidden="true">
                      <span style={{ width: `${of === 0 ? 0 : Math.min(1, has / of) * 100}%` }} />
                    </span>
                  </td>
                  <td class="number">{has}</td>
                  <td class="number">{of}</td>
                  <td class="number">{Number(row["control"] ?? 0)}</td>
                  <td class="number weight">{share(Number(row["weight"] ?? 0))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}

function changeOf(row: Row): ForestRow {
  return forestRowOf(row, "change", String(row["job"] ?? "") || "(none)", true);
}

function Result() {
  const view = viewNamed("experiment/result")!;
  const question = questionOf(address.value, view.parameters);
  const asked = useAnswer<Table>(view.name, question);
  return (
    <section class="panel answer" aria-labelledby="result">
      <Shown {...asked} placeholder={<div class="placeholder tall" />}>
        {(table) => {
          const [metric, ...others] = table.rows;
          const total = changeOf(metric ?? {});
          const jobs = others.filter((row) => row["verdict"] !== "left out").map(changeOf);
          const leftOut = others.filter((row) => row["verdict"] === "left out");
          const scale = scaleOf([total, ...jobs]);
          const says = { better: "It is better.", worse: "It is worse." }[total.verdict] ?? "Cannot tell.";
          return (
            <>
              <header>
                <h2 id="result">Result</h2>
                <CopyMenu
                  view={view}
                  question={question}
                  coverage={undefined}
                  files={[
                    {
                      name: "result.csv",
                      says: "these rows, with margins",
                      make: () => new Blob([csvOf(table.columns, table.rows)], { type: "text/csv" }),
                    },
                  ]}
                />
              </header>
              <div class="decision-line">
                <p class={`big-figure tone-${total.tone}`}>
                  {total.value === undefined ? "\u2013" : change(total.value, "share")}
                  {total.half === undefined ? null : <small> {margin(total.half, "share")}</small>}
                </p>
                <div class="verdict-text">
                  <p>
                    <span class={`verdict tone-${total.tone}`}>{clipped(total.verdict, 40)}</span>{" "}
                    <b>{says}</b>{" "}
                    {total.tone === "unknown" ? (
                      <>
                        The interval contains 0&nbsp;%: a change is not shown.{" "}
                        <a {...linkTo(withParameters(address.value, { until: undefined }))}>Let it run on</a>,
                        with more instances, for a narrower margin.
                      </>
                    ) : (
                      "The whole interval is on one side of no change."
                    )}
                  </p>
                  <div class="one-strip">
                    <Strip row={total} scale={scale} isLarge />
                    <Axis scale={scale} />
                  </div>
                </div>
              </div>
              <Notes notes={notesOf(table.notes, "result").others} />
              <h3 class="of-list">Job by job</h3>
              <Forest
                caption="Change by job, with margins"
                label="job"
                value="change"
                rows={jobs}
                scale={scale}
              />
              {leftOut.length === 0 ? null : (
                <div class="left-out">
                  <h3>Left out: {plural(leftOut.length, "job")}</h3>
                  <ul>
                    {leftOut.map((row) => (
                      <li key={String(row["job"])}>
                        <b>{clipped(String(row["job"] ?? ""), 80) || "(none)"}</b>{" "}
                        <span>{clipped(String(row["reason"] ?? ""), 200)}</span>
                      </li>
                    ))}
                  </ul>
                </div>
              )}
            </>
          );
        }}
      </Shown>
    </section>
  );
}

function Plan() {
  const view = viewNamed("experiment/plan");
  const question = view === undefined ? undefined : questionOf(address.value, view.parameters);
  const plan = useAnswer<Table>("experiment/plan", question);
  const curve = useAnswer<Table>("experiment/curve", question);
  return (
    <section class="panel" aria-labelledby="plan">
      <h2 id="plan">Plan</h2>
      <p class="hint">
        By what the arm without the feature did before the test: how many instances of each job must have the
        feature.
      </p>
      <Shown {...plan} placeholder={<div class="placeholder tall" />}>
        {(table) => (
          <>
            <p class="plan-says">{clipped(notesOf(table.notes, "plan").sentence, 300)}</p>
            <div class="halves">
              <figure>
                <figcaption>What a margin costs</figcaption>
                <Shown {...curve} placeholder={<div class="placeholder" />}>
                  {(points) => <Costs table={points} plan={table} />}
                </Shown>
              </figure>
              <figure>
                <figcaption>How few jobs stand for how much</figcaption>
                <TopCoverage table={table} />
              </figure>
            </div>
            <Notes notes={notesOf(table.notes, "plan").others} />
            <DataTable
              caption="Instances to observe by job"
              columns={table.columns}
              rows={table.rows}
              view={view}
              plain={["top_coverage"]}
            />
          </>
        )}
      </Shown>
    </section>
  );
}

const countText = (value: number): string =>
  value >= 1e4 ? `${Number((value / 1e3).toPrecision(3))}\u202fk` : String(Number(value.toPrecision(3)));
const percentText = (value: number): string => `${Number((value * 100).toPrecision(2))}\u202f%`;

function Costs({ table, plan }: { table: Table; plan: Table }) {
  const instances = plan.rows.reduce((sum, row) => sum + Number(row["observe"] ?? 0), 0);
  const planned = table.rows.find((row) => row["instances"] === instances);
  const pointOf = (row: Row): [number, number] => [Number(row["cost"]), Number(row["margin"])];
  return (
    <>
      <Curve
        label={`Margin by cost: ${table.rows.map((row) => `${percentText(Number(row["margin"]))} for ${countText(Number(row["cost"]))}`).join("; ")}`}
        x={{ name: "cost: CPUs with the feature", text: countText, isLogarithmic: true }}
        y={{ name: "margin", text: percentText, isLogarithmic: true }}
        points={table.rows.map(pointOf)}
        marked={planned === undefined ? undefined : pointOf(planned)}
        markedText={plural(instances, "instance")}
      />
      <Notes notes={table.notes} />
    </>
  );
}

function TopCoverage({ table }: { table: Table }) {
  const points = table.rows.map((row, i): [number, number] => [i + 1, Number(row["top_coverage"] ?? 0)]);
  const enough = points.find(([, part]) => part >= 0.9 * (points.at(-1)?.[1] ?? 1));
  return (
    <Curve
      label={`Share of all CPU quotas of the heaviest jobs: ${points.map(([count, part]) => `${count} ${percentText(part)}`).join("; ")}`}
      x={{
        name: "jobs, the heaviest first",
        text: (value) => String(Math.round(value)),
        isLogarithmic: false,
      }}
      y={{ name: "share of all CPU quotas", text: percentText, isLogarithmic: false }}
      points={[[0, 0], ...points]}
      marked={enough}
      markedText={enough === undefined ? "" : `${plural(enough[0], "job")}: ${percentText(enough[1])}`}
    />
  );
}
