// node screenshots.mjs FOLDER: a picture of every page, light and dark, wide and narrow. scripts/screenshots.sh starts the server.
import { chromium } from "playwright-core";

const folder = process.argv[2];
const server = process.env.PLIMSOLL_URL;
const only = process.env.ONLY ?? "";

const PAGES = [
  ["fleet", "", ".panel.wide table", true],
  ["explore-table", "?page=explore&since=2h", ".answer table", false],
  ["explore-flame", "?page=explore&since=2h&show=flame", ".flame canvas", false],
  ["explore-search", "?page=explore&since=2h&show=flame&find=crc32c%7Cmemcpy", ".flame canvas", false],
  [
    "explore-icicle",
    "?page=explore&since=2h&show=icicle&where=job%3Dsearch&names=short",
    ".flame canvas",
    false,
  ],
  [
    "explore-sandwich",
    "?page=explore&since=2h&show=sandwich&find=%5Ecrc32c%3A%3AExtend%24",
    ".sandwich-name",
    false,
  ],
  ["explore-nothing", "?page=explore&since=2h&where=job%3Dsearhc", ".message.empty", false],
  [
    "function",
    "?page=function&since=1h&function=decode_varint",
    "section[aria-labelledby=lines] table",
    true,
  ],
  ["function-none", "?page=function&since=2h", ".hottest a", false],
  ["health", "?page=health", "section[aria-labelledby=questions] table", true],
  ["diff", "?page=diff&since=1h&earlier=1h", ".differential canvas", true],
  ["views", "?page=views&view=machines", ".one-view table", false],
];
// Of the fleet whose hardware differs.
const ARMS =
  "control=label%3Apages%3Dsmall&test=label%3Apages%3Dhuge&name=huge%20pages&margin=1%25&where=platform%3DAMD%20Zen%202";
const OVER = new Date(Date.now() - 1000).toISOString().replace(/\.\d+Z/, "Z");
const HARDWARE_PAGES = [
  [
    "hardware",
    "?page=hardware&since=4h&base_where=platform%3DIntel%20Skylake&new_where=platform%3DAMD%20Zen%203",
    ".answer .forest",
    true,
  ],
  ["placement", "?page=placement&since=4h", ".assignment", true],
  ["experiments", `?page=experiments`, ".definition", true],
  ["experiment-running", `?page=experiments&${ARMS}&since=61m&min_instances=20`, ".curve .marked", true],
  ["experiment-ended", `?page=experiments&${ARMS}&since=61m&until=${OVER}`, ".curve .marked", true],
  ["explore-events", "?page=explore&since=4h&compare_event=instructions", ".answer table", false],
  ["explore-ratio", "?page=explore&since=4h&compare_event=instructions&show=flame", ".flame canvas", false],
];
// Small enough for a page of text.
const README = [
  ["fleet", "", ".panel.wide table", false],
  ["flame", "?page=explore&since=2h&show=flame&colour=function&names=short", ".flame canvas", false],
];
const isReadme = process.env.FORMS === "readme";
const ALL_FORMS = [
  ["light", { colorScheme: "light", viewport: { width: 1440, height: 900 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1440, height: 900 } }],
  ["narrow", { colorScheme: "light", viewport: { width: 400, height: 860 } }],
];

const FORMS = isReadme
  ? [["readme", { colorScheme: "light", viewport: { width: 1200, height: 740 } }]]
  : ALL_FORMS;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
for (const [form, settings] of FORMS) {
  const context = await browser.newContext({ reducedMotion: "reduce", timezoneId: "UTC", ...settings });
  const page = await context.newPage();
  page.on(
    "console",
    (message) => ["error", "warning"].includes(message.type()) && console.log(form, message.text()),
  );
  page.on("pageerror", (error) => console.log(form, error.message));
  const pages = isReadme ? README : PAGES;
  const all = [
    ...pages.map((one) => [...one, server]),
    ...(isReadme ? [] : HARDWARE_PAGES).map((one) => [...one, process.env.PLIMSOLL_HARDWARE_URL]),
  ];
  for (const [name, address, selector, isWhole, from] of all) {
    if (only !== "" && !`${name}-${form}`.includes(only)) continue;
    await page.goto(`${from}/${address}`);
    await page.waitForSelector(selector);
    await page.waitForFunction(() => !document.querySelector(".shown[aria-busy=true], .tiles.waits"));
    if (selector.includes("canvas"))
      await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
    await page.waitForTimeout(150);
    const place = isReadme && name === "flame" ? page.locator(".answer") : page;
    await place.screenshot({
      path: `${folder}/${name}${isReadme ? "" : `-${form}`}.png`,
      ...(place === page ? { fullPage: isWhole } : {}),
    });
    if (name === "explore-table") {
      const paint = await page.evaluate(
        () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
      );
      console.log(`first paint of Explore, ${form}: ${Math.round(paint)} ms`);
    }
  }
  await context.close();
}
await browser.close();
