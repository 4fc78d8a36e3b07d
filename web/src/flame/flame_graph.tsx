// A flame graph or icicle: drawn on one canvas as large as what is seen, operated with the pointer and the keyboard.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { clipped, margin, plural, quantity, share } from "../format.ts";
import { useNewest, useSize } from "../hooks.ts";
import { functionPage, isNamed } from "../parts/links.ts";
import { linkTo, palette } from "../state.ts";
import type { ColourBy, Verdict } from "./colours.ts";
import type { Scene } from "./draw.ts";
import { contentHeight, depthAt, Painter, ROW, topOf } from "./draw.ts";
import { neighbour } from "./layout.ts";
import type { Matches } from "./search.ts";
import { matchesOf, patternOf, UNFINISHED } from "./search.ts";
import type { Tree } from "./tree.ts";
import { Kind, nameOf, nodeAt, nodeOfKey, pathKey, size } from "./tree.ts";

const ANIMATION_MS = 160;
const KIND_TEXT: Readonly<Record<number, string>> = {
  [Kind.kernel]: "kernel",
  [Kind.jit]: "compiled at run time",
  [Kind.bpf]: "BPF program",
  [Kind.unknown]: "without a symbol",
};

export interface FlameGraphProps {
  tree: Tree;
  rootBelow: boolean;
  label: string;
  zoom: string; // pathKey; "": all
  onZoom: (key: string) => void;
  find: string;
  colourBy: ColourBy;
  short: boolean;
  verdicts?: ReadonlyMap<string, Verdict> | undefined;
  verdictTexts?: Readonly<Record<Verdict, string>>; // in place of what a change is called
  verdictName?: string;
  onSelect?: (name: string) => void;
  maxHeight?: number;
  isAutofocus?: boolean;
}

const CHANGE_TEXTS: Readonly<Record<Verdict, string>> = {
  more: "more than before",
  less: "less than before",
  chance: "may be chance",
  unknown: "cannot tell",
};

function stillness(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export function FlameGraph(props: FlameGraphProps) {
  const { tree, rootBelow, find, colourBy, short, verdicts } = props;
  const [measure, { width }] = useSize<HTMLDivElement>();
  const [selected, renderSelected] = useState(-1);
  const selectedNow = useNewest(selected);
  const [tip, setTip] = useState<{ node: number; x: number; y: number } | undefined>(undefined);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | undefined>(undefined);
  const view = useRef({ from: 0, to: 0 });
  const frame = useRef(0);
  const drawn = useRef<Tree | undefined>(undefined);

  const matches: Matches | undefined = useMemo(() => {
    const pattern = patternOf(find);
    return pattern !== undefined && "search" in pattern ? matchesOf(tree, pattern.search) : undefined;
  }, [tree, find]);
  const zoomed = useMemo(
    () => Math.max(0, props.zoom === "" ? 0 : nodeOfKey(tree, props.zoom)),
    [tree, props.zoom],
  );
  const zoomedNow = useNewest(zoomed);
  const height = contentHeight(tree);
  const shownHeight = Math.min(
    height,
    props.maxHeight ?? Math.max(240, Math.round(window.innerHeight * 0.68)),
  );

  const setSelected = (node: number): void => {
    selectedNow.current = node;
    renderSelected(node);
  };

  const scene = useRef<Scene | undefined>(undefined);
  const paint = (): void => {
    if (scene.current === undefined || canvas.current === null || width === 0) return;
    painter.current ??= new Painter(canvas.current);
    scene.current.view = { ...view.current, width };
    scene.current.top = scroller.current?.scrollTop ?? 0;
    painter.current.draw(scene.current);
    if (drawn.current !== tree) {
      drawn.current = tree;
      performance.mark("flame drawn");
    }
  };
  const repaint = (): void => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(paint);
  };

  scene.current = {
    tree,
    palette: palette.value,
    colourBy,
    view: { ...view.current, width },
    height: shownHeight,
    top: scroller.current?.scrollTop ?? 0,
    rootBelow,
    zoomed,
    matches,
    selected,
    short,
    verdicts,
  };

  // Another tree begins as a whole, and a flame at its root.
  useEffect(() => {
    const target = { from: tree.x[zoomed]!, to: tree.x[zoomed]! + tree.total[zoomed]! };
    view.current = target;
    setSelected(-1);
    setTip(undefined);
    if (scroller.current !== null) {
      const y = topOf(tree, tree.depth[zoomed]!, rootBelow);
      scroller.current.scrollTop = rootBelow ? y + 2 * ROW - shownHeight : y - ROW;
    }
    repaint();
  }, [tree, rootBelow]);

  useEffect(() => {
    const start = { ...view.current };
    const target = { from: tree.x[zoomed]!, to: tree.x[zoomed]! + tree.total[zoomed]! };
    if (start.from === target.from && start.to === target.to) return undefined;
    const scroll = scroller.current;
    const y = topOf(tree, tree.depth[zoomed]!, rootBelow);
    if (scroll !== null && (y < scroll.scrollTop || y + ROW > scroll.scrollTop + shownHeight)) {
      scroll.scrollTop = rootBelow ? y + 2 * ROW - shownHeight : y - ROW;
    }
    if (stillness() || start.to === start.from) {
      view.current = target;
      repaint();
      return undefined;
    }
    const begun = performance.now();
    let handle = 0;
    const step = (now: number): void => {
      const part = Math.min(1, (now - begun) / ANIMATION_MS);
      const eased = 1 - (1 - part) ** 3;
      view.current = {
        from: start.from + (target.from - start.from) * eased,
        to: start.to + (target.to - start.to) * eased,
      };
      paint();
      if (part < 1) handle = requestAnimationFrame(step);
    };
    handle = requestAnimationFrame(step);
    return () => cancelAnimationFrame(handle);
  }, [zoomed, tree]);

  useEffect(repaint);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);

  const nodeUnder = (event: { clientX: number; clientY: number }): number => {
    const box = canvas.current?.getBoundingClientRect();
    if (box === undefined || width === 0) return -1;
    const scale = (view.current.to - view.current.from) / width;
    const depth = depthAt(tree, event.clientY - box.top + (scroller.current?.scrollTop ?? 0), rootBelow);
    return nodeAt(tree, depth, view.current.from + (event.clientX - box.left) * scale);
  };
  const zoomTo = (node: number): void => {
    zoomedNow.current = Math.max(0, node);
    props.onZoom(node <= 0 ? "" : pathKey(tree, node));
  };
  const select = (node: number): void => {
    setSelected(node);
    if (node >= 0) props.onSelect?.(nameOf(tree, node));
    const scroll = scroller.current;
    if (node < 0 || scroll === null) return;
    const y = topOf(tree, tree.depth[node]!, rootBelow);
    if (y < scroll.scrollTop) scroll.scrollTop = y - ROW;
    else if (y + ROW > scroll.scrollTop + shownHeight) scroll.scrollTop = y + 2 * ROW - shownHeight;
  };
  const nextMatch = (step: 1 | -1): void => {
    const nodes = matches?.nodes ?? [];
    if (nodes.length === 0) return;
    const at = nodes.indexOf(selectedNow.current);
    const place = at >= 0 ? (at + step + nodes.length) % nodes.length : step === 1 ? 0 : nodes.length - 1;
    select(nodes[place]!);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const selected = selectedNow.current;
    const zoomed = zoomedNow.current;
    const at = selected < 0 ? zoomed : selected;
    const [towardsRoot, away] = rootBelow ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
    const moves: Record<string, () => void> = {
      [towardsRoot!]: () => select(neighbour(tree, at, "parent")),
      [away!]: () => select(selected < 0 ? at : neighbour(tree, at, "child")),
      ArrowLeft: () => select(neighbour(tree, at, "previous")),
      ArrowRight: () => select(neighbour(tree, at, "next")),
      Enter: () => zoomTo(at),
      " ": () => zoomTo(at),
      Backspace: () => zoomTo(zoomed === 0 ? 0 : tree.parent[zoomed]!),
      Escape: () => (selected >= 0 ? setSelected(-1) : zoomTo(0)),
      Home: () => {
        zoomTo(0);
        select(0);
      },
      n: () => nextMatch(1),
      N: () => nextMatch(-1),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    setTip(undefined);
    move();
  };

  const told = tip?.node ?? selected;
  return (
    <div class="flame" ref={measure}>
      <div
        ref={scroller}
        class="flame-scroll"
        style={{ height: `${shownHeight}px` }}
        tabIndex={0}
        role="application"
        aria-roledescription="flame graph"
        aria-label={`${props.label}. Arrow keys move, Enter zooms in, Backspace zooms out, Escape shows all, n goes to the next match. The table shows the same as text.`}
        onScroll={repaint}
        onKeyDown={onKeyDown}
        onFocus={() => selectedNow.current < 0 && tip === undefined && setSelected(zoomedNow.current)}
      >
        <div style={{ height: `${height}px` }}>
          <canvas
            ref={canvas}
            style={{ width: `${width}px`, height: `${shownHeight}px` }}
            onPointerMove={(event) => {
              const node = nodeUnder(event);
              const box = canvas.current!.getBoundingClientRect();
              setTip(
                node < 0 ? undefined : { node, x: event.clientX - box.left, y: event.clientY - box.top },
              );
            }}
            onPointerLeave={() => setTip(undefined)}
            onClick={(event) => {
              const node = nodeUnder(event);
              if (node < 0) return;
              setSelected(node);
              props.onSelect?.(nameOf(tree, node));
              zoomTo(node);
            }}
          />
        </div>
      </div>
      {tip === undefined ? null : (
        <Tip
          tree={tree}
          node={tip.node}
          x={tip.x}
          y={tip.y}
          width={width}
          height={shownHeight}
          verdicts={verdicts}
          verdictTexts={props.verdictTexts ?? CHANGE_TEXTS}
          verdictName={props.verdictName || "change"}
        />
      )}
      <p class="flame-status" role="status">
        {told >= 0 ? (
          <>
            <Told tree={tree} node={told} />
            {tip === undefined && isNamed(nameOf(tree, told)) ? (
              <>
                {" "}
                <a class="told-page" {...linkTo(functionPage(nameOf(tree, told)))}>
                  page of the function
                </a>
              </>
            ) : null}
          </>
        ) : (
          <span class="hint">
            {plural(size(tree) - 1, "node")}. Click a box to zoom in; hover or use the arrow keys for details.
          </span>
        )}
        {find !== "" && matches !== undefined ? (
          <span class="matched">
            {plural(matches.nodes.length, "match", "matches")}, {share(matches.share)} of the total
            {matches.isWhole ? "" : `. ${UNFINISHED}`}
          </span>
        ) : null}
      </p>
    </div>
  );
}

function partOf(tree: Tree, node: number): string {
  const value = tree.total[0]! > 0 ? tree.total[node]! / tree.total[0]! : 0;
  const half = tree.margins.get(node)?.margin;
  return `${share(value)}${half === null || half === undefined ? "" : ` ${margin(half, "share")}`}`;
}

function Told({ tree, node }: { tree: Tree; node: number }) {
  return (
    <span class="told">
      <span class="name">{clipped(nameOf(tree, node), 160)}</span> <b>{partOf(tree, node)}</b>{" "}
      {quantity(tree.total[node]!, tree.unit)}
    </span>
  );
}

function placeOf(tree: Tree, node: number): string {
  const file = tree.files[tree.file[node]!] ?? "";
  const line = tree.line[node]!;
  return file === "" ? "" : line === 0 ? file : `${file}:${line}`;
}

function Tip(props: {
  tree: Tree;
  node: number;
  x: number;
  y: number;
  width: number;
  height: number;
  verdicts: ReadonlyMap<string, Verdict> | undefined;
  verdictTexts: Readonly<Record<Verdict, string>>;
  verdictName: string;
}) {
  const { tree, node, x, y } = props;
  const kind = [KIND_TEXT[tree.kind[node]!], tree.inlined[node] === 1 ? "inlined" : ""]
    .filter(Boolean)
    .join(", ");
  const verdict = props.verdicts?.get(nameOf(tree, node));
  const self = tree.self[node]!;
  const facts: [string, string][] = [
    ["total", `${partOf(tree, node)} \u00b7 ${quantity(tree.total[node]!, tree.unit)}`],
    ["self", `${share(tree.total[0]! > 0 ? self / tree.total[0]! : 0)} \u00b7 ${quantity(self, tree.unit)}`],
    ["binary", tree.binaries[tree.binary[node]!] ?? ""],
    ["source", placeOf(tree, node)],
    ["kind", kind],
    [props.verdictName, verdict === undefined ? "" : props.verdictTexts[verdict]],
  ];
  const isRight = x > props.width / 2;
  const isLow = y > props.height / 2;
  return (
    <div
      class="tip"
      role="tooltip"
      style={{
        [isRight ? "right" : "left"]: `${isRight ? props.width - x + 14 : x + 14}px`,
        [isLow ? "bottom" : "top"]: `${isLow ? props.height - y + 40 : y + 14}px`,
      }}
    >
      <p class="name">{clipped(nameOf(tree, node), 400)}</p>
      <dl>
        {facts
          .filter(([, text]) => text !== "")
          .map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{clipped(text, 160)}</dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
