// Nodes that a regular expression finds. Pure.
import type { Search } from "./pattern.ts";
import { searchOf } from "./pattern.ts";
import { PatternError } from "./program.ts";
import type { Tree } from "./tree.ts";
import { size } from "./tree.ts";

export interface Matches {
  isMatch: Uint8Array; // by node
  before: Uint32Array; // by place in Tree.row: matches before it, so that a range of a row is counted at once
  share: number; // of the root: time with a match anywhere on the stack
  nodes: number[]; // in preorder
  isWhole: boolean; // false: the search was given up before its end
}

export type Pattern = { search: Search } | { error: string };

export const UNFINISHED = "Not all names were searched: the pattern takes too long.";

// Without regard to case where the text has no capital letter.
export function patternOf(text: string): Pattern | undefined {
  if (text === "") return undefined;
  const flags = text === text.toLowerCase() ? "i" : "";
  try {
    return { search: searchOf(text, `${flags}u`) };
  } catch (error) {
    if (error instanceof PatternError) return { error: error.message };
  }
  try {
    return { search: searchOf(text, flags) };
  } catch (error) {
    return {
      error:
        error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : "not a pattern",
    };
  }
}

// Names of functions and of binaries; each is looked at once.
export function matchesOf(tree: Tree, search: Search): Matches {
  const { isMatch: ofName, isWhole } = search(tree.names);
  const binaries = search(tree.binaries);
  const ofBinary = binaries.isMatch;
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
  return {
    isMatch,
    before,
    share: tree.total[0]! > 0 ? matched / tree.total[0]! : 0,
    nodes,
    isWhole: isWhole && binaries.isWhole,
  };
}
