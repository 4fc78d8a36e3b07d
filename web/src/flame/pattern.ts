// Regular expressions of readers and of links, matched in a bounded number of steps. Pure.
//
// The browser's own engine goes back and tries again, for some patterns longer than anyone waits, and cannot be interrupted. Here all ways
// through a pattern are followed at once (Thompson's construction), with a budget for all texts of a search together. The syntax is that
// of JavaScript, without what needs going back: lookahead, lookbehind and references to groups.

import type { Instruction, Test } from "./program.ts";
import { PatternError, programOf, testOf } from "./program.ts";

const MAX_LENGTH = 1000; // of a pattern
const BUDGET = 5_000_000; // steps of a search; one or two seconds
const NATIVE_PER_STEP = 512; // characters that the browser compares in the time of one step

export interface Found {
  isMatch: boolean[]; // by text
  isWhole: boolean; // false: the budget ended before the texts did
}

export type Search = (texts: readonly string[], budget?: number) => Found;

interface Matcher {
  steps: number; // that are left
  matches(text: string): boolean;
}

// Where the ways through the program stand between two characters.
interface State {
  at: readonly number[]; // instructions, ascending
  before: string; // a character of the kind before it: "", WORD or OTHER
  next: (State | undefined)[]; // by ASCII code, and at END
}

const WORD = "a";
const OTHER = " ";
const END = 128;
const MAX_STATES = 2000;
const CHARACTERS_PER_STEP = 8; // that follow known states
const FOUND: State = { at: [], before: "", next: [] };

// States are made as texts need them, and used by all texts of a search.
class Machine implements Matcher {
  private readonly marked: Uint32Array; // by instruction: the transition that it was reached in at last
  private transition = 0;
  private readonly states = new Map<string, State>();
  private readonly isWord: Test;

  constructor(
    private readonly program: readonly Instruction[],
    private readonly pattern: RegExp,
    public steps: number,
  ) {
    this.marked = new Uint32Array(program.length);
    this.isWord = testOf("\\w", pattern.flags);
  }

  // False also where the steps have run out.
  matches(text: string): boolean {
    let state = this.stateOf([], "");
    this.steps -= 1 + text.length / CHARACTERS_PER_STEP;
    for (let i = 0; i < text.length && this.steps > 0; ++i) {
      const code = text.charCodeAt(i);
      let next = code < END ? state.next[code] : undefined;
      if (next === undefined) {
        const symbol = this.pattern.unicode ? String.fromCodePoint(text.codePointAt(i)!) : text[i]!;
        next = this.after(state, symbol);
        if (code < END) state.next[code] = next;
        i += symbol.length - 1;
      }
      if (next === FOUND) return true;
      state = next;
    }
    if (this.steps <= 0) return false;
    return (state.next[END] ??= this.after(state, "")) === FOUND;
  }

  private stateOf(at: readonly number[], before: string): State {
    const key = `${before}${at.join()}`;
    let state = this.states.get(key);
    if (state === undefined) {
      if (this.states.size >= MAX_STATES) this.states.clear();
      this.states.set(key, (state = { at, before, next: [] }));
    }
    return state;
  }

  // "": the end of the text.
  private after(state: State, symbol: string): State {
    const { program, marked } = this;
    const transition = ++this.transition;
    const pending = [...state.at, 0]; // a match may begin anywhere
    const next = new Set<number>();
    while (pending.length > 0) {
      const at = pending.pop()!;
      --this.steps;
      if (marked[at] === transition) continue;
      marked[at] = transition;
      const instruction = program[at]!;
      if (instruction.kind === "found") return FOUND;
      if (instruction.kind === "one") {
        if (symbol !== "" && instruction.test(symbol)) next.add(at + 1);
      } else if (instruction.kind === "ways") pending.push(...instruction.to);
      else if (instruction.test(state.before, symbol)) pending.push(at + 1);
    }
    return this.stateOf(
      [...next].sort((a, b) => a - b),
      this.isWord(symbol) ? WORD : OTHER,
    );
  }
}

function native(pattern: RegExp, steps: number): Matcher {
  return {
    steps,
    matches(one) {
      this.steps -= 1 + (one.length * pattern.source.length) / NATIVE_PER_STEP;
      return pattern.test(one);
    },
  };
}

function found(texts: readonly string[], matcher: Matcher): Found {
  const isMatch = new Array<boolean>(texts.length).fill(false);
  for (const [place, text] of texts.entries()) {
    isMatch[place] = matcher.matches(text);
    if (matcher.steps <= 0) return { isMatch, isWhole: false };
  }
  return { isMatch, isWhole: true };
}

// Throws a PatternError, or the browser's SyntaxError.
export function searchOf(text: string, flags: string): Search {
  if (text.length > MAX_LENGTH) throw new PatternError(`more than ${MAX_LENGTH} characters`);
  const pattern = new RegExp(text, flags);
  // Without groups and repetitions, each character of the pattern is compared at most once with each of the text.
  if (!/[(*+?{]/.test(text)) return (texts, budget = BUDGET) => found(texts, native(pattern, budget));
  const program = programOf(pattern);
  return (texts, budget = BUDGET) => found(texts, new Machine(program, pattern, budget));
}
