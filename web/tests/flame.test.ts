import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, DARK, fillOf, LIGHT } from "../src/flame/colours.ts";
import type { Picture } from "../src/flame/svg.ts";
import { svgOf } from "../src/flame/svg.ts";
import { boxesOf, fitted, matchSpans, neighbour } from "../src/flame/layout.ts";
import { searchOf } from "../src/flame/pattern.ts";
import { matchesOf, patternOf } from "../src/flame/search.ts";
import type { FlameAnswer, Tree } from "../src/flame/tree.ts";
import { Kind, nameOf, nodeAt, nodeOfKey, pathKey, pathTo, rows, size, treeOf } from "../src/flame/tree.ts";
import { foldedText, sandwich, withoutRecursion } from "../src/flame/derived.ts";

// Of folded stacks, as the server would answer: children largest first.
function answerOf(stacks: Readonly<Record<string, number>>): FlameAnswer {
  interface Node {
    name: string;
    self: number;
    total: number;
    children: Map<string, Node>;
  }
  const make = (name: string): Node => ({ name, self: 0, total: 0, children: new Map() });
  const root = make("all");
  for (const [stack, hits] of Object.entries(stacks)) {
    let at = root;
    at.total += hits;
    for (const name of stack.split(";")) {
      let next = at.children.get(name);
      if (next === undefined) at.children.set(name, (next = make(name)));
      next.total += hits;
      at = next;
    }
    at.self += hits;
  }
  const names: string[] = [];
  const nodes: FlameAnswer["nodes"] = {
    name: [],
    depth: [],
    self: [],
    total: [],
    kind: [],
    inlined: [],
    binary: [],
    file: [],
    line: [],
  };
  const pending: [Node, number][] = [[root, 0]];
  while (pending.length > 0) {
    const [node, depth] = pending.pop()!;
    if (!names.includes(node.name)) names.push(node.name);
    nodes.name.push(names.indexOf(node.name));
    nodes.depth.push(depth);
    nodes.self.push(node.self);
    nodes.total.push(node.total);
    for (const list of [nodes.kind, nodes.inlined, nodes.binary, nodes.file, nodes.line]) list.push(0);
    const children = [...node.children.values()].sort(
      (a, b) => a.total - b.total || (a.name < b.name ? 1 : -1),
    );
    for (const child of children) pending.push([child, depth + 1]);
  }
  return {
    event: "cycles",
    unit: "count",
    notes: [],
    coverage: {},
    names,
    binaries: ["app"],
    files: [""],
    kinds: ["native", "kernel", "jit", "bpf", "unknown"],
    nodes,
    margins: { node: [1], margin: [0.01], low: [0.1], high: [0.2], kind: ["between machines"] },
  };
}

const treeFrom = (stacks: Readonly<Record<string, number>>): Tree => treeOf(answerOf(stacks));

// "main 0+7 self 1": name, x, total, self; indented by depth.
function picture(tree: Tree): string[] {
  return Array.from(
    { length: size(tree) },
    (_, node) =>
      `${" ".repeat(tree.depth[node]!)}${nameOf(tree, node)} ${tree.x[node]}+${tree.total[node]} self ${tree.self[node]}`,
  );
}

const SMALL = { "main;parse;lex": 4, "main;parse": 2, "main;write": 3, idle: 1 };

test("children lie in their parent, the largest first, and what is its own at the end", () => {
  assert.deepEqual(picture(treeFrom(SMALL)), [
    "all 0+10 self 0",
    " main 0+9 self 0",
    "  parse 0+6 self 2",
    "   lex 0+4 self 4",
    "  write 6+3 self 3",
    " idle 9+1 self 1",
  ]);
});

test("subtrees are ranges, and rows are in the order of x", () => {
  const tree = treeFrom(SMALL);
  assert.equal(rows(tree), 4);
  assert.deepEqual([...tree.end], [6, 5, 4, 4, 5, 6]);
  assert.deepEqual([...tree.parent], [-1, 0, 1, 2, 1, 0]);
  assert.deepEqual(
    [...tree.row.slice(tree.rowStart[2], tree.rowStart[3])].map((node) => nameOf(tree, node)),
    ["parse", "write"],
  );
  assert.equal(tree.margins.get(1)?.margin, 0.01);
});

test("the node below the pointer", () => {
  const tree = treeFrom(SMALL);
  assert.equal(nameOf(tree, nodeAt(tree, 2, 5.9)), "parse");
  assert.equal(nameOf(tree, nodeAt(tree, 2, 6)), "write");
  assert.equal(nodeAt(tree, 3, 5), -1);
  assert.equal(nodeAt(tree, 9, 1), -1);
});

test("a path's key means the same node after a refresh, and none where it is gone", () => {
  const before = treeFrom(SMALL);
  const after = treeFrom({ ...SMALL, "main;write": 30, "other;parse": 2 });
  const key = pathKey(before, 3);
  assert.deepEqual(
    pathTo(after, nodeOfKey(after, key)).map((node) => nameOf(after, node)),
    ["all", "main", "parse", "lex"],
  );
  assert.equal(nodeOfKey(treeFrom({ "other;parse;lex": 1 }), key), -1);
  for (const wrong of ["", "x", "99-a", "-1-a", "3-"]) assert.equal(nodeOfKey(before, wrong), -1);
});

test("every pixel of a row is drawn once, whatever it holds", () => {
  const stacks: Record<string, number> = {};
  for (let i = 0; i < 20_000; ++i) stacks[`main;f${i}`] = 1 + (i % 7);
  stacks["main;large"] = 40_000;
  const tree = treeFrom(stacks);
  const view = { from: 0, to: tree.total[0]!, width: 1000 };
  const boxes = boxesOf(tree, 2, view, undefined);
  assert.ok(boxes.length <= 2000, `${boxes.length} boxes`);
  let right = 0;
  for (const box of boxes) {
    assert.ok(box.x >= right - 1.01, `a box at ${box.x} begins before ${right}`);
    right = box.x + box.width;
  }
  assert.ok(Math.abs(right - 1000) < 2, `the row ends at ${right}`);
  assert.equal(boxes.filter((box) => !box.isRun).length, 1);
});

test("a view of a part shows that part alone, clipped", () => {
  const tree = treeFrom(SMALL);
  const boxes = boxesOf(tree, 1, { from: 6, to: 10, width: 400 }, undefined);
  assert.deepEqual(
    boxes.map(({ node, x, width }) => [nameOf(tree, node), x, width]),
    [
      ["main", 0, 300],
      ["idle", 300, 100],
    ],
  );
  assert.deepEqual(boxesOf(tree, 9, { from: 0, to: 10, width: 400 }, undefined), []);
  assert.deepEqual(boxesOf(tree, 1, { from: 0, to: 0, width: 0 }, undefined), []);
});

test("a match counts the time with it anywhere on the stack, once", () => {
  const tree = treeFrom({ "a;b;a": 3, "c;a": 2, d: 5 });
  const matches = matchesOf(tree, searchOf("^a$", ""));
  assert.equal(matches.share, 0.5);
  assert.equal(matches.nodes.length, 3);
});

test("a search ignores case unless it has a capital, and says what is wrong", () => {
  const found = (text: string, name: string): boolean => {
    const pattern = patternOf(text);
    return pattern !== undefined && "search" in pattern && pattern.search([name]).isMatch[0]!;
  };
  assert.ok(found("memcpy", "MEMCPY"));
  assert.ok(!found("Memcpy", "memcpy"));
  assert.ok(found("a|b$", "xb"));
  assert.equal(patternOf(""), undefined);
  assert.ok("error" in patternOf("(")!);
});

test("narrow matches are seen: in their run and in the strip", () => {
  const stacks: Record<string, number> = { "main;needle": 1 };
  for (let i = 0; i < 5000; ++i) stacks[`main;f${i}`] = 2;
  const tree = treeFrom(stacks);
  const matches = matchesOf(tree, searchOf("needle", ""));
  const view = { from: 0, to: tree.total[0]!, width: 800 };
  assert.equal(boxesOf(tree, 2, view, matches).filter((box) => box.isMatch).length, 1);
  const spans = matchSpans(tree, matches, view, 2);
  assert.equal(spans.length, 1);
  assert.ok(spans[0]![1] - spans[0]![0] >= 0.9);
});

test("labels fit, or are left out", () => {
  const widthOf = (text: string): number => text.length * 7;
  assert.equal(fitted("parse", 100, widthOf), "parse");
  assert.equal(fitted("a_long_name", 50, widthOf), "a_long\u2026");
  assert.equal(fitted("parse", 10, widthOf), "");
  assert.ok(widthOf(fitted("x".repeat(100_000), 300, widthOf)) <= 300);
});

test("arrow keys lead to neighbours and end at the edge", () => {
  const tree = treeFrom(SMALL);
  const name = (node: number): string => nameOf(tree, node);
  assert.equal(name(neighbour(tree, 2, "child")), "lex");
  assert.equal(name(neighbour(tree, 2, "next")), "write");
  assert.equal(name(neighbour(tree, 4, "next")), "write");
  assert.equal(name(neighbour(tree, 4, "previous")), "parse");
  assert.equal(name(neighbour(tree, 3, "child")), "lex");
  assert.equal(name(neighbour(tree, 0, "parent")), "all");
});

test("recursion collapses into one node with all that is in it", () => {
  const tree = withoutRecursion(treeFrom({ "main;f;f;g": 3, "main;f;f;f": 2, "main;f;h": 1 }));
  assert.deepEqual(picture(tree), [
    "all 0+6 self 0",
    " main 0+6 self 0",
    "  f 0+6 self 2",
    "   g 0+3 self 3",
    "   h 3+1 self 1",
  ]);
});

test("a sandwich has all callers above and all callees below, recursion once", () => {
  const tree = treeFrom({ "main;a;f;x": 3, "main;b;f;y": 2, "main;f;f;x": 1, other: 4 });
  const halves = sandwich(tree, tree.names.indexOf("f"))!;
  assert.deepEqual(picture(halves.callees), [
    "f 0+6 self 0",
    " x 0+3 self 3",
    " y 3+2 self 2",
    " f 5+1 self 0",
    "  x 5+1 self 1",
  ]);
  assert.deepEqual(picture(halves.callers), [
    "f 0+6 self 0",
    " a 0+3 self 0",
    "  main 0+3 self 3",
    " b 3+2 self 0",
    "  main 3+2 self 2",
    " main 5+1 self 1",
  ]);
  assert.equal(sandwich(tree, 99), undefined);
});

test("folded stacks are those of the server", () => {
  assert.equal(foldedText(treeFrom(SMALL)), "main;parse 2\nmain;parse;lex 4\nmain;write 3\nidle 1\n");
});

test("a picture shows the stacks at their places, and hostile names as text", () => {
  const tree = treeFrom({ 'main;<b onload="x">&amp@1@': 3, "main;write": 1 });
  const picture = (rootBelow: boolean): string =>
    svgOf({
      tree,
      palette: LIGHT,
      colourBy: "function",
      rootBelow,
      short: false,
      from: 0,
      to: tree.total[0]!,
      width: 400,
    });
  const text = picture(false);
  assert.ok(text.includes("&#60;b onload=&#34;x&#34;&#62;&#38;amp@1@"), text);
  assert.ok(!text.includes("<b"));
  assert.match(text, /<rect x="300.0" y="36"/);
  assert.match(picture(true), /<rect x="300.0" y="0"/);
});

test("a picture has the marks of the graph: verdicts, matches, kernel code and inlined functions", () => {
  const tree = treeFrom({ "main;grown": 3, "main;rest": 2, "main;tiny": 1 });
  const nodeNamed = (wanted: string): number => tree.name.findIndex((name) => tree.names[name] === wanted);
  tree.kind[nodeNamed("rest")] = Kind.kernel;
  tree.inlined[nodeNamed("tiny")] = 1;
  const picture = (more: Partial<Picture>): string =>
    svgOf({
      tree,
      palette: LIGHT,
      colourBy: "function",
      rootBelow: false,
      short: false,
      from: 0,
      to: tree.total[0]!,
      width: 400,
      ...more,
    });
  const boxOf = (text: string, name: string): string =>
    new RegExp(`<g><title>${name}:[^]*?</g>`).exec(text)?.[0] ?? "";
  const usual = picture({});
  assert.match(boxOf(usual, "rest"), /fill="url\(#hatch-0\)"/);
  assert.match(usual, new RegExp(`<pattern id="hatch-0"[^]*fill="${LIGHT.kernel}"`));
  assert.match(boxOf(usual, "tiny"), /stroke-dasharray/);
  const judged = picture({ verdicts: new Map([["grown", "more"], ["rest", "less"]]) });
  assert.ok(boxOf(judged, "grown").includes(`fill="${LIGHT.more}"`));
  assert.ok(boxOf(judged, "rest").includes(`fill="${LIGHT.less}"`));
  assert.match(boxOf(judged, "tiny"), /fill="url\(#hatch-0\)"/, "not judged");
  const pattern = patternOf("grown");
  assert.ok(pattern !== undefined && "search" in pattern);
  const searched = picture({ matches: matchesOf(tree, pattern.search) });
  assert.ok(boxOf(searched, "grown").includes(`fill="${LIGHT.match}"`));
  assert.ok(boxOf(searched, "rest").includes(`fill="${LIGHT.faded}"`));
});

test("stacks of any depth need no deep recursion", () => {
  const tree = treeFrom({ [Array.from({ length: 20_000 }, (_, i) => `f${i % 3}`).join(";")]: 1 });
  assert.equal(rows(tree), 20_001);
  assert.equal(nodeOfKey(tree, pathKey(tree, 20_000)), 20_000);
  assert.equal(size(withoutRecursion(tree)), 20_001);
  assert.equal(rows(sandwich(tree, tree.names.indexOf("f1"))!.callees), 20_000 - 1);
});

test("text on every box has a contrast of at least 4.5", () => {
  for (const palette of [LIGHT, DARK]) {
    for (const fill of [
      ...palette.fills,
      palette.kernel,
      palette.unknown,
      palette.root,
      palette.more,
      palette.less,
      palette.chance,
    ]) {
      assert.ok(contrast(fill, palette.text) >= 4.5, `${fill}: ${contrast(fill, palette.text)}`);
    }
    assert.ok(contrast(palette.match, palette.matchText) >= 4.5);
    assert.ok(contrast(palette.faded, palette.fadedText) >= 4.0);
    assert.equal(fillOf(palette, "libz.so.1"), fillOf(palette, "libz.so.1"));
  }
});
