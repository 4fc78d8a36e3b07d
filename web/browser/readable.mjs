import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { seriousFindings, within } from "./support.mjs";

execFileSync(`${process.env.PLIMSOLL_BIN}/page_fleet`, ["register", `http://${process.env.PLIMSOLL_FLEET}`]);

const PAGES = [
  ["fleet", "", ".panel.wide table"],
  ["explore", "?page=explore&since=3h&where=job%3Dsearch", ".answer table"],
  ["flame", "?page=explore&since=3h&show=flame&find=rpc", ".flame canvas"],
  ["sandwich", "?page=explore&since=3h&show=sandwich&find=crc32c", ".sandwich-name"],
  ["function", "?page=function&since=1h&function=decode_varint", "section[aria-labelledby=lines] table"],
  ["which function", "?page=function&since=3h", ".hottest a"],
  ["health", "?page=health", "section[aria-labelledby=questions] table"],
  ["diff", "?page=diff&since=1h&earlier=1h", ".differential canvas"],
  ["views", "?page=views&view=coverage", ".one-view table"],
  // Where nothing is found the API says so with a status that the browser notes on its console.
  ["nothing", "?page=explore&since=3h&where=job%3Dnothing", ".message.empty", { expectErrors: true }],
];

for (const [name, address, selector, options] of PAGES) {
  test(`axe-core finds nothing serious, light and dark, and 400 pixels are wide enough: ${name}`, () =>
    within(address, { colorScheme: "light", ...options }, async (page) => {
      await page.waitForSelector(selector);
      assert.deepEqual(await seriousFindings(page), [], "light");
      await page.emulateMedia({ colorScheme: "dark" });
      await page.waitForSelector("[data-theme=dark]");
      assert.deepEqual(await seriousFindings(page), [], "dark");
      await page.setViewportSize({ width: 400, height: 800 });
      await page.waitForFunction(() => innerWidth === 400);
      const widest = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(widest <= 400, `the page is ${widest} pixels wide`);
      await page.reload();
      await page.waitForSelector(selector);
      const fresh = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(fresh <= 400, `the page is ${fresh} pixels wide from the start`);
    }));
}

test("light and dark follow the system until the reader chooses", () =>
  within("", { colorScheme: "dark" }, async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.waitForSelector(".top");
    const dark = await ground();
    await page.emulateMedia({ colorScheme: "light" });
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, dark);
    await page.getByRole("button", { name: "Switch to dark colours" }).click();
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor === before, dark);
    await page.reload();
    await page.waitForSelector(".top");
    assert.equal(await ground(), dark);
  }));

test("all of it is reached by the keyboard", () =>
  within("?page=explore&since=3h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    const seen = new Set();
    for (let i = 0; i < 40; ++i) {
      await page.keyboard.press("Tab");
      seen.add(
        await page.evaluate(
          () =>
            document.activeElement?.getAttribute("aria-label") ??
            document.activeElement?.textContent?.trim() ??
            "",
        ),
      );
    }
    for (const wanted of [
      "Skip to the content",
      "Fleet",
      "Flame graph",
      "Copy and download",
      "Hot code, largest first",
    ]) {
      assert.ok(seen.has(wanted), `${wanted} is not reached: ${[...seen].join(", ")}`);
    }
  }));
