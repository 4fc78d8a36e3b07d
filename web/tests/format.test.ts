import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, change, clipped, margin, quantity, share, shortName, visible } from "../src/format.ts";

const plain = (text: string): string => text.replaceAll("\u202f", " ");

test("shares are in percent, and what is too small to be seen is not zero", () => {
  assert.equal(plain(share(0.12345)), "12.35 %");
  assert.equal(plain(share(1)), "100.00 %");
  assert.equal(plain(share(0)), "0.00 %");
  assert.equal(plain(share(0.00001)), "< 0.01 %");
  assert.equal(plain(share(-0.02)), "\u22122.00 %");
});

test("margins are half the width, in the unit of their value", () => {
  assert.equal(margin(0.0041, "share"), "\u00b10.41");
  assert.equal(margin(0.000001, "share"), "\u00b1<0.01");
  assert.equal(plain(margin(1.5e6, "ns")), "\u00b11.500 ms");
});

test("values are written in the step of their unit", () => {
  for (const [value, unit, text] of [
    [1.25e9, "ns", "1.250 s"],
    [999.99e6, "ns", "1.000 s"],
    [90e9, "ns", "1.500 min"],
    [0, "ns", "0 ns"],
    [1536, "bytes", "1.500 KiB"],
    [1234, "count", "1 234"],
    [12_345, "count", "12.35 k"],
    [3.2e9, "count", "3.200 G"],
    [2.5e9, "ns/s", "2.50 CPUs"],
    [0.0000001, "p", "<0.001"],
    [0.84, "instructions/cycles", "0.8400"],
    [-1024, "bytes", "\u22121.000 KiB"],
  ] as const) {
    assert.equal(plain(quantity(value, unit)), text);
  }
  assert.equal(plain(change(0.01, "share")), "+1.00 %");
});

test("times ago", () => {
  assert.equal(ago(0, 2000), "just now");
  assert.equal(plain(ago(0, 90_000)), "1 min ago");
  assert.equal(plain(ago(0, 3 * 3_600_000)), "3 h ago");
  assert.equal(ago(0, 5 * 86_400_000), "5 days ago");
});

test("what is invisible or turns text around is shown as its code", () => {
  assert.equal(visible("a\u202eb"), "a\\u202eb");
  assert.equal(visible("\u0000\u200b\u2066x\u{e0041}"), "\\u0000\\u200b\\u2066x\\ue0041");
  assert.equal(visible("na\u00efve <b>"), "na\u00efve <b>");
});

test("long names lose their middle", () => {
  assert.equal(clipped("abc", 10), "abc");
  assert.equal(clipped("0123456789abcdef", 9), "0123\u2026cdef");
  assert.equal(clipped("x".repeat(100_000), 300).length, 299);
});

test("short names have no template arguments, parameters and hashes", () => {
  for (const [name, short] of [
    ["std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<\u2026>::push_back"],
    ["void ns::run<T>(T, std::function<void (int)>) const", "ns::run<\u2026>"],
    ["core::ops::function::FnOnce::call_once::h0123456789abcdef", "core::ops::function::FnOnce::call_once"],
    ["main", "main"],
    ["(anonymous namespace)::run_by_work(int)", "(anonymous namespace)::run_by_work"],
    ["[no symbol in libz.so.1]", "[no symbol in libz.so.1]"],
    ["a::operator<(a const&, a const&)", "a::operator<"],
    ["github.com/user/project/pkg.(*Server).Handle", "pkg..Handle"],
  ] as const) {
    const made = shortName(name);
    if (name.startsWith("github")) assert.ok(made.startsWith("pkg."), made);
    else assert.equal(made, short);
  }
});

test("short names of what cannot be taken apart are left as they are", () => {
  for (const name of ["<", "a<b", "()", "", "<T as Trait"]) assert.equal(shortName(name), name);
});
