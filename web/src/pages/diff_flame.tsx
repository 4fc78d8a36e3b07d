// The stacks of one side of a diff, each box coloured by what is known of its function's total.
import { withoutRecursion } from "../flame/derived.ts";
import { useMemo } from "preact/hooks";
import type { Coverage, Row } from "../api.ts";
import { viewNamed } from "../api.ts";
import type { Address } from "../address.ts";
import { questionOf, valueOf, valuesOf, withParameters } from "../address.ts";
import type { Verdict } from "../flame/colours.ts";
import { FlameGraph } from "../flame/flame_graph.tsx";
import type { FlameAnswer } from "../flame/tree.ts";
import { treeOf } from "../flame/tree.ts";
import { plural } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { CopyMenu } from "../parts/copy_menu.tsx";
import { pictures } from "../parts/flame_files.ts";
import { FlameTools } from "../parts/flame_tools.tsx";
import { Shown } from "../parts/status.tsx";
import { address, change } from "../state.ts";
import { earlierBy } from "../times.ts";

export function verdictsOf(rows: readonly Row[], part: "self" | "total"): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const row of rows) {
    const verdict = row[`${part}_verdict`];
    verdicts.set(
      String(row["function"]),
      verdict === "more" || verdict === "less" ? verdict : verdict === "may be chance" ? "chance" : "unknown",
    );
  }
  return verdicts;
}

// Of one side: its own filters and times, or those of both.
export function sideOf(of: Address, side: "base" | "new"): Address {
  const own = (name: string): string => valueOf(of, `${side}_${name}`) || valueOf(of, name);
  const earlier = valueOf(of, "earlier");
  const isShifted = side === "base" && earlier !== "";
  return withParameters(of, {
    where: [...valuesOf(of, "where"), ...valuesOf(of, `${side}_where`)],
    since: isShifted ? earlierBy(timeOfNew(of, "since"), earlier) : own("since"),
    until: isShifted ? earlierBy(timeOfNew(of, "until"), earlier) : own("until"),
  });
}

function timeOfNew(of: Address, name: string): string {
  return valueOf(of, `new_${name}`) || valueOf(of, name);
}

const DIRECTIONS: readonly ["base" | "new", string][] = [
  ["new", "after"],
  ["base", "before"],
];

// Those of the side before show what is gone.
export function DifferentialFlame({ rows }: { rows: readonly Row[] }) {
  const flame = viewNamed("flame");
  const shownSide = address.value.sized === "base" ? "base" : "new";
  const side = sideOf(address.value, shownSide);
  const question =
    flame === undefined
      ? undefined
      : questionOf(side, flame.parameters, { limit: "100000", form: "columns", margins: "no" });
  const asked = useAnswer<FlameAnswer>("flame", question);
  const value = asked.answer.value;
  const { collapse } = address.value;
  const tree = useMemo(() => {
    const whole = value === undefined ? undefined : treeOf(value);
    return whole === undefined || !collapse ? whole : withoutRecursion(whole);
  }, [value, collapse]);
  const verdicts = useMemo(() => verdictsOf(rows, "total"), [rows]);
  return (
    <section class="differential" aria-labelledby="differential">
      <div class="panel-heading">
        <h2 id="differential">Where the changes are</h2>
        <div class="segments" role="group" aria-label="Widths are of">
          {DIRECTIONS.map(([name, text]) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === shownSide}
              onClick={() => change({ sized: name === "base" ? "base" : "", zoom: "" })}
            >
              {text}
            </button>
          ))}
        </div>
      </div>
      <p class="hint">
        {shownSide === "new"
          ? "Stacks and widths of the new side; what is gone is seen in those before."
          : "Stacks and widths of the base side; what is new is seen in those after."}{" "}
        The colour is the verdict on the function's total: {plural(verdicts.size, "function")} judged.
      </p>
      <Shown {...asked} placeholder={<div class="placeholder tall" />}>
        {(answer) =>
          tree === undefined || tree.total[0] === 0 ? (
            <p class="hint">
              The {shownSide} side has no stacks ({plural((answer.coverage as Coverage).samples, "sample")}).
            </p>
          ) : (
            <>
              <FlameTools tree={tree} showsColours={false}>
                <CopyMenu
                  view={flame!}
                  question={question!.filter(([name]) => !["form", "limit", "margins"].includes(name))}
                  coverage={undefined}
                  label="Graph as a file"
                  files={pictures(tree, verdicts)}
                />
              </FlameTools>
              <FlameGraph
                tree={tree}
                rootBelow={address.value.show === "flame"}
                label="Differential flame graph"
                zoom={address.value.zoom}
                onZoom={(zoom) => change({ zoom })}
                find={address.value.find}
                colourBy="binary"
                short={address.value.names === "short"}
                verdicts={verdicts}
              />
              <p class="flame-legend">
                <span class="sample more" aria-hidden="true" /> more
                <span class="sample less" aria-hidden="true" /> less
                <span class="sample chance" aria-hidden="true" /> may be chance
                <span class="sample unknown-change" aria-hidden="true" /> not judged: too little measured, or
                too small
              </p>
            </>
          )
        }
      </Shown>
    </section>
  );
}
