// The questions of docs/page.md, each asked on the start page and answered with the clicks that the page names. Those about hardware and
// experiments: questions_hardware.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, askedCold, keepsReporting, percent } from "./support.mjs";

keepsReporting("page_fleet");

test("which function costs the fleet most: no click; who runs it: one", () =>
  askedCold(1, async (page, click) => {
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
  askedCold(2, async (page, click) => {
    await page.waitForSelector("section[aria-labelledby=changes] table");
    await click(page.locator("section[aria-labelledby=changes] .panel-heading a"));
    // The second click opens the list, whose entries are the browser's own.
    await page.waitForSelector(".verdicts");
    const compared = page.getByLabel("Compare with").first();
    await click(compared);
    await compared.selectOption({ label: "a day before" });
    await page.waitForURL(/earlier=1d/);
    await page.waitForFunction(() => !document.querySelector(".shown[aria-busy=true], .placeholder"));
    const { rows } = await api("diff", [
      ["since", "1h"],
      ["earlier", "1d"],
    ]);
    for (const [name, verdict] of [
      ["decode_varint", "more"],
      ["crc32c::Extend", "less"],
    ]) {
      const said = rows.find((row) => row.function === name);
      assert.equal(said.self_verdict, verdict);
      const text = await page.locator(".answer tbody tr").filter({ hasText: name }).first().innerText();
      assert.ok(text.includes(verdict), text);
      assert.ok(text.includes(percent(Math.abs(said.self_share_change))), text);
    }
  }));

test("which binary lacks symbols, and how is that fixed: one click", () =>
  askedCold(1, async (page, click) => {
    await click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Health" }));
    await page.waitForSelector(".unsymbolized .command code");
    const { coverage } = await api("top", [
      ["since", "1d"],
      ["limit", "1"],
      ["margins", "no"],
    ]);
    const [most] = coverage.unsymbolized_by;
    const first = await page.locator(".unsymbolized li").first().innerText();
    assert.ok(first.includes(most.binary) && first.includes(percent(most.share)), first);
    assert.ok(first.includes(`debuginfod-find debuginfo ${most.build_id}`), first);
  }));
