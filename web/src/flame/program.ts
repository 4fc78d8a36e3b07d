// Regular expressions as programs for the machine of pattern.ts: instructions, and the ways between them. Pure.

const MAX_PROGRAM = 4000; // instructions, once repetitions are written out

export class PatternError extends Error {}

export type Test = (symbol: string) => boolean;
type Edge = (before: string, after: string) => boolean; // "": there the text begins or ends

type Node =
  | { kind: "one"; test: Test }
  | { kind: "edge"; test: Edge }
  | { kind: "sequence" | "choice"; parts: Node[] }
  | { kind: "repeat"; part: Node; min: number; max: number };

// A character of a text against what stands for one in a pattern: "a", "\\d", "[^:]". No way leads back within one character.
export function testOf(source: string, flags: string): Test {
  const pattern = new RegExp(`^(?:${source})$`, flags);
  const ascii = Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code)));
  return (symbol) => ascii[symbol.charCodeAt(0)] ?? pattern.test(symbol);
}

// Of a pattern that the browser has found well formed.
class Parser {
  private at = 0;
  private readonly tests = new Map<string, Test>();
  private readonly text: string;

  constructor(private readonly pattern: RegExp) {
    this.text = pattern.source;
  }

  choice(): Node {
    const parts = [this.sequence()];
    while (this.text[this.at] === "|") {
      ++this.at;
      parts.push(this.sequence());
    }
    return { kind: "choice", parts };
  }

  private sequence(): Node {
    const parts: Node[] = [];
    while (this.at < this.text.length && !"|)".includes(this.text[this.at]!)) {
      let part = this.one();
      const times = this.taken(/([*+?])\??|\{(\d+)(,?)(\d*)\}\??/y);
      if (times !== undefined) {
        const [, sign, least, comma, most] = times;
        const min = sign === undefined ? Number(least) : sign === "+" ? 1 : 0;
        const open = sign === undefined ? comma !== "" && most === "" : sign !== "?";
        const max = open ? Infinity : sign === "?" ? 1 : Number(most || least);
        part = { kind: "repeat", part, min, max };
      }
      parts.push(part);
    }
    return { kind: "sequence", parts };
  }

  private one(): Node {
    if (this.taken(/\((?:\?:|\?<[^=!][^>]*>|(?!\?))/y) !== undefined) {
      const inner = this.choice();
      ++this.at; // its ')'
      return inner;
    }
    if (this.taken(/\(|\\[1-9k]/y) !== undefined)
      throw new PatternError("lookahead, lookbehind and references to groups are not supported");
    if (this.taken(/\^/y) !== undefined) return { kind: "edge", test: (before) => before === "" };
    if (this.taken(/\$/y) !== undefined) return { kind: "edge", test: (_, after) => after === "" };
    const edge = this.taken(/\\([bB])/y);
    if (edge !== undefined) {
      const isWord = this.test("\\w");
      const wanted = edge[1] === "b";
      return {
        kind: "edge",
        test: (before, after) =>
          ((before !== "" && isWord(before)) !== (after !== "" && isWord(after))) === wanted,
      };
    }
    const [source] = this.taken(this.pattern.unicode ? UNICODE_SYMBOL : SYMBOL)!;
    return { kind: "one", test: this.test(source) };
  }

  private test(source: string): Test {
    let test = this.tests.get(source);
    if (test === undefined) this.tests.set(source, (test = testOf(source, this.pattern.flags)));
    return test;
  }

  private taken(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text);
    if (found === null) return undefined;
    this.at = sticky.lastIndex;
    return found;
  }
}

// A set in brackets, an escape, or a character as it stands.
const SYMBOL = /\[(?:[^\]\\]|\\[^])*\]|\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|c[a-zA-Z]|0[0-7]*|[^])|[^]/y;
const UNICODE_SYMBOL =
  /\[(?:[^\]\\]|\\[^])*\]|\\(?:x[\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|[pP]\{[^}]*\}|c[a-zA-Z]|[^])|[^]/uy;

export type Instruction =
  | { kind: "one"; test: Test }
  | { kind: "edge"; test: Edge }
  | { kind: "ways"; to: number[] }
  | { kind: "found" };

class Compiler {
  readonly program: Instruction[] = [];
  private visits = 0;

  add(node: Node): void {
    // Nested repetitions of nothing add no instruction, and take as long.
    if (++this.visits > MAX_PROGRAM || this.program.length > MAX_PROGRAM)
      throw new PatternError("the pattern is too large once its repetitions are written out");
    switch (node.kind) {
      case "one":
      case "edge":
        this.program.push(node);
        return;
      case "sequence":
        for (const part of node.parts) this.add(part);
        return;
      case "choice":
        this.addChoice(node.parts);
        return;
      case "repeat":
        this.addRepeat(node.part, node.min, node.max);
    }
  }

  private ways(): number[] {
    const to: number[] = [];
    this.program.push({ kind: "ways", to });
    return to;
  }

  private addChoice(parts: readonly Node[]): void {
    if (parts.length === 1) return this.add(parts[0]!);
    const begin = this.ways();
    const ends: number[][] = [];
    for (const part of parts) {
      begin.push(this.program.length);
      this.add(part);
      ends.push(this.ways());
    }
    for (const end of ends) end.push(this.program.length);
  }

  private addRepeat(part: Node, min: number, max: number): void {
    for (let i = 0; i < min; ++i) this.add(part);
    if (max === Infinity) {
      const begin = this.program.length;
      const again = this.ways();
      again.push(this.program.length);
      this.add(part);
      this.ways().push(begin);
      again.push(this.program.length);
      return;
    }
    const optional: number[][] = [];
    for (let i = min; i < max; ++i) {
      const way = this.ways();
      way.push(this.program.length);
      optional.push(way);
      this.add(part);
    }
    for (const way of optional) way.push(this.program.length);
  }
}

// Of a pattern that the browser accepts. Throws a PatternError.
export function programOf(pattern: RegExp): readonly Instruction[] {
  const compiler = new Compiler();
  compiler.add(new Parser(pattern).choice());
  compiler.program.push({ kind: "found" });
  return compiler.program;
}
