import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress, formatAddress } from "../src/address.ts";
import { comparedRows, jobsCompared, platformIn } from "../src/compared.ts";
import {
  definedBy,
  definitionOf,
  experimentFile,
  keptOf,
  notesOf,
  parseExperimentFile,
  pathOf,
  progressOf,
  saysTheSame,
  stateOf,
} from "../src/experiment.ts";
import { assignmentsOf, flowsOf, pictureOf } from "../src/flows.ts";
import { isHigherBetter, placeOn, scaleOf, toneOf } from "../src/intervals.ts";
import { logTicks } from "../src/plot.ts";
import { eventsOf, overallRatio, ratioColumns, ratioVerdicts } from "../src/ratios.ts";
import { earlierBy, timeOf } from "../src/times.ts";

const interval = (value: number, half: number) => ({ value, low: value - half, high: value + half });

test("a scale has no change within, and round ticks around all values", () => {
  const scale = scaleOf([interval(0.42, 0.02), interval(0.11, 0.03)]);
  assert.ok(scale.from <= 0 && scale.to >= 0.44);
  assert.ok(scale.ticks.includes(0));
  assert.equal(placeOn(scale, scale.from), 0);
  assert.equal(placeOn(scale, scale.to), 100);
  const negative = scaleOf([interval(-0.2, 0.01)]);
  assert.ok(negative.from <= -0.21 && negative.to >= 0);
});

test("one whisker of a job that nothing is known of does not press the others together", () => {
  const scale = scaleOf([interval(0.1, 0.01), interval(0.12, 0.01), interval(0.11, 0.01), interval(0.1, 9)]);
  assert.ok(scale.to < 1, String(scale.to));
  assert.equal(placeOn(scale, 9.1), 100);
});

test("nothing, or one value without a margin, has a scale too", () => {
  for (const intervals of [[], [{ value: undefined, low: undefined, high: undefined }], [interval(0, 0)]]) {
    const scale = scaleOf(intervals);
    assert.ok(scale.from < scale.to && scale.ticks.length > 1);
  }
});

test("what is better depends on the ratio", () => {
  assert.equal(isHigherBetter("ipc"), true);
  assert.equal(isHigherBetter("instructions/cycles"), true);
  assert.equal(isHigherBetter("cpi"), false);
  assert.equal(isHigherBetter("LLC-load-misses/instructions"), false);
  assert.equal(isHigherBetter("a/b"), undefined);
  assert.equal(toneOf("higher", true), "better");
  assert.equal(toneOf("higher", false), "worse");
  assert.equal(toneOf("lower", undefined), "better");
  assert.equal(toneOf("cannot tell", true), "unknown");
  assert.equal(toneOf("better", true), "better");
});

test("rows of a comparison: the mean, the mix, jobs, and those left out with the reason", () => {
  const rows = [
    { job: "[by quota]", verdict: "higher" },
    { job: "[actual mix]", verdict: "higher" },
    { job: "a", verdict: "cannot tell" },
    { job: "b", verdict: "left out: no samples on the new side" },
    { job: "c", verdict: "much higher" },
  ];
  const { summary, actual, compared, leftOut } = comparedRows(rows);
  assert.equal(summary, rows[0]);
  assert.equal(actual, rows[1]);
  assert.deepEqual(compared, [rows[2], rows[4]], "also a verdict that the page does not know");
  assert.deepEqual(leftOut, [rows[3]]);
  const note = "compared 250 of 300 jobs, with 98.2 % of the weight";
  assert.deepEqual(jobsCompared(["no label", note]), { compared: 250, all: 300 });
  assert.equal(jobsCompared([]), undefined);
  assert.equal(platformIn(["job=a", "platform=AMD Zen 2"]), "AMD Zen 2");
  assert.equal(platformIn(["platform!=x", "platform in a,b"]), undefined);
});

const PLATFORMS = [
  { platform: "old", todays_capacity_used: 100, capacity_used: 40 },
  { platform: "new", todays_capacity_used: 50, capacity_used: 80 },
];
const PLACED = [
  { job: "web", platform: "new", cost: 1, load_share: 1 },
  { job: "db", platform: "old", cost: 2, load_share: 1 },
];
const MOVES = [{ job: "web", from: "old", to: "new", load: 30, saving: 30, certain: "yes" }];

test("a move takes its room along: what stays and what moves add up to the columns", () => {
  const flows = flowsOf(PLATFORMS, PLACED, MOVES);
  const web = flows.find(({ job }) => job === "web")!;
  assert.deepEqual([web.before, web.after], [60, 30]);
  const stays = flows.filter(({ job }) => job === "");
  assert.deepEqual(
    stays.map(({ from, before, after }) => [from, before, after]),
    [
      ["old", 40, 40],
      ["new", 50, 50],
    ],
  );
  const picture = pictureOf(PLATFORMS, flows, 0);
  assert.equal(picture.height, 100 + 80, "as high as the larger side of each platform");
  const band = picture.bands.find(({ job }) => job === "web")!;
  assert.deepEqual([band.y0, band.y1], [40, 150], "below what stays on either platform");
});

test("a job's load by platform, today and proposed", () => {
  const [web, db] = assignmentsOf(
    [
      { job: "web", platform: "old", load: 30 },
      { job: "web", platform: "new", load: 10 },
      { job: "db", platform: "old", load: 5 },
      { job: "idle", platform: "old", load: 0 },
    ],
    PLACED,
  );
  assert.deepEqual(
    [web!.job, web!.today.get("old"), web!.planned.get("new"), web!.isMoved],
    ["web", 0.75, 1, true],
  );
  assert.deepEqual([db!.job, db!.isMoved], ["db", false]);
});

const FILE = `# An experiment of Plimsoll (docs/wsmeter.md): plan, watch and report read this file.
[experiment]
name = "huge \\"pages\\""   # in reports
feature = 'transparent huge pages'
[arms]
control = ["revision=41",
  "cluster=a#b"]
test = ["revision=42"]
both = []
[time]
since = "2026-11-24T12:00:00Z"
until = ""
[target]
ratio = "ipc"
margin_percent = 2.5
detect_percent = 0
power_percent = 95
min_instances = 4
`;

test("a definition file is read, and written again", () => {
  const read = parseExperimentFile(FILE)!;
  assert.deepEqual(read["name"], ['huge "pages"']);
  assert.deepEqual(read["control"], ["revision=41", "cluster=a#b"]);
  assert.deepEqual(read["test"], ["revision=42"]);
  assert.deepEqual(read["margin"], ["2.5%"]);
  assert.deepEqual([read["detect"], read["power"], read["ratio"], read["until"]], [[], [], [], []]);
  const search = new URLSearchParams();
  for (const [name, values] of Object.entries(read)) for (const value of values) search.append(name, value);
  const written = experimentFile(parseAddress(`?page=experiments&${search}`));
  assert.deepEqual(parseExperimentFile(written), read);
  assert.equal(parseExperimentFile('control = ["a=b"]'), undefined);
  assert.equal(parseExperimentFile("<html>"), undefined);
});

test("what a file has no key for, or is no number, becomes no line of it", () => {
  const written = (...given: [string, string][]): string =>
    experimentFile(
      parseAddress(`?${new URLSearchParams([["control", "a=1"], ["test", "a=2"], ...given])}`),
    );
  const plain = written();
  assert.ok(!plain.includes("Not in this file"), plain);
  const filtered = written(["focus", 'zlib"\n[arms]'], ["history", "14d"]);
  assert.equal(
    filtered.split("\n")[1],
    String.raw`# Not in this file, which has no key for it: focus="zlib\"\u000a[arms]", history="14d"`,
  );
  assert.deepEqual(parseExperimentFile(filtered), parseExperimentFile(plain));
  assert.equal(written(["min_instances", '4\nname = "x"']), plain);
  assert.deepEqual(parseExperimentFile(written(["min_instances", "08"]))!["min_instances"], ["8"]);
});

test("an experiment is defined by the parameters of all its views, each once", () => {
  const [since, margin, history] = ["since", "margin", "history"].map((name) => ({ name }));
  const views = [{ parameters: [since!, margin!] }, undefined, { parameters: [margin!, history!] }];
  assert.deepEqual(definedBy(views), [since, margin, history]);
});

test("hostile names come back as they were", () => {
  const name = 'a"b\\c\n\u0001</script>';
  const at = parseAddress(
    `?${new URLSearchParams([
      ["control", "a=1"],
      ["test", "a=2"],
      ["name", name],
    ])}`,
  );
  assert.deepEqual(parseExperimentFile(experimentFile(at))!["name"], [name]);
});

test("an experiment runs until its time is over, or all that is wanted was observed", () => {
  const now = Date.parse("2026-11-24T12:00:00Z");
  const at = (text: string) => parseAddress(`?${text}`);
  assert.equal(stateOf(at(""), now, false), "to be planned");
  assert.equal(stateOf(at("since=2026-11-25T00:00:00Z"), now, false), "to be planned");
  assert.equal(stateOf(at("since=1h"), now, false), "running");
  assert.equal(stateOf(at("since=1h"), now, true), "ended");
  assert.equal(stateOf(at("since=1h&until=1m"), now, false), "ended");
  assert.deepEqual(
    progressOf([
      { wanted: 4, test: 9 },
      { wanted: 6, test: 2 },
    ]),
    { there: 6, wanted: 10, isComplete: false },
  );
  assert.equal(progressOf([]).isComplete, false);
});

test("a warning before an experiment's own sentence is no sentence, and is kept", () => {
  const warning = "missing from this answer, whose values are too low: 12:00 to 12:30";
  for (const [kind, sentence] of [
    ["plan", "12 instances of the test, which cost 48, so that the margin is 1 %"],
    ["progress", "3 of 12 instances of the test (25 %), so that the margin is 1 %"],
    ["result", "better: the metric changes by +2.5 % \u00b10.4 %"],
    ["result", "cannot tell: the metric changes by +0 % \u00b10.4 %"],
  ] as const) {
    assert.deepEqual(notesOf([warning, sentence, "3 jobs"], kind), { sentence, others: [warning, "3 jobs"] });
    assert.deepEqual(notesOf([warning], kind), { sentence: "", others: [warning] });
  }
});

const KEPT = {
  experiment: "huge pages",
  state: "running",
  owner: "ann",
  definition: JSON.stringify({
    control: ["revision=41", "job=web"],
    feature: "transparent huge pages",
    margin: "2%",
    owner: "ann",
    since: "2026-11-24T12:00:00Z",
    test: ["revision=42"],
  }),
};
const TAKEN = [
  ["control", true],
  ["test", true],
  ["where", true],
  ["since", false],
  ["until", false],
  ["margin", false],
].map(([name, repeatable]) => ({ name: String(name), repeatable: repeatable === true }));

test("an experiment of the server becomes an address, and again its definition", () => {
  const [kept] = keptOf([KEPT]);
  assert.deepEqual([kept!.name, kept!.state, kept!.owner], ["huge pages", "running", "ann"]);
  const search = new URLSearchParams();
  for (const [name, values] of Object.entries(kept!.parameters))
    for (const value of values) search.append(name, value);
  const at = parseAddress(`?page=experiments&${search}`);
  const definition = definitionOf(at, TAKEN, Date.parse("2026-11-25T00:00:00Z"));
  assert.deepEqual(definition, {
    control: ["revision=41", "job=web"],
    feature: "transparent huge pages",
    margin: "2%",
    since: "2026-11-24T12:00:00Z",
    test: ["revision=42"],
  });
  assert.equal(saysTheSame(kept!, definition), true);
  assert.equal(saysTheSame(kept!, { ...definition, margin: "3%" }), false);
  assert.equal(saysTheSame(kept!, { ...definition, until: "2026-11-30T00:00:00Z" }), false);
});

test("what is no definition is left out of the list", () => {
  for (const definition of ["", "{", "null", "3", '"a"'])
    assert.deepEqual(keptOf([{ ...KEPT, definition }]), [], definition);
  const [odd] = keptOf([{ ...KEPT, definition: '{"control": [1, "a=b", ""], "__proto__": "x", "test": {}}' }]);
  assert.deepEqual(odd!.parameters["control"], ["a=b"]);
  assert.deepEqual(odd!.parameters["test"], []);
});

test("a time that moves with the clock is fixed when an experiment is defined", () => {
  const now = Date.parse("2026-11-24T12:00:00.750Z");
  const at = (text: string) => definitionOf(parseAddress(`?${text}`), TAKEN, now);
  assert.deepEqual(at("since=1h"), { since: "2026-11-24T11:00:00Z" });
  assert.deepEqual(at("since=now"), { since: "2026-11-24T12:00:00Z" });
  assert.deepEqual(at("until=2026-11-25T00:00:00%2B01:00"), { until: "2026-11-25T00:00:00+01:00" });
  assert.deepEqual(at("since=soon"), { since: "soon" }, "the server says what is wrong with it");
});

test("the name of an experiment is one part of a path", () => {
  assert.equal(pathOf("huge pages"), "experiments/huge%20pages");
  assert.equal(pathOf("../top?x"), "experiments/..%2Ftop%3Fx");
});

test("times so much earlier", () => {
  assert.equal(earlierBy("", "1h"), "1h");
  assert.equal(earlierBy("1h", "1d"), "90000s");
  assert.equal(earlierBy("2026-11-24T12:00:00Z", "2h"), "2026-11-24T10:00:00Z");
  assert.equal(earlierBy("soon", "1h"), undefined);
  assert.equal(timeOf("15min", 1_000_000), 100_000);
  assert.equal(earlierBy("now", "1h"), "1h");
  assert.equal(earlierBy("-1h", "3600"), "7200s");
  assert.equal(earlierBy("1h", ".5h"), "5400s");
  assert.equal(earlierBy("", "3600"), "3600s");
  assert.equal(earlierBy("3600", "1h"), undefined, "a time needs a unit, as it does in the API");
  assert.equal(timeOf("now", 1_000_000), 1_000_000);
  assert.equal(timeOf("-100s", 1_000_000), 900_000);
  assert.equal(timeOf("500ms", 1_000_000), 999_500);
  assert.equal(timeOf("2026-11-24 12:00:00+01:00", 0), Date.parse("2026-11-24T11:00:00Z"));
  for (const wrong of ["", "5", "1y", "1H", "24 Nov 2026", "2026-11-24"])
    assert.equal(timeOf(wrong, 1_000_000), undefined, wrong);
});

const COLUMNS = [
  "function",
  "cycles",
  "cycles_share",
  "cycles_margin_kind",
  "instructions",
  "instructions_share",
  "instructions_margin_kind",
  "instructions/cycles",
  "instructions/cycles_margin_kind",
].map((name) => ({ name, unit: "" }));

test("several events: their names, and ratios against that of all", () => {
  assert.deepEqual(eventsOf(COLUMNS), ["cycles", "instructions"]);
  assert.deepEqual(ratioColumns(COLUMNS), ["instructions/cycles"]);
  const ratio = (name: string, low: number | null, high: number | null) => ({
    function: name,
    "instructions/cycles": 1,
    "instructions/cycles_low": low,
    "instructions/cycles_high": high,
  });
  const verdicts = ratioVerdicts(
    [ratio("fast", 1.5, 1.7), ratio("slow", 0.4, 0.6), ratio("mean", 0.9, 1.2), ratio("rare", null, null)],
    "instructions/cycles",
    1,
  );
  assert.deepEqual([...verdicts.values()], ["more", "less", "chance", "unknown"]);
  assert.equal(
    overallRatio(
      [
        { a: 3, b: 2 },
        { a: 1, b: 2 },
      ],
      "a",
      "b",
    ),
    1,
  );
  assert.equal(overallRatio([], "a", "b"), undefined);
});

test("what widths are of is in the address", () => {
  const text = "?page=explore&compare_event=instructions&show=flame&sized=instructions";
  assert.equal(parseAddress(text).sized, "instructions");
  assert.equal(formatAddress(parseAddress(text)), text);
});

test("ticks of logarithmic axes are round and within", () => {
  assert.deepEqual(logTicks(1, 1000, 4), [1, 10, 100, 1000]);
  for (const [from, to] of [
    [0.8, 1.3],
    [0.001, 0.08],
    [37, 5200],
  ] as const) {
    const ticks = logTicks(from, to, 4);
    assert.ok(ticks.length >= 2 && ticks.length <= 7, String(ticks));
    for (const tick of ticks) assert.ok(tick >= from * 0.99 && tick <= to * 1.01);
  }
});
