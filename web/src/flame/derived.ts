// Trees made of another, and stacks as text. Pure.
import type { Tree } from "./tree.ts";
import { finished, size } from "./tree.ts";

interface Draft {
  name: number;
  of: number; // a node of the original that it looks like
  self: number;
  total: number;
  children: Map<number, Draft>;
  best: number; // the largest total among those merged
}

function draft(name: number, of: number): Draft {
  return { name, of, self: 0, total: 0, children: new Map(), best: -1 };
}

function grown(tree: Tree, root: Draft): Tree {
  const order: Draft[] = [];
  const depths: number[] = [];
  const pending: [Draft, number][] = [[root, 0]];
  while (pending.length > 0) {
    const [node, depth] = pending.pop()!;
    order.push(node);
    depths.push(depth);
    const children = [...node.children.values()].sort(
      (a, b) => a.total - b.total || (tree.names[a.name]! < tree.names[b.name]! ? 1 : -1),
    );
    for (const child of children) pending.push([child, depth + 1]);
  }
  const numbers = (use: (node: Draft) => number): Uint32Array => Uint32Array.from(order, use);
  return finished(
    tree,
    {
      name: numbers((node) => node.name),
      depth: Uint32Array.from(depths),
      self: Float64Array.from(order, (node) => node.self),
      total: Float64Array.from(order, (node) => node.total),
      kind: Uint8Array.from(order, (node) => tree.kind[node.of]!),
      inlined: Uint8Array.from(order, (node) => tree.inlined[node.of]!),
      binary: numbers((node) => tree.binary[node.of]!),
      file: numbers((node) => tree.file[node.of]!),
      line: numbers((node) => tree.line[node.of]!),
    },
    new Map(),
  );
}

function childOf(parent: Draft, name: number, of: number, total: number): Draft {
  let child = parent.children.get(name);
  if (child === undefined) parent.children.set(name, (child = draft(name, of)));
  if (total > child.best) {
    child.best = total;
    child.of = of;
  }
  return child;
}

// A function that calls itself is one node, however often.
export function withoutRecursion(tree: Tree): Tree {
  const made = new Array<Draft>(size(tree));
  const root = draft(tree.name[0]!, 0);
  root.self = tree.self[0]!;
  root.total = tree.total[0]!;
  made[0] = root;
  for (let node = 1; node < size(tree); ++node) {
    const parent = made[tree.parent[node]!]!;
    const name = tree.name[node]!;
    const isSame = parent !== root && parent.name === name;
    const target = isSame ? parent : childOf(parent, name, node, tree.total[node]!);
    target.self += tree.self[node]!;
    if (!isSame) target.total += tree.total[node]!;
    made[node] = target;
  }
  return grown(tree, root);
}

export interface Sandwich {
  callers: Tree; // the function, its callers below it, and theirs
  callees: Tree; // the function and what it calls
}

// All stacks through a function, from its outermost frame on. Absent: no node has the name.
export function sandwich(tree: Tree, name: number): Sandwich | undefined {
  const callers = draft(name, -1);
  const callees = draft(name, -1);
  for (let node = 1; node < size(tree);) {
    if (tree.name[node] !== name) {
      ++node;
      continue;
    }
    const total = tree.total[node]!;
    for (const root of [callers, callees]) {
      root.total += total;
      if (total > root.best) {
        root.best = total;
        root.of = node;
      }
    }
    let at = callers;
    for (let up = tree.parent[node]!; up > 0; up = tree.parent[up]!) {
      at = childOf(at, tree.name[up]!, up, total);
      at.total += total;
    }
    at.self += total;
    const end = tree.end[node]!;
    callees.self += tree.self[node]!;
    const made = new Map<number, Draft>([[node, callees]]);
    for (let below = node + 1; below < end; ++below) {
      const parent = made.get(tree.parent[below]!)!;
      const child = childOf(parent, tree.name[below]!, below, tree.total[below]!);
      child.self += tree.self[below]!;
      child.total += tree.total[below]!;
      made.set(below, child);
    }
    node = end; // frames of the same function below it are in it
  }
  return callers.of < 0 ? undefined : { callers: grown(tree, callers), callees: grown(tree, callees) };
}

// "main;parse;lex 12", as other tools read it: ';' in a name becomes ':'.
export function foldedText(tree: Tree): string {
  const lines: string[] = [];
  const names = tree.names.map((name) => name.replaceAll(";", ":").replace(/[\u0000-\u001f\u007f]/g, " "));
  const path: string[] = [];
  for (let node = 1; node < size(tree); ++node) {
    path.length = tree.depth[node]! - 1;
    path.push(names[tree.name[node]!]!);
    const value = Math.round(tree.self[node]!);
    if (value > 0) lines.push(`${path.join(";")} ${value}`);
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
