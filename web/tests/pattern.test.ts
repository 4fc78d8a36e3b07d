import assert from "node:assert/strict";
import { test } from "node:test";
import { searchOf } from "../src/flame/pattern.ts";
import { patternOf } from "../src/flame/search.ts";

const TEXTS = [
  "",
  "a",
  "ab",
  "aab",
  "main",
  "std::vector<int>::push_back(int&&)",
  "rpc::Server::Handle",
  "operator{}",
  "x86_64-linux",
  "ABBA",
  "\u00e9t\u00e9 \u{1f600}!",
  "a\nb",
];

function agrees(pattern: string, flags: string, texts: readonly string[] = TEXTS): void {
  const native = new RegExp(pattern, flags);
  const { isMatch, isWhole } = searchOf(pattern, flags)(texts);
  assert.ok(isWhole);
  assert.deepEqual(
    isMatch,
    texts.map((text) => native.test(text)),
    `/${pattern}/${flags}`,
  );
}

test("patterns match what the browser's own engine matches", () => {
  const patterns = [
    "a*b",
    "^(a|b)+$",
    "(?:ab?){2}",
    "^a{2,}b",
    "^a{0,1}b?$",
    "a+?b",
    "(?<n>a)b",
    "\\bpush_\\w+\\b",
    "(^|::)Handle$",
    "\\B\\d+_",
    "[^:]+::[A-Z]\\w*(::|$)",
    "()",
    "(|a)+b",
    "(a*)*$",
    "(a|\\b)*m",
    ".{5}",
    "\\(int&{2}\\)",
    "[\\]{}]+",
    "\\x61+",
    "\\u0061+b",
    "a.b",
    "(a|ab)(c|bcd)?$",
    "\\s?!",
    "[^]{3}",
    "\\/?a",
    "(?:a{1,2}){2}b",
  ];
  for (const pattern of patterns) for (const flags of ["", "i", "u", "iu"]) agrees(pattern, flags);
  for (const pattern of ["\\p{L}{3} .!$", "\\u{1f600}+", "\\P{L}+"]) agrees(pattern, "u");
  for (const pattern of ["or{", "{}+", "]|a*", "\\u{2}", "\\X41?"]) agrees(pattern, "");
});

test("made-up patterns match what the browser's own engine matches", () => {
  let state = 1;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 16) % limit;
  };
  const make = (depth: number): string => {
    const kind = below(depth > 0 ? 8 : 5);
    if (kind < 3) return "abc"[kind]!;
    if (kind === 3) return ["^", "$", "\\b", "."][below(4)]!;
    if (kind === 4) return "[ab]";
    if (kind === 5) return `(?:${make(depth - 1)}|${make(depth - 1)})`;
    if (kind === 6) return `(${make(depth - 1)})${["*", "+", "?", "{2}", "{1,2}", "{0,}"][below(6)]!}`;
    return make(depth - 1) + make(depth - 1);
  };
  const texts = Array.from({ length: 40 }, () =>
    Array.from({ length: below(7) }, () => "abc "[below(4)]).join(""),
  );
  for (let i = 0; i < 2000; ++i) agrees(`${make(3)}${make(2)}`, below(2) === 0 ? "" : "u", texts);
});

test("patterns that others try for ever end", () => {
  const name = "a".repeat(5000);
  for (const pattern of [
    "(a+)+$b",
    "(a|a)*b",
    "(a*)*b",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(.*)(.*)(.*)(.*)b",
  ]) {
    const { isMatch, isWhole } = searchOf(pattern, "")([name, "ab".repeat(20)]);
    assert.ok(isWhole, pattern);
    assert.equal(isMatch[0], false, pattern);
  }
});

test("a search whose steps run out says so, and has what it found", () => {
  for (const pattern of ["(a|b)*c", "abc"]) {
    const texts = ["abc", ...new Array<string>(1000).fill("ab".repeat(1000))];
    const { isMatch, isWhole } = searchOf(pattern, "")(texts, 500);
    assert.equal(isWhole, false);
    assert.equal(isMatch.length, texts.length);
    assert.equal(isMatch[0], true);
  }
});

test("what needs going back, or is too large, is refused", () => {
  const wrong = (text: string): string => {
    const pattern = patternOf(text);
    return pattern !== undefined && "error" in pattern ? pattern.error : "";
  };
  for (const text of ["(?=a)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?<n>a)\\k<n>"])
    assert.match(wrong(text), /not supported/, text);
  for (const text of ["(a{1000}){1000}", `${"(".repeat(9)}${"){1000}".repeat(9)}`, "(){4294967295}"])
    assert.match(wrong(text), /too large/, text);
  assert.match(wrong("a".repeat(1001)), /more than 1000/);
  assert.notEqual(wrong("("), "");
  assert.equal(wrong("a{"), "");
});
