// Nodes that a regular expression finds. Pure.
import type { Tree } from "./tree.ts";
import { size } from "./tree.ts";

export interface Matches {
  isMatch: Uint8Array; // by node
  before: Uint32Array; // by place in Tree.row: matches before it, so that a range of a row is counted at once
  share: number; // of the root: time with a match anywhere on the stack
  nodes: number[]; // in preorder
}

export type Pattern = { pattern: RegExp } | { error: string };

// Without regard to case where the text has no capital letter.
export function patternOf(text: string): Pattern | undefined {
  if (text === "") return undefined;
  try {
    return { pattern: new RegExp(text, text === text.toLowerCase() ? "iu" : "u") };
  } catch {
    try {
      return { pattern: new RegExp(text, text === text.toLowerCase() ? "i" : "") };
    } catch (error) {
      return {
        error:
          error instanceof Error
            ? error.message.replace(/^Invalid regular expression: /, "")
            : "not a pattern",
      };
    }
  }
}

// Names of functions and of binaries; each is looked at once.
export function matchesOf(tree: Tree, pattern: RegExp): Matches {
  const ofName = tree.names.map((name) => pattern.test(name));
  const ofBinary = tree.binaries.map((name) => pattern.test(name));
  const count = size(tree);
  const isMatch = new Uint8Array(count);
  const nodes: number[] = [];
  let matched = 0;
  let covered = 0; // up to this node a match above has counted it
  for (let node = 1; node < count; ++node) {
    if (!ofName[tree.name[node]!] && !ofBinary[tree.binary[node]!]) continue;
    isMatch[node] = 1;
    nodes.push(node);
    if (node >= covered) {
      matched += tree.total[node]!;
      covered = tree.end[node]!;
    }
  }
  const before = new Uint32Array(count + 1);
  for (let place = 0; place < count; ++place) before[place + 1] = before[place]! + isMatch[tree.row[place]!]!;
  return { isMatch, before, share: tree.total[0]! > 0 ? matched / tree.total[0]! : 0, nodes };
}
