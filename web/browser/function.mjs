import assert from "node:assert/strict";
import { test } from "node:test";
import { api, cellsOf, parametersOf, percent, server, within } from "./support.mjs";

const NAME = "decode_varint";
const ADDRESS = `?page=function&since=1h&function=${NAME}`;

const only = (by) => [
  ["since", "1h"],
  ["by", by],
  ["only", `function=${NAME}`],
];

async function shown(page) {
  for (const part of ["by-job", "by-machine", "callers", "callees", "lines"]) {
    await page.waitForSelector(`section[aria-labelledby=${part}] table`);
  }
}

test("the cost of a function is that of the API, as a share of the whole, with its margin", () =>
  within(ADDRESS, {}, async (page) => {
    await shown(page);
    const { rows } = await api("top", only("function"));
    assert.equal(rows.length, 1);
    const all = await api("top", [
      ["since", "1h"],
      ["limit", "1000"],
    ]);
    assert.deepEqual(
      rows[0],
      all.rows.find((row) => row.function === NAME),
    );
    for (const kind of ["self", "total"]) {
      const text = await page.locator(`.cost .${kind} .figure`).innerText();
      assert.ok(text.startsWith(percent(rows[0][`${kind}_share`])), text);
      assert.ok(text.includes(`\u00b1${(rows[0][`${kind}_share_margin`] * 100).toFixed(2)}`), text);
    }
    assert.equal(await page.locator("h1").innerText(), NAME);
  }));

test("jobs, platforms and machines that run it have the numbers of the API", () =>
  within(ADDRESS, {}, async (page) => {
    await shown(page);
    for (const dimension of ["job", "platform", "machine"]) {
      const { rows } = await api("top", [...only(`function,${dimension}`), ["limit", "8"]]);
      const cells = await cellsOf(page, `section[aria-labelledby=by-${dimension}] table`);
      assert.equal(cells.length, rows.length, dimension);
      for (const [i, row] of rows.entries()) {
        assert.equal(cells[i][0], row[dimension] || "(none)");
        assert.ok(cells[i].join(" ").includes(percent(row.self_share)), cells[i].join(" "));
      }
    }
    await page.locator("section[aria-labelledby=by-platform] tbody a").first().click();
    await page.waitForSelector(".chip.where");
    const platform = parametersOf(page).get("where").replace("platform=", "");
    await page.waitForFunction(
      (name) =>
        [...document.querySelectorAll("section[aria-labelledby=by-platform] tbody th")]
          .map((cell) => cell.textContent)
          .join() === name,
      platform,
    );
  }));

test("its lines, callers and callees have the numbers of the API, and lead on", () =>
  within(ADDRESS, {}, async (page) => {
    await shown(page);
    const lines = await api("top", [...only("function,line"), ["limit", "30"]]);
    const cells = await cellsOf(page, "section[aria-labelledby=lines] table");
    assert.equal(cells.length, lines.rows.length);
    assert.equal(cells[0][0], "base/varint.h:19");
    assert.ok(cells[0].join(" ").includes(percent(lines.rows[0].self_share)));
    for (const [kind, column] of [
      ["callers", "caller"],
      ["callees", "callee"],
    ]) {
      const { rows } = await api(kind, [
        ["since", "1h"],
        ["function", NAME],
        ["limit", "12"],
      ]);
      const neighbours = await cellsOf(page, `section[aria-labelledby=${kind}] table`);
      assert.deepEqual(
        neighbours.map(([name]) => name),
        rows.map((row) => row[column]),
      );
      assert.ok(neighbours[0].join(" ").includes(percent(rows[0].total_share)));
    }
    await page.locator("section[aria-labelledby=callers] tbody a").first().click();
    await page.waitForFunction(() => document.querySelector("h1")?.textContent === "search::Block::Decode");
    await shown(page);
    await page.goBack();
    await page.waitForFunction((name) => document.querySelector("h1")?.textContent === name, NAME);
  }));

test("the change against the time before is that of the view diff, with its verdict", () =>
  within(ADDRESS, {}, async (page) => {
    await page.waitForSelector(".cost .changed .verdict");
    const { rows } = await api("diff", [
      ["since", "1h"],
      ["earlier", "1h"],
      ["limit", "1000"],
    ]);
    const row = rows.find((one) => one.function === NAME);
    assert.equal(await page.locator(".cost .changed .verdict").innerText(), row.self_verdict);
    const figure = await page.locator(".cost .changed .figure").innerText();
    assert.ok(figure.startsWith(`+${percent(row.self_share_change)}`), figure);
    // Of times that it is not shown for, nothing of the last answer stays.
    await page.getByRole("button", { name: "all", exact: true }).click();
    await page.locator(".cost .changed").getByText("choose a time such as 1 hour").waitFor();
    assert.equal(await page.locator(".cost .changed .figure").innerText(), "\u2013");
    assert.equal(await page.locator(".cost .changed .verdict").count(), 0);
  }));

test("a function is found by a part of its name, by keyboard alone", () =>
  within("?page=function&since=1h", {}, async (page) => {
    await page.waitForSelector(".hottest a");
    const { rows } = await api("top", [
      ["since", "1h"],
      ["limit", "12"],
    ]);
    assert.equal(await page.locator(".hottest a").first().innerText(), rows[0].function);
    const field = page.getByRole("combobox", { name: /^Function/ });
    await field.focus();
    await page.keyboard.type("varint");
    await page.getByRole("option", { name: NAME }).waitFor();
    await page.waitForFunction(
      () => document.querySelectorAll(".function-chooser [role=option]").length === 1,
    );
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await shown(page);
    assert.equal(parametersOf(page).get("function"), NAME);
  }));

test("names in tables and in the flame graph lead to the page", () =>
  within("?page=explore&since=1h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    await page.getByRole("link", { name: `Page of ${NAME}` }).click();
    await shown(page);
    await page.goto(`${server}/?page=explore&since=1h&show=icicle`);
    await page.waitForSelector(".flame canvas");
    await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
    await page.locator(".flame-scroll").focus();
    await page.waitForFunction(() => document.querySelector(".told .name")?.textContent === "all");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.querySelector(".told .name")?.textContent === "main");
    await page.locator("a.told-page").click();
    await page.waitForFunction(() => document.querySelector("h1")?.textContent === "main");
    assert.equal(parametersOf(page).get("since"), "1h");
  }));

test("hostile names are text, however long", () =>
  within("?page=function&since=1h", {}, async (page) => {
    const { rows } = await api("top", [
      ["since", "1h"],
      ["where", "job=hostile"],
    ]);
    for (const { function: name } of rows.filter((row) => row.function !== "main")) {
      await page.goto(`${server}/?page=function&since=1h&function=${encodeURIComponent(name)}`);
      await page.waitForSelector(".cost .self .figure");
      await page.waitForSelector("section[aria-labelledby=lines] :is(table, .message)");
      assert.ok((await page.locator("h1").innerText()).length <= 420);
      assert.equal(await page.locator("main img, main script").count(), 0);
      assert.equal(await page.evaluate(() => window.hostile), undefined);
    }
  }));

test("a function that is not there says what to do", () =>
  within("?page=function&since=1h&function=no_such_function", {}, async (page) => {
    await page.getByText("It has no samples in this selection.").waitFor();
    await page.getByRole("link", { name: "Show all times" }).waitFor();
    await page.getByRole("link", { name: "Search for functions like it" }).waitFor();
  }));
