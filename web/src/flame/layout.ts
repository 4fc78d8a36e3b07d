// Which boxes of a tree are drawn where. Pure.
import type { Matches } from "./search.ts";
import type { Tree } from "./tree.ts";
import { firstEndingAfter, rows } from "./tree.ts";

export interface View {
  from: number; // in the unit of the totals
  to: number;
  width: number; // in pixels
}

export interface Box {
  node: number; // of a run: its first
  x: number;
  width: number;
  isRun: boolean; // nodes that are too narrow to be drawn each
  isMatch: boolean;
}

export const MIN_WIDTH = 0.75; // pixels; narrower nodes are drawn as one run
const RUN_WIDTH = 1;

// The boxes of a row, from left to right: at most two for each pixel, whatever the row holds.
export function boxesOf(
  tree: Tree,
  depth: number,
  view: View,
  matches: Matches | undefined,
  boxes: Box[] = [],
): Box[] {
  boxes.length = 0;
  const scale = view.width / (view.to - view.from);
  if (!Number.isFinite(scale) || depth >= rows(tree)) return boxes;
  const end = tree.rowStart[depth + 1]!;
  let place = firstEndingAfter(tree, depth, view.from);
  while (place < end) {
    const node = tree.row[place]!;
    const x = (tree.x[node]! - view.from) * scale;
    if (x >= view.width) break;
    const width = tree.total[node]! * scale;
    if (width >= MIN_WIDTH) {
      const left = Math.max(0, x);
      boxes.push({
        node,
        x: left,
        width: Math.min(view.width, x + width) - left,
        isRun: false,
        isMatch: matches?.isMatch[node] === 1,
      });
      ++place;
      continue;
    }
    // All that begins within the next pixel, up to the first that is wide enough to be drawn.
    const limit = tree.x[node]! + RUN_WIDTH / scale;
    let next = Math.min(end, Math.max(place + 1, firstEndingAfter(tree, depth, limit)));
    const last = tree.row[next - 1]!;
    if (next - 1 > place && tree.total[last]! * scale >= MIN_WIDTH) --next;
    const until = tree.row[next - 1]!;
    const right = (tree.x[until]! + tree.total[until]! - view.from) * scale;
    const found = matches !== undefined && matches.before[next]! > matches.before[place]!;
    const previous = boxes[boxes.length - 1];
    const isNear = previous !== undefined && previous.isRun && x - (previous.x + previous.width) < RUN_WIDTH;
    if (isNear && previous.isMatch === found) {
      previous.width = Math.max(previous.width, right - previous.x);
    } else {
      boxes.push({
        node,
        x: Math.max(0, x),
        width: Math.max(MIN_WIDTH, right - Math.max(0, x)),
        isRun: true,
        isMatch: found,
      });
    }
    place = next;
  }
  return boxes;
}

// Where matches are, whatever their depth: spans of pixels, each at least `least` wide, from left to right.
export function matchSpans(tree: Tree, matches: Matches, view: View, least: number): [number, number][] {
  const scale = view.width / (view.to - view.from);
  const spans: [number, number][] = [];
  let covered = 0;
  for (const node of matches.nodes) {
    if (node < covered) continue;
    covered = tree.end[node]!;
    const left = (tree.x[node]! - view.from) * scale;
    const right = left + Math.max(least, tree.total[node]! * scale);
    if (right <= 0 || left >= view.width) continue;
    const x = Math.min(left, view.width - least);
    const last = spans[spans.length - 1];
    if (last !== undefined && x <= last[1]) last[1] = Math.max(last[1], right);
    else spans.push([Math.max(0, x), Math.min(view.width, right)]);
  }
  return spans;
}

// A label that fits, its end left out where it does not; empty where that says nothing.
export function fitted(text: string, room: number, widthOf: (text: string) => number): string {
  if (room < 18) return "";
  if (text.length * 3 < room * 2 && widthOf(text) <= room) return text;
  let low = 0;
  let high = Math.min(text.length, Math.floor(room / 2));
  if (high >= text.length && widthOf(text) <= room) return text;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(`${text.slice(0, middle)}\u2026`) <= room) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${text.slice(0, low)}\u2026`;
}

// The node that an arrow key leads to; the same where there is none.
export function neighbour(tree: Tree, node: number, to: "parent" | "child" | "previous" | "next"): number {
  if (to === "parent") return Math.max(0, tree.parent[node]!);
  if (to === "child") return tree.end[node]! > node + 1 ? node + 1 : node;
  const depth = tree.depth[node]!;
  const place = tree.place[node]! + (to === "next" ? 1 : -1);
  return place < tree.rowStart[depth]! || place >= tree.rowStart[depth + 1]! ? node : tree.row[place]!;
}
