import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress, questionOf, timesOf, withParameters } from "../src/address.ts";
import { equals, onlyWithin, parsePredicate } from "../src/predicate.ts";
import { apiAddress, commandLine, csvOf, daemonsAddress, quoted } from "../src/share.ts";

test("the start page has an empty address", () => {
  assert.equal(formatAddress(parseAddress("")), "");
  assert.equal(parseAddress("").page, "fleet");
});

test("an address comes back from its text", () => {
  for (const text of [
    "?page=explore&by=function%2Cjob&event=cycles&since=1h&where=job%3Da&where=function%3D%7E%5Estd%3A%3A&show=flame&zoom=3-abc&find=x%7Cy&names=short&collapse=yes",
    "?page=explore&limit=500&sort=-function",
    "?page=diff&earlier=1d&since=1h&show=icicle",
    "?page=views&view=stability&tolerance=0.05",
  ]) {
    assert.equal(formatAddress(parseAddress(text)), text);
  }
});

test("what no page knows is taken for the start page, and nothing is lost of the rest", () => {
  const address = parseAddress("?page=../../etc&show=x&where=a%3Db&where=a%3Db&where=&colour=function");
  assert.equal(address.page, "fleet");
  assert.equal(address.show, "table");
  assert.deepEqual(address.parameters.get("where"), ["a=b"]);
  assert.equal(address.colour, "function");
});

test("hostile texts survive the address", () => {
  const value = "function=<img src=x onerror=alert(1)>&page=diff#\u202e\"'%00";
  const address = withParameters(parseAddress("?page=explore"), { where: value });
  assert.deepEqual(parseAddress(formatAddress(address)).parameters.get("where"), [value]);
});

test("a question of the times alone takes nothing else of an address", () => {
  assert.deepEqual(timesOf(parseAddress("?page=explore&until=1h&where=job%3Da&since=2h")), [
    ["since", "2h"],
    ["until", "1h"],
  ]);
  assert.deepEqual(timesOf(parseAddress("?since=&event=cycles")), []);
});

test("another question forgets where the flame graph was zoomed", () => {
  assert.equal(withParameters(parseAddress("?page=explore&zoom=1-a"), { since: "1d" }).zoom, "");
});

test("a question has the parameters that its view takes, by as one text", () => {
  const address = parseAddress("?page=explore&by=function&by=job&where=a%3D1&where=b%3D2&earlier=1d&limit=7");
  const taken = ["where", "by", "limit"].map((name) => ({ name }));
  assert.deepEqual(questionOf(address, taken, { limit: "100" }), [
    ["where", "a=1"],
    ["where", "b=2"],
    ["by", "function,job"],
    ["limit", "100"],
  ]);
  assert.deepEqual(questionOf(address, [{ name: "limit" }], { limit: "" }), []);
});

const parameter = (name: string, kind: string, flag: string, rest: object = {}) => ({
  name,
  kind,
  flag,
  placeholder: "",
  help: "",
  default: "",
  repeatable: false,
  positional: false,
  choices: [],
  ...rest,
});

test("a question as a command line of a shell", () => {
  const parameters = [
    parameter("where", "predicate", "--where"),
    parameter("margins", "flag", "--no-margins", { default: "yes" }),
    parameter("function", "function", "FUNCTION", { positional: true }),
    parameter("since", "time", "--since"),
  ];
  const question = [
    ["function", "it's"],
    ["where", "job=a b"],
    ["margins", "no"],
    ["since", "1h"],
    ["own", "x"],
  ] as const;
  assert.equal(
    commandLine("callers", "http://h:7070", question, parameters),
    "plimsoll callers --server http://h:7070 'it'\\''s' --where 'job=a b' --no-margins --since 1h",
  );
  assert.equal(
    commandLine("top", "http://h", [["margins", "yes"]], parameters),
    "plimsoll top --server http://h",
  );
});

test("words that a shell would read are quoted", () => {
  for (const word of ["$(x)", "`x`", "a;b", "", "a\nb", "~^x"]) assert.ok(quoted(word).startsWith("'"));
  assert.equal(quoted("http://h:7070/p"), "http://h:7070/p");
});

test("the API's address is below the page's own path", () => {
  assert.equal(
    apiAddress("https://h/prefix/", "top", [
      ["where", "job=a&b"],
      ["by", "function"],
    ]),
    "https://h/prefix/api/v1/top?where=job%3Da%26b&by=function",
  );
});

test("a spreadsheet computes no cell of the CSV", () => {
  const rows = [
    { function: '=HYPERLINK("x")', self: -1.5 },
    { function: 'a"b,c', self: null },
  ];
  assert.equal(
    csvOf([{ name: "function" }, { name: "self" }], rows),
    'function,self\r\n"\'=HYPERLINK(""x"")",-1.5\r\n"a""b,c",\r\n',
  );
});

test("filters as they are typed", () => {
  assert.deepEqual(parsePredicate("job=search"), { dimension: "job", operator: "=", value: "search" });
  assert.deepEqual(parsePredicate("function=~^std::"), {
    dimension: "function",
    operator: "=~",
    value: "^std::",
  });
  assert.deepEqual(parsePredicate("job in a,b"), { dimension: "job", operator: "in", value: "a,b" });
  assert.deepEqual(parsePredicate("label:pod!=x"), { dimension: "label:pod", operator: "!=", value: "x" });
  assert.equal(parsePredicate("memcpy"), undefined);
  assert.equal(equals("job", "a"), "job=a");
  assert.equal(equals("function", "~A()"), "function=~^~A\\(\\)$");
});

test("filters of rows stay while the answer is grouped by their dimension", () => {
  const filters = ["function=main", "job in a,b", "label:pages=huge"];
  assert.deepEqual(onlyWithin(filters, ["job", "function"]), ["function=main", "job in a,b"]);
  assert.deepEqual(onlyWithin(filters, ["label:pages"]), ["label:pages=huge"]);
  assert.deepEqual(onlyWithin(filters, []), []);
});

test("daemons are sent to the name that the browser has of the server, IPv6 in brackets", () => {
  assert.equal(daemonsAddress("fleet.example"), "fleet.example:7071");
  assert.equal(daemonsAddress("10.1.2.3"), "10.1.2.3:7071");
  assert.equal(daemonsAddress("[2001:db8::1]"), "[2001:db8::1]:7071");
  assert.equal(daemonsAddress("2001:db8::1"), "[2001:db8::1]:7071");
});
