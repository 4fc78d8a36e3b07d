// node screenshots.mjs FOLDER: a picture of every page, light and dark, wide and narrow. scripts/screenshots.sh starts the server.
import { chromium } from "playwright-core";
import { HARDWARE_PAGES, PAGES, settled } from "./pages.mjs";

const folder = process.argv[2];
const server = process.env.PLIMSOLL_URL;
const only = process.env.ONLY ?? "";

// Small enough for a page of text.
const README = [
  { name: "fleet", address: "", ready: ".panel.wide table" },
  {
    name: "flame",
    address: "?page=explore&since=2h&show=flame&colour=function&names=short",
    ready: ".flame canvas",
  },
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
  const from = { page_fleet: server, page_hardware: process.env.PLIMSOLL_HARDWARE_URL };
  for (const one of isReadme ? README : [...PAGES, ...HARDWARE_PAGES]) {
    const { name, address, fleet = "page_fleet", whole = false } = one;
    if (only !== "" && !`${name}-${form}`.includes(only)) continue;
    await page.goto(`${from[fleet]}/${address}`);
    await settled(page, one);
    await page.waitForTimeout(150);
    const place = isReadme && name === "flame" ? page.locator(".answer") : page;
    await place.screenshot({
      path: `${folder}/${name}${isReadme ? "" : `-${form}`}.png`,
      ...(place === page ? { fullPage: whole && !isReadme } : {}),
    });
  }
  await context.close();
}
await browser.close();
