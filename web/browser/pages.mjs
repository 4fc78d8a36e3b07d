// The pages of the page, each in the states that a reader meets: what every_page.mjs tests one by one, and screenshots.mjs draws.
//
// fleet: whose profiles it shows (tests/e2e/page_fleet.cc, page_hardware.cc). ready: what is there once the answer is. lasts: its answer is
// the same a minute later. whole: its picture is as long as the page.

// Half of the machines got huge pages an hour before the profiles were made. Relative times would make the experiment another one later.
const at = (ms) => new Date(Date.now() - ms).toISOString().replace(/\.\d+Z/, "Z");
const MINUTE = 60_000;
const ARMS = [
  ["control", "label:pages=small"],
  ["test", "label:pages=huge"],
  ["name", "huge pages"],
  ["margin", "1%"],
  ["where", "platform=AMD Zen 2"],
  ["since", at(61 * MINUTE)],
];
const SIDES = [
  ["since", "4h"],
  ["base_where", "platform=Intel Skylake"],
  ["new_where", "platform=AMD Zen 3"],
];
const experiment = (...further) => `?page=experiments&${new URLSearchParams([...ARMS, ...further])}`;
const FUNCTION_READY = "section[aria-labelledby=lines] table";

export const PAGES = [
  { name: "fleet", page: "Fleet", address: "", ready: ".panel.wide table", whole: true },
  {
    name: "explore-table",
    page: "Explore",
    address: "?page=explore&since=3h",
    ready: ".answer table",
    lasts: true,
  },
  {
    name: "explore-flame",
    page: "Explore",
    address: "?page=explore&since=3h&show=flame",
    ready: ".flame canvas",
    lasts: true,
  },
  {
    name: "explore-search",
    page: "Explore",
    address: "?page=explore&since=3h&show=flame&find=crc32c%7Cmemcpy",
    ready: ".flame canvas",
    lasts: true,
  },
  {
    name: "explore-icicle",
    page: "Explore",
    address: "?page=explore&since=3h&show=icicle&where=job%3Dsearch&names=short",
    ready: ".flame canvas",
    lasts: true,
  },
  {
    name: "explore-sandwich",
    page: "Explore",
    address: "?page=explore&since=3h&show=sandwich&find=%5Ecrc32c%3A%3AExtend%24",
    ready: ".sandwich-name",
    lasts: true,
  },
  {
    name: "explore-series",
    page: "Explore",
    address: "?page=explore&since=3h&show=series&by=job&measure=rate",
    ready: ".answer .timeline", // its steps move with the clock
  },
  // Where nothing is found the API says so with a status that the browser notes on its console.
  {
    name: "explore-nothing",
    page: "Explore",
    address: "?page=explore&since=3h&where=job%3Dsearhc",
    ready: ".message.empty",
    expectErrors: true,
  },
  {
    name: "function",
    page: "Function",
    address: "?page=function&since=1h&function=decode_varint",
    ready: FUNCTION_READY,
    whole: true,
  },
  { name: "function-none", page: "Function", address: "?page=function&since=3h", ready: ".hottest a" },
  {
    name: "diff",
    page: "Diff",
    address: "?page=diff&since=1h&earlier=1h",
    ready: ".differential canvas",
    whole: true,
  },
  { name: "diff-none", page: "Diff", address: "?page=diff&since=3h", ready: ".message.empty", lasts: true },
  { name: "views", page: "Views", address: "?page=views", ready: ".views nav a", lasts: true },
  {
    name: "views-machines",
    page: "Views",
    address: "?page=views&view=machines",
    ready: ".one-view table",
  },
  {
    name: "health",
    page: "Health",
    address: "?page=health",
    ready: "section[aria-labelledby=questions] table",
    whole: true,
  },
].map((one) => ({ fleet: "page_fleet", ...one }));

export const HARDWARE_PAGES = [
  {
    name: "hardware",
    page: "Hardware",
    address: `?page=hardware&${new URLSearchParams(SIDES)}`,
    ready: ".answer .forest",
    whole: true,
    lasts: true,
  },
  {
    name: "placement",
    page: "Placement",
    address: "?page=placement&since=4h",
    ready: ".assignment",
    whole: true,
    lasts: true,
  },
  {
    name: "experiments",
    page: "Experiments",
    address: "?page=experiments",
    ready: ".definition",
    whole: true,
    lasts: true,
  },
  {
    name: "experiment-running",
    page: "Experiments",
    address: experiment(["min_instances", "5000"]),
    ready: ".jobs-observed",
    whole: true,
  },
  {
    name: "experiment-ended",
    page: "Experiments",
    address: experiment(["min_instances", "4"], ["until", at(1000)]),
    ready: ".curve .marked",
    whole: true,
    lasts: true,
  },
  {
    name: "explore-events",
    page: "Explore",
    address: "?page=explore&since=4h&compare_event=instructions",
    ready: ".answer table",
    lasts: true,
  },
  {
    name: "explore-ratio",
    page: "Explore",
    address: "?page=explore&since=4h&compare_event=instructions&show=flame",
    ready: ".flame canvas",
    lasts: true,
  },
].map((one) => ({ fleet: "page_hardware", ...one }));

// Once its answers are there, and its flame graph, if it has one, is drawn. A clock of a test knows no marks: `hasMarks`.
export async function settled(page, { ready }, hasMarks = true) {
  await page.waitForSelector(ready);
  await page.waitForFunction(
    () => !document.querySelector(".shown[aria-busy=true], .placeholder, .tiles.waits, [aria-busy=true]"),
  );
  if (ready.includes("canvas") && hasMarks)
    await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
}
