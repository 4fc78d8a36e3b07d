// Experiments (WSMeter): which there are, what one takes, how far it is, and, once it has ended, what came out.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Question, ViewSpec } from "../api.ts";
import { viewNamed } from "../api.ts";
import type { Address } from "../address.ts";
import { formatAddress, questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import { definedBy, experimentFile, FEATURE, NAME, parseExperimentFile } from "../experiment.ts";
import { clipped } from "../format.ts";
import type { Parameter } from "../share.ts";
import { address, go, linkTo } from "../state.ts";
import { save } from "../parts/copy_menu.tsx";
import { ExperimentAnswer } from "./experiment_answer.tsx";
import { KeptDefinition, KeptList } from "./kept_experiments.tsx";
import "../styles/decisions.css";
import "../styles/experiments.css";

function isDefined(): boolean {
  return valuesOf(address.value, "control").length > 0 && valuesOf(address.value, "test").length > 0;
}

export function questionOfExperiment(view: ViewSpec): Question {
  return questionOf(address.value, view.parameters);
}

export function Experiments() {
  const result = viewNamed("experiment/result");
  if (result === undefined) return null;
  return isDefined() ? <One view={result} /> : <List view={result} />;
}

function nameOf(of: Address): string {
  return valueOf(of, NAME) || `${valuesOf(of, "control").join(" ")} \u2192 ${valuesOf(of, "test").join(" ")}`;
}

const EMPTY = { page: "experiments", sort: "", find: "", zoom: "" } as const;

function List({ view }: { view: ViewSpec }) {
  const [wrong, setWrong] = useState("");
  const file = useRef<HTMLInputElement>(null);
  const open = (text: string): void => {
    const read = parseExperimentFile(text);
    if (read === undefined)
      setWrong("This is no definition of an experiment: it has no [arms] with control and test.");
    else go(withParameters({ ...address.value, ...EMPTY, parameters: new Map() }, read));
  };
  return (
    <>
      <h1>Experiments</h1>
      <p class="hint wide-hint">
        Is a feature worth it? Some instances get it, others do not, both are measured at the same time, and
        the result is one number for the fleet. An experiment is its definition: on the server for all its
        users, in a link, or in a file kept with the feature's source.
      </p>
      <div class="halves experiments">
        <section class="panel" aria-labelledby="list">
          <div class="panel-heading">
            <h2 id="list">Defined on the server</h2>
            <button type="button" onClick={() => file.current?.click()}>
              Open a file
            </button>
            <input
              ref={file}
              type="file"
              accept=".toml,text/plain"
              hidden
              aria-label="Definition of an experiment"
              onChange={(event) => {
                const [chosen] = event.currentTarget.files ?? [];
                event.currentTarget.value = "";
                if (chosen !== undefined) void chosen.text().then(open);
              }}
            />
          </div>
          {wrong === "" ? null : (
            <p class="wrong" role="alert">
              {wrong}
            </p>
          )}
          <KeptList />
        </section>
        <section class="panel" aria-labelledby="define">
          <h2 id="define">Define one</h2>
          <Definition view={view} />
        </section>
      </div>
    </>
  );
}

// Those of the page: what people call it.
const TITLES: readonly Parameter[] = [
  [NAME, "What people call it"],
  [FEATURE, "The feature, in a sentence"],
].map(([name, help]) => ({
  name: name!,
  kind: "text",
  flag: "",
  placeholder: "",
  help: help!,
  default: "",
  repeatable: false,
  positional: false,
  choices: [],
}));
const FIRST = ["control", "test", "where", "margin", "since", "until"];

// All parameters of the experiment's views; those that matter first.
function Definition({ view }: { view: ViewSpec }) {
  const all = definedBy([view, viewNamed("experiment/plan")]).sort((a, b) => {
    const place = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
    return place(a.name) - place(b.name);
  });
  const first = all.filter(({ name }) => FIRST.includes(name));
  const others = all.filter(({ name }) => !FIRST.includes(name));
  const [missing, setMissing] = useState("");
  return (
    <form
      class="parameters definition"
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget);
        const changes: Record<string, string[]> = {};
        for (const { name, repeatable } of [...TITLES, ...all]) {
          const text = String(given.get(name) ?? "").trim();
          changes[name] = repeatable ? text.split("\n").map((line) => line.trim()) : [text];
        }
        const lacks = ["control", "test"].find((name) => (changes[name] ?? []).join("") === "");
        if (lacks === undefined) go(withParameters({ ...address.value, ...EMPTY }, changes));
        else
          setMissing(
            `Give a filter for the ${lacks} arm, such as revision=${lacks === "control" ? 41 : 42}.`,
          );
      }}
    >
      {[...TITLES, ...first].map((parameter) => (
        <DefinitionField key={parameter.name} parameter={parameter} />
      ))}
      <details class="more-fields">
        <summary>More</summary>
        <div class="parameters">
          {others.map((parameter) => (
            <DefinitionField key={parameter.name} parameter={parameter} />
          ))}
        </div>
      </details>
      {missing === "" ? null : (
        <p class="wrong" role="alert">
          {missing}
        </p>
      )}
      <button type="submit" class="primary">
        Show the plan
      </button>
    </form>
  );
}

function DefinitionField({ parameter }: { parameter: Parameter }) {
  const values = valuesOf(address.value, parameter.name);
  return (
    <label class="field">
      <span>{parameter.name.replaceAll("_", " ")}</span>
      {parameter.repeatable ? (
        <textarea
          name={parameter.name}
          rows={1}
          spellcheck={false}
          placeholder={`${parameter.placeholder}, one a line`}
          defaultValue={values.join("\n")}
        />
      ) : (
        <input
          name={parameter.name}
          type="text"
          spellcheck={false}
          placeholder={parameter.default || parameter.placeholder}
          defaultValue={values[0] ?? ""}
        />
      )}
      <small>{parameter.help}</small>
    </label>
  );
}

function One({ view }: { view: ViewSpec }) {
  const name = nameOf(address.value);
  const [isEdited, setEdited] = useState(false);
  const link = formatAddress(address.value);
  useEffect(() => setEdited(false), [link]);
  const feature = valueOf(address.value, FEATURE);
  return (
    <>
      <header class="experiment-head">
        <div>
          <p class="back">
            <a {...linkTo({ ...address.value, ...EMPTY, parameters: new Map() })}>All experiments</a>
          </p>
          <h1>{clipped(name, 120)}</h1>
          {feature === "" ? null : <p>{clipped(feature, 300)}</p>}
        </div>
        <div class="actions">
          <button type="button" aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>
            Change
          </button>
          <button
            type="button"
            onClick={() =>
              void save(
                `${(valueOf(address.value, NAME) || "experiment").replace(/[^A-Za-z0-9_.-]+/g, "-")}.toml`,
                new Blob([experimentFile(address.value)], { type: "text/plain" }),
              )
            }
          >
            Download the file
          </button>
        </div>
      </header>
      <Arms />
      <KeptDefinition key={`kept ${link}`} taken={definedBy([view, viewNamed("experiment/plan")])} />
      {isEdited ? (
        <section class="panel" aria-label="Definition">
          <Definition view={view} />
        </section>
      ) : null}
      {/* Of another definition nothing is shown of this one: neither how far it is nor its effect. */}
      <ExperimentAnswer key={link} />
    </>
  );
}

function Arms() {
  const arm = (name: string, says: string) => (
    <div class={`arm ${name}`}>
      <dt>{says}</dt>
      <dd>
        {valuesOf(address.value, name).map((filter) => (
          <code key={filter}>{clipped(filter, 120)}</code>
        ))}
      </dd>
    </div>
  );
  const text = (name: string): string => valueOf(address.value, name);
  return (
    <dl class="arms">
      {arm("control", "without it")}
      {arm("test", "with it")}
      {valuesOf(address.value, "where").length === 0 ? null : arm("where", "both")}
      <div class="arm">
        <dt>time</dt>
        <dd>
          {text("since") === "" ? "not begun" : `since ${clipped(text("since"), 40)}`}
          {text("until") === "" ? "" : ` until ${clipped(text("until"), 40)}`}
        </dd>
      </div>
    </dl>
  );
}
