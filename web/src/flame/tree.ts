// The tree of a flame graph as flat arrays. Pure.
//
// Nodes stand in preorder, and children largest first: those of a row are in the order of their x, and a subtree is a range.

export enum Kind {
  native = 0,
  kernel = 1,
  jit = 2,
  bpf = 3,
  unknown = 4, // without a symbol, or without a stack
}

export interface Margin {
  margin: number | null;
  low: number | null;
  high: number | null;
  kind: string;
}

export interface Tree {
  event: string;
  unit: string;
  names: readonly string[];
  binaries: readonly string[];
  files: readonly string[];
  // By node.
  name: Uint32Array;
  depth: Uint32Array;
  self: Float64Array;
  total: Float64Array;
  kind: Uint8Array;
  inlined: Uint8Array;
  binary: Uint32Array;
  file: Uint32Array;
  line: Uint32Array;
  parent: Int32Array; // of the root: -1
  end: Uint32Array; // one past the last node of its subtree
  x: Float64Array; // where it begins, in the unit of its total
  // The nodes of each row: those of row d are row[rowStart[d]] to row[rowStart[d + 1] - 1].
  rowStart: Uint32Array;
  row: Uint32Array;
  place: Uint32Array; // of a node in `row`
  margins: ReadonlyMap<number, Margin>;
}

export interface FlameAnswer {
  event: string;
  unit: string;
  notes: string[];
  coverage: unknown;
  names: string[];
  binaries: string[];
  files: string[];
  kinds: string[];
  nodes: {
    name: number[];
    depth: number[];
    self: number[];
    total: number[];
    kind: number[];
    inlined: number[];
    binary: number[];
    file: number[];
    line: number[];
  };
  margins: {
    node: number[];
    margin: (number | null)[];
    low: (number | null)[];
    high: (number | null)[];
    kind: string[];
  };
}

type Columns = Pick<
  Tree,
  "name" | "depth" | "self" | "total" | "kind" | "inlined" | "binary" | "file" | "line"
>;
type Texts = Pick<Tree, "event" | "unit" | "names" | "binaries" | "files">;

// What follows from the depths and totals.
export function finished(texts: Texts, columns: Columns, margins: ReadonlyMap<number, Margin>): Tree {
  const count = columns.name.length;
  const parent = new Int32Array(count).fill(-1);
  const end = new Uint32Array(count).fill(count);
  const x = new Float64Array(count);
  let rows = 0;
  const open: number[] = []; // the path to the node
  const next: number[] = []; // where the next child of each of them begins
  for (let node = 0; node < count; ++node) {
    const depth = Math.min(columns.depth[node]!, open.length);
    while (open.length > depth) end[open.pop()!] = node;
    if (depth > 0) {
      parent[node] = open[depth - 1]!;
      x[node] = next[depth]!;
      next[depth] = x[node]! + columns.total[node]!;
    }
    next[depth + 1] = x[node]!;
    open.push(node);
    rows = Math.max(rows, depth + 1);
  }
  const rowStart = new Uint32Array(rows + 1);
  for (let node = 0; node < count; ++node) rowStart[columns.depth[node]! + 1]!++;
  for (let depth = 0; depth < rows; ++depth) rowStart[depth + 1]! += rowStart[depth]!;
  const free = rowStart.slice();
  const row = new Uint32Array(count);
  const place = new Uint32Array(count);
  for (let node = 0; node < count; ++node) {
    const at = free[columns.depth[node]!]!++;
    row[at] = node;
    place[node] = at;
  }
  return { ...texts, ...columns, parent, end, x, rowStart, row, place, margins };
}

const KINDS: Readonly<Record<string, Kind>> = {
  native: Kind.native,
  kernel: Kind.kernel,
  jit: Kind.jit,
  bpf: Kind.bpf,
};

export function treeOf(answer: FlameAnswer): Tree {
  const { nodes, margins } = answer;
  const kinds = answer.kinds.map((kind) => KINDS[kind] ?? Kind.unknown);
  const byNode = new Map<number, Margin>();
  margins.node.forEach((node, i) =>
    byNode.set(node, {
      margin: margins.margin[i] ?? null,
      low: margins.low[i] ?? null,
      high: margins.high[i] ?? null,
      kind: margins.kind[i] ?? "",
    }),
  );
  return finished(
    answer,
    {
      name: Uint32Array.from(nodes.name),
      depth: Uint32Array.from(nodes.depth),
      self: Float64Array.from(nodes.self),
      total: Float64Array.from(nodes.total),
      kind: Uint8Array.from(nodes.kind, (kind) => kinds[kind] ?? Kind.unknown),
      inlined: Uint8Array.from(nodes.inlined),
      binary: Uint32Array.from(nodes.binary),
      file: Uint32Array.from(nodes.file),
      line: Uint32Array.from(nodes.line),
    },
    byNode,
  );
}

export function size(tree: Tree): number {
  return tree.name.length;
}

export function rows(tree: Tree): number {
  return tree.rowStart.length - 1;
}

export function nameOf(tree: Tree, node: number): string {
  return tree.names[tree.name[node]!] ?? "";
}

// The root first.
export function pathTo(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0; at = tree.parent[at]!) path.push(at);
  return path.reverse();
}

// Two hashes of 32 bits for the path to each node: FNV-1a over the names, from the root.
const hashed = new WeakMap<Tree, [Uint32Array, Uint32Array]>();

function pathHashes(tree: Tree): [Uint32Array, Uint32Array] {
  let hashes = hashed.get(tree);
  if (hashes !== undefined) return hashes;
  const ofNames = [0x811c9dc5, 0x2f0b4a47].map((seed) =>
    Uint32Array.from(tree.names, (name) => {
      let hash = seed;
      for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
      return hash;
    }),
  );
  hashes = ofNames.map((ofName) => {
    const ofPath = new Uint32Array(size(tree));
    for (let node = 0; node < ofPath.length; ++node) {
      const above = node === 0 ? 0x9e3779b9 : ofPath[tree.parent[node]!]!;
      const mixed = Math.imul(above ^ (above >>> 16), 0x85ebca6b) ^ ofName[tree.name[node]!]!;
      ofPath[node] = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    }
    return ofPath;
  }) as [Uint32Array, Uint32Array];
  hashed.set(tree, hashes);
  return hashes;
}

// A path by its names: it means the same node after a refresh, in any order of the children.
export function pathKey(tree: Tree, node: number): string {
  const [low, high] = pathHashes(tree);
  return `${tree.depth[node]}-${low[node]!.toString(36)}${high[node]!.toString(36)}`;
}

// -1: there is none.
export function nodeOfKey(tree: Tree, key: string): number {
  const depth = Number(/^\d+(?=-)/.exec(key)?.[0] ?? -1);
  if (depth < 0 || depth >= rows(tree)) return -1;
  for (let at = tree.rowStart[depth]!; at < tree.rowStart[depth + 1]!; ++at) {
    if (pathKey(tree, tree.row[at]!) === key) return tree.row[at]!;
  }
  return -1;
}

// First place in a row whose node ends behind x.
export function firstEndingAfter(tree: Tree, depth: number, x: number): number {
  let low = tree.rowStart[depth]!;
  let high = tree.rowStart[depth + 1]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const node = tree.row[middle]!;
    if (tree.x[node]! + tree.total[node]! > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

// -1: there is none.
export function nodeAt(tree: Tree, depth: number, x: number): number {
  if (depth < 0 || depth >= rows(tree)) return -1;
  const place = firstEndingAfter(tree, depth, x);
  if (place >= tree.rowStart[depth + 1]!) return -1;
  const node = tree.row[place]!;
  return tree.x[node]! <= x ? node : -1;
}

export function isBelow(tree: Tree, node: number, ancestor: number): boolean {
  return node >= ancestor && node < tree.end[ancestor]!;
}
