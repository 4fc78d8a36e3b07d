// Times of the page in headless chromium, as a table. scripts/measure-page.sh starts the servers.
import { chromium } from "playwright-core";

const times = Number(process.env.TIMES);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

const sorted = (values) => [...values].sort((a, b) => a - b);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];
const at = (values, part) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * part))];

// Each in a context of its own, whose cache is empty.
async function fresh(address, look, settings = {}) {
  const found = [];
  for (let time = 0; time < times; ++time) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...settings });
    const page = await context.newPage();
    await page.goto(address);
    found.push(await look(page));
    await context.close();
  }
  return found;
}

const paints = await fresh(`${process.env.PLIMSOLL_URL}/?page=explore&since=3h`, async (page) => {
  await page.waitForSelector(".answer table");
  return page.evaluate(() => ({
    first: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    answer: performance.now(),
  }));
});

// Wide boxes near the root and narrow ones further out, in and out again, while frames are counted.
async function zoomed(page) {
  await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
  const drawn = await page.evaluate(() => {
    const start = (name) => performance.getEntriesByName(name)[0].startTime;
    return start("flame drawn") - start("flame data");
  });
  await page.evaluate(() => {
    window.frames = [];
    const see = (now) => {
      window.frames.push(now);
      requestAnimationFrame(see);
    };
    requestAnimationFrame(see);
  });
  const box = await page.locator(".flame canvas").boundingBox();
  for (const row of [2, 3, 4, 1, 5, 0]) {
    await page.mouse.click(box.x + 60, box.y + row * 20 + 8);
    await page.waitForTimeout(350);
  }
  const frames = await page.evaluate(() => window.frames.slice(1).map((time, i) => time - window.frames[i]));
  return { drawn, frames };
}
const flames = await fresh(`${process.env.PLIMSOLL_LARGE_URL}/?page=explore&show=icicle`, zoomed, {
  reducedMotion: "no-preference",
});
const frames = flames.flatMap((one) => one.frames);

const ms = (value) => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
const rows = [
  ["the page, gzipped", `${(Number(process.env.PAGE_BYTES) / 1000).toFixed(1)} kB`, "", "150 kB"],
  ["first paint of Explore", paints.map(({ first }) => first), "1000 ms"],
  ["answer of Explore shown", paints.map(({ answer }) => answer), ""],
  ["100,000 nodes drawn after their data", flames.map(({ drawn }) => drawn), "300 ms"],
].map(([what, values, ...rest]) =>
  typeof values === "string" ? [what, values, ...rest] : [what, ms(median(values)), ms(Math.max(...values)), ...rest],
);
rows.push(
  ["time between frames while zooming", ms(median(frames)), ms(Math.max(...frames)), "16.7 ms"],
  ["the same, 95th percentile", ms(at(frames, 0.95)), "", ""],
);
console.log(`| what | median of ${times} | worst | goal |\n|---|---|---|---|`);
for (const cells of rows) console.log(`| ${cells.join(" | ")} |`);
await browser.close();
