// The questions of docs/page.md, each asked on the start page and answered with the clicks that the page names.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { api, percent, within } from "./support.mjs";

execFileSync(`${process.env.PLIMSOLL_BIN}/page_fleet`, ["register", `http://${process.env.PLIMSOLL_FLEET}`]);

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
    await page.waitForSelector(".verdicts");
    await page.getByRole("cell", { name: "more", exact: true }).first().waitFor();
  }));

test("which binary lacks symbols, and how is that fixed: one click", () =>
  asked(1, async (page, click) => {
    await click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Health" }));
    await page.waitForSelector(".unsymbolized .command code");
    const first = await page.locator(".unsymbolized li").first().innerText();
    assert.ok(first.includes("debuginfod-find debuginfo"), first);
  }));
