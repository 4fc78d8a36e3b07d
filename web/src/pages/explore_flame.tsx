// Explore as a flame graph, an icicle, or the callers and callees of one function.
import { foldedText, withoutRecursion } from "../flame/derived.ts";
import { useMemo } from "preact/hooks";
import { questionOf, valueOf } from "../address.ts";
import type { Coverage, ViewSpec } from "../api.ts";
import { FlameGraph } from "../flame/flame_graph.tsx";
import type { FlameAnswer } from "../flame/tree.ts";
import { treeOf } from "../flame/tree.ts";
import { useAnswer } from "../hooks.ts";
import { clipped, quantity } from "../format.ts";
import { CopyMenu, exports } from "../parts/copy_menu.tsx";
import { pictures } from "../parts/flame_files.ts";
import { FlameLegend, FlameTools } from "../parts/flame_tools.tsx";
import { Empty } from "../parts/no_answer.tsx";
import { CoverageLine, Notes, Shown } from "../parts/status.tsx";
import { address, change } from "../state.ts";
import { sizedEvent, useRatioColours } from "./explore_ratio.ts";
import { Sandwich } from "./sandwich.tsx";

// More cannot be told apart on any screen; what is cut is said in a note.
const MAX_NODES = "100000";

export function FlameAnswerPart({ view }: { view: ViewSpec }) {
  const question = questionOf(address.value, view.parameters, {
    limit: valueOf(address.value, "limit") || MAX_NODES,
    form: "columns",
    event: sizedEvent(),
  });
  const ratio = useRatioColours();
  const shared = question.filter(([name]) => name !== "form" && name !== "limit");
  const { answer, again, cancel } = useAnswer<FlameAnswer>(view.name, question);
  const { show, collapse } = address.value;
  const value = answer.value;
  const whole = useMemo(() => {
    if (value === undefined) return undefined;
    performance.mark("flame data");
    return treeOf(value);
  }, [value]);
  const tree = useMemo(
    () => (whole === undefined || !collapse ? whole : withoutRecursion(whole)),
    [whole, collapse],
  );
  return (
    <section class="panel answer" aria-label="Answer">
      <Shown answer={answer} again={again} cancel={cancel} placeholder={<div class="placeholder tall" />}>
        {(flame) => (
          <>
            <header>
              <CoverageLine coverage={flame.coverage as Coverage} event={flame.event} />
              <CopyMenu
                view={view}
                question={shared}
                coverage={flame.coverage as Coverage}
                files={[
                  {
                    name: "stacks.folded",
                    says: "for flame graph tools",
                    make: () => new Blob([foldedText(whole!)], { type: "text/plain" }),
                  },
                  ...pictures(tree!, ratio.verdicts),
                  ...exports(shared),
                ]}
              />
            </header>
            <Notes
              notes={flame.notes.filter(
                (note) => !note.startsWith("no results") && !note.startsWith("margins are for"),
              )}
            />
            {tree === undefined || tree.total[0] === 0 ? (
              <Empty coverage={flame.coverage as Coverage} notes={flame.notes} />
            ) : show === "sandwich" ? (
              <Sandwich tree={tree} />
            ) : (
              <>
                {ratio.events.length > 1 ? <SizedBy events={ratio.events} shown={flame.event} /> : null}
                <FlameTools tree={tree} ratios={ratio.ratios} />
                <FlameGraph
                  tree={tree}
                  rootBelow={show === "flame"}
                  label={show === "flame" ? "Flame graph" : "Icicle"}
                  zoom={address.value.zoom}
                  onZoom={(zoom) => change({ zoom })}
                  find={address.value.find}
                  colourBy={address.value.colour === "function" ? "function" : "binary"}
                  short={address.value.names === "short"}
                  verdicts={ratio.verdicts}
                  verdictTexts={RATIO_TEXTS}
                  verdictName={ratio.chosen}
                />
                {ratio.verdicts === undefined ? (
                  <FlameLegend />
                ) : (
                  <RatioLegend ratio={ratio.chosen} overall={ratio.overall} />
                )}
              </>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

const RATIO_TEXTS = {
  more: "higher than of all",
  less: "lower than of all",
  chance: "may be that of all",
  unknown: "cannot tell",
} as const;

function SizedBy({ events, shown }: { events: readonly string[]; shown: string }) {
  return (
    <div class="segments sized" role="group" aria-label="Widths are of">
      {events.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === shown}
          onClick={() => change({ sized: name === events[0] ? "" : name })}
        >
          {clipped(name, 40)}
        </button>
      ))}
    </div>
  );
}

function RatioLegend({ ratio, overall }: { ratio: string; overall: number | undefined }) {
  return (
    <p class="flame-legend">
      {clipped(ratio, 60)} of the function itself, against{" "}
      {overall === undefined ? "that of all" : `${quantity(overall, "")} of all`}:
      <span class="sample more" aria-hidden="true" /> higher
      <span class="sample less" aria-hidden="true" /> lower
      <span class="sample chance" aria-hidden="true" /> may be the same
      <span class="sample unknown-change" aria-hidden="true" /> not judged: too little measured, or too small
    </p>
  );
}
