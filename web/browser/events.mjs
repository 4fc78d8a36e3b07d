// Several events side by side, and both directions of a diff.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, cellsOf, parametersOf, seriousFindings, within } from "./support.mjs";

const settled = (page) =>
  page.waitForFunction(() => !document.querySelector(".shown[aria-busy=true], .placeholder"));
const BESIDE = [
  ["since", "4h"],
  ["compare_event", "instructions"],
];
const EXPLORE = `?page=explore&${new URLSearchParams(BESIDE)}`;

test("an event is put beside the first one: a column for each, and their ratio with its margin", () =>
  within("?page=explore&since=4h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    await page.locator(".beside option").filter({ hasText: "instructions" }).waitFor({ state: "attached" });
    await page.getByLabel("Add an event beside it").selectOption("instructions");
    await page.locator(".answer th").filter({ hasText: "instructions/cycles" }).waitFor();
    await settled(page);
    assert.deepEqual(parametersOf(page).getAll("compare_event"), ["instructions"]);
    const { rows } = await api("top", [...BESIDE, ["limit", "100"]]);
    const shown = await cellsOf(page);
    assert.equal(shown.length, rows.length);
    const heads = await page.locator(".answer thead th").allTextContents();
    const place = heads.findIndex((text) => text.startsWith("instructions/cycles"));
    for (const row of rows) {
      const cells = shown.find(([name]) => name === row.function);
      assert.ok(cells !== undefined, row.function);
      const value = Number.parseFloat(cells[place]);
      assert.ok(
        Math.abs(value - row["instructions/cycles"]) < 0.001,
        `${cells[place]}: ${row["instructions/cycles"]}`,
      );
    }
    await page.getByRole("button", { name: "Do not show instructions beside it" }).click();
    await page.locator(".answer th").filter({ hasText: "self share" }).waitFor();
  }));

test("one flame graph has the widths of the event that is chosen, and the colours of their ratio", () =>
  within(`${EXPLORE}&show=flame`, {}, async (page) => {
    await page.waitForSelector(".flame canvas");
    await page.locator(".flame-legend").filter({ hasText: "instructions/cycles" }).waitFor();
    const events = page.getByRole("group", { name: "Widths are of" });
    assert.deepEqual(await events.getByRole("button").allTextContents(), ["cycles", "instructions"]);
    await events.getByRole("button", { name: "instructions" }).click();
    await page.waitForFunction(
      () => document.querySelector(".coverage .event")?.textContent === "instructions",
    );
    assert.equal(parametersOf(page).get("sized"), "instructions");
    assert.equal(parametersOf(page).get("event"), null);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector(".coverage .event")?.textContent === "cycles");
    await page.getByLabel("Colour by").selectOption("binary");
    await page.locator(".flame-legend").filter({ hasText: "kernel" }).waitFor();
    assert.deepEqual(await seriousFindings(page), []);
  }));

test("a diff has the widths of after, and of before", () =>
  within(
    `?page=diff&${new URLSearchParams([
      ["since", "4h"],
      ["base_where", "platform=Intel Skylake"],
      ["new_where", "platform=AMD Zen 3"],
    ])}`,
    {},
    async (page) => {
      await page.waitForSelector(".differential canvas");
      await settled(page);
      const asked = [];
      page.on(
        "request",
        (request) => request.url().includes("/flame?") && asked.push(new URL(request.url())),
      );
      const group = page.getByRole("group", { name: "Widths are of" });
      await group.getByRole("button", { name: "before" }).click();
      await page.getByText("Stacks and widths of the base side").waitFor();
      await settled(page);
      assert.equal(parametersOf(page).get("sized"), "base");
      assert.deepEqual(asked.at(-1).searchParams.getAll("where"), ["platform=Intel Skylake"]);
      await group.getByRole("button", { name: "after" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("Stacks and widths of the new side").waitFor();
      assert.equal(parametersOf(page).get("sized"), null);
    },
  ));

test("before is so much earlier where the diff is over time", () =>
  within("?page=diff&since=1h&earlier=1h&sized=base", {}, async (page) => {
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.url().includes("/flame?")),
      page.reload(),
    ]);
    const asked = new URL(request.url()).searchParams;
    assert.deepEqual([asked.get("since"), asked.get("until")], ["7200s", "1h"]);
    await page.waitForSelector(".differential canvas");
  }));
