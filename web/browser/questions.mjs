// The questions of docs/page.md, each asked on the start page and answered with the clicks that the page names.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, keepsReporting, percent, within } from "./support.mjs";

keepsReporting("page_fleet");

// From the start page; `click` counts.
async function asked(most, walk) {
  await within("", {}, async (page) => {
    await page.waitForSelector(".panel.wide table");
    let clicks = 0;
    await walk(page, async (target) => {
      clicks += 1;
      await target.click();
    });
    assert.ok(clicks <= most && clicks <= 3, `${clicks} clicks`);
  });
}

test("which function costs the fleet most: no click; who runs it: one", () =>
  asked(1, async (page, click) => {
    const { rows } = await api("top", [
      ["since", "1h"],
      ["limit", "1"],
    ]);
    const first = page.locator(".panel.wide tbody tr").first();
    const text = await first.innerText();
    assert.ok(text.includes(rows[0].function) && text.includes(percent(rows[0].self_share)), text);
    await click(first.locator("a"));
    await page.waitForSelector("section[aria-labelledby=by-job] table");
  }));

test("what changed, and is it real: two clicks", () =>
  asked(2, async (page, click) => {
    await page.waitForSelector("section[aria-labelledby=changes] table");
    await click(page.locator("section[aria-labelledby=changes] .panel-heading a"));
    // The second click opens the list, whose entries are the browser's own. The fleet is two hours old: a day before there is none.
    await page.waitForSelector(".verdicts");
    const compared = page.getByLabel("Compare with").first();
    await click(compared);
    await compared.selectOption({ label: "15 minutes before" });
    await page.waitForURL(/earlier=15m/);
    await page.waitForFunction(() => !document.querySelector(".shown[aria-busy=true], .placeholder"));
    const { rows } = await api("diff", [
      ["since", "1h"],
      ["earlier", "15m"],
    ]);
    const row = page.locator(".answer tbody tr").filter({ hasText: rows[0].function });
    assert.ok((await row.first().innerText()).includes(rows[0].self_verdict), rows[0].self_verdict);
  }));

test("which binary lacks symbols, and how is that fixed: one click", () =>
  asked(1, async (page, click) => {
    await click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Health" }));
    await page.waitForSelector(".unsymbolized .command code");
    const first = await page.locator(".unsymbolized li").first().innerText();
    assert.ok(first.includes("debuginfod-find debuginfo"), first);
  }));
