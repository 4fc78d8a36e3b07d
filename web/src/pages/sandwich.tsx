// The callers and callees of one function, from a tree of all stacks.
import { sandwich } from "../flame/derived.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { FlameGraph } from "../flame/flame_graph.tsx";
import { patternOf, UNFINISHED } from "../flame/search.ts";
import type { Tree } from "../flame/tree.ts";
import { clipped } from "../format.ts";
import { FlameLegend, FlameTools } from "../parts/flame_tools.tsx";
import { address } from "../state.ts";

export function Sandwich({ tree }: { tree: Tree }) {
  const { find } = address.value;
  const [zooms, setZooms] = useState({ callers: "", callees: "" });
  const pattern = useMemo(() => patternOf(find), [find]);
  const { chosen, isWhole } = useMemo(() => {
    if (pattern === undefined || !("search" in pattern)) return { chosen: -1, isWhole: true };
    const { isMatch, isWhole } = pattern.search(tree.names);
    let best = -1;
    for (let node = 1; node < tree.name.length; ++node) {
      if ((best < 0 || tree.total[node]! > tree.total[best]!) && isMatch[tree.name[node]!]) best = node;
    }
    return { chosen: best < 0 ? -1 : tree.name[best]!, isWhole };
  }, [tree, pattern]);
  const halves = useMemo(() => (chosen < 0 ? undefined : sandwich(tree, chosen)), [tree, chosen]);
  useEffect(() => setZooms({ callers: "", callees: "" }), [halves]);
  const part = (name: "callers" | "callees", half: Tree, says: string) => (
    <section aria-label={says}>
      <h2>{says}</h2>
      <FlameGraph
        tree={half}
        rootBelow={name === "callers"}
        label={says}
        zoom={zooms[name]}
        onZoom={(zoom) => setZooms({ ...zooms, [name]: zoom })}
        find=""
        colourBy={address.value.colour === "function" ? "function" : "binary"}
        short={address.value.names === "short"}
        maxHeight={Math.max(200, Math.round(window.innerHeight * 0.34))}
      />
    </section>
  );
  return (
    <>
      <FlameTools tree={tree} />
      {isWhole ? null : <p class="hint">{UNFINISHED}</p>}
      {halves === undefined ? (
        <div class="message empty">
          <strong>{find === "" ? "Which function?" : "No function matches."}</strong>
          <p>Type a part of its name into the search. Of several, the one with the largest total is shown.</p>
        </div>
      ) : (
        <>
          <p class="sandwich-name">
            <span class="name">{clipped(tree.names[chosen]!, 300)}</span>
          </p>
          {part("callers", halves.callers, "Callers")}
          {part("callees", halves.callees, "Callees")}
          <FlameLegend />
        </>
      )}
    </>
  );
}
