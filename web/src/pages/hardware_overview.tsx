// Hardware: each other platform against today's, by the mean over jobs.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Row, Table, ViewSpec } from "../api.ts";
import { withParameters } from "../address.ts";
import { comparedRows } from "../compared.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import type { ForestRow } from "../parts/forest.tsx";
import { Forest } from "../parts/forest.tsx";
import { address, linkTo } from "../state.ts";
import { changeOf, compareQuestion, sideWith } from "./hardware_question.ts";

interface Summary {
  row: Row; // the mean over jobs
  ratio: string; // says whether more of it is better
}

export function Overview(props: {
  view: ViewSpec;
  base: string;
  fresh: string;
  others: readonly string[];
}) {
  const { base, fresh, others } = props;
  const [known, setKnown] = useState<ReadonlyMap<string, Summary | string>>(new Map());
  const key = `${base} ${JSON.stringify([...address.value.parameters])}`;
  useEffect(() => setKnown(new Map()), [key]);
  const rows = useMemo(
    () =>
      others.map((name): ForestRow => {
        const found = known.get(name);
        const label = (
          <a
            class="word"
            {...linkTo(
              withParameters(address.value, {
                new_where: sideWith("new_where", name),
                base_where: sideWith("base_where", base),
              }),
            )}
          >
            {clipped(name, 60)}
          </a>
        );
        if (found === undefined || typeof found === "string") {
          return {
            key: name,
            label,
            value: undefined,
            low: undefined,
            high: undefined,
            half: undefined,
            verdict: found ?? "\u2026",
            tone: "unknown",
          };
        }
        return { ...changeOf(found.row, name, found.ratio), label, weight: undefined };
      }),
    [known, others.join()],
  );
  return (
    <section class="panel platforms" aria-labelledby="platforms" aria-busy={known.size < others.length}>
      <h2 id="platforms">All platforms against {clipped(base, 60)}</h2>
      {others.map((name) => (
        <OnePlatform
          key={`${key} ${name}`}
          question={compareQuestion(props.view, base, name, "1")}
          onKnown={(found) => setKnown((before) => new Map([...before, [name, found]]))}
        />
      ))}
      <Forest
        caption="Platforms, mean change over jobs"
        label="platform"
        value="change"
        rows={rows.map((row) => ({ ...row, isCurrent: row.key === fresh }))}
      />
    </section>
  );
}

function OnePlatform({
  question,
  onKnown,
}: {
  question: [string, string][];
  onKnown: (found: Summary | string) => void;
}) {
  const { answer } = useAnswer<Table>("compare", question);
  useEffect(() => {
    if (answer.state === "ready" && answer.value !== undefined) {
      const row = comparedRows(answer.value.rows).summary;
      onKnown(row === undefined ? "nothing to compare" : { row, ratio: answer.value.event });
    } else if (answer.state === "failed" && answer.error !== undefined) onKnown(answer.error.message);
  }, [answer.state, answer.value]);
  return null;
}
