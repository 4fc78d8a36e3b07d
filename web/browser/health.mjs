import assert from "node:assert/strict";
import { test } from "node:test";
import {
  api,
  cellsOf,
  keepsReporting,
  percent,
  plimsoll,
  seriousFindings,
  server,
  within,
} from "./support.mjs";

// An order is given to machines with their next heartbeat; some refuse it, some fail.
const report = keepsReporting("page_fleet");
plimsoll("measure", "--server", server, "--job", "search", "--for", "5s", "--max-machines", "16");
report();

const READY = "section[aria-labelledby=questions] table";

test("the first line says how many checks need attention, with what to do", () =>
  within("?page=health", {}, async (page, { told }) => {
    await page.waitForSelector(".verdict-line .problems");
    const { rows } = await told.get("status");
    const problems = rows.filter(({ state }) => state !== "ok");
    const failed = problems.filter(({ state }) => state === "failed");
    const whole = await page.locator(".whole").innerText();
    assert.ok(whole.startsWith(String(failed.length > 0 ? failed.length : problems.length)), whole);
    const shown = await page.locator(".verdict-line .problems strong").allInnerTexts();
    assert.equal(shown.length, problems.length);
    await page.locator(".verdict-line summary").press("Enter");
    await page.waitForSelector(".verdict-line details[open] table");
    const checks = await cellsOf(page, ".verdict-line table");
    assert.deepEqual(
      checks.map(([subject]) => subject),
      rows.map(({ subject }) => subject),
    );
  }));

test("daemons are counted by version and state", () =>
  within("?page=health", {}, async (page, { told }) => {
    await page.waitForSelector("section[aria-labelledby=daemons] table");
    const { rows } = await told.get("machines");
    const live = (version) => rows.filter((row) => row.version === version && row.state === "live").length;
    const shown = await cellsOf(page, "section[aria-labelledby=daemons] table");
    assert.deepEqual(
      shown.map(([version, count]) => [version, Number(count)]),
      [
        ["0.1.0", live("0.1.0")],
        ["0.0.9", live("0.0.9")],
      ],
    );
  }));

test("draws show their responses, and why assignments were refused or failed", () =>
  within("?page=health", {}, async (page, { told }) => {
    await page.waitForSelector("section[aria-labelledby=draws] table");
    const { rows: draws } = await told.get("draws?limit=8");
    assert.ok(
      draws.some(({ refused, failed }) => refused > 0 && failed > 0),
      JSON.stringify(draws),
    );
    // Reasons are shown of the newest with trouble, which may be a scheduled one: its window is anywhere in this hour.
    const draw = draws.find(({ refused, failed, lost }) => refused + failed + lost > 0);
    const shown = await cellsOf(page, "section[aria-labelledby=draws] table");
    const cells = shown.find(([id]) => id === draw.draw);
    assert.ok(cells.join(" ").includes(`${draw.refused} refused`), cells.join(" "));
    await page.waitForSelector("section[aria-labelledby=draws] .shown .shown table");
    const question = new URLSearchParams({ draw: draw.draw, limit: "10000" });
    const { rows } = await told.get(`draws?${question}`);
    const troubled = rows.filter(({ outcome }) => ["refused", "failed", "lost"].includes(outcome));
    const reasons = await cellsOf(page, "section[aria-labelledby=draws] .shown .shown table");
    assert.equal(
      reasons.reduce((sum, [, machines]) => sum + Number(machines), 0),
      troubled.length,
    );
    for (const [outcome, , reason] of reasons) {
      assert.ok(
        troubled.some((row) => row.outcome === outcome && row.detail === reason),
        `${outcome}: ${reason}`,
      );
    }
  }));

test("binaries without symbols are ranked, with the command that helps", () =>
  within("?page=health", {}, async (page) => {
    await page.waitForSelector(".unsymbolized li");
    const { coverage } = await api("top", [
      ["since", "1d"],
      ["limit", "1"],
      ["margins", "no"],
    ]);
    const binaries = coverage.unsymbolized_by.filter(({ share }) => share > 0);
    const shown = await page.locator(".unsymbolized li").allInnerTexts();
    assert.equal(shown.length, binaries.length);
    const place = binaries.findIndex(({ binary }) => binary === "libcompress.so.4");
    assert.ok(place >= 0, JSON.stringify(binaries));
    const { build_id, share } = binaries[place];
    assert.ok(shown[place].includes(percent(share)), shown[place]);
    assert.ok(shown[place].includes(`debuginfod-find debuginfo ${build_id}`), shown[place]);
    assert.ok(
      shown[place].includes(`/usr/lib/debug/.build-id/${build_id.slice(0, 2)}/${build_id.slice(2)}.debug`),
      shown[place],
    );
  }));

test("the store, background work and the times of answers are those of the API", () =>
  within("?page=health", {}, async (page, { told }) => {
    await page.waitForSelector(READY);
    await page.waitForSelector("section[aria-labelledby=store] table");
    await page.waitForSelector("section[aria-labelledby=work] table");
    const limits = await api("store", [["by", "limit"]]);
    assert.deepEqual(
      await page.locator(".limits .part").allInnerTexts(),
      limits.rows.map(({ part }) => part),
    );
    const blocks = await told.get("store");
    const shown = await cellsOf(page, "section[aria-labelledby=store] table");
    assert.deepEqual(
      shown.map(([block, state]) => [block, state]),
      blocks.rows.map(({ block, state }) => [block, state]).reverse(),
    );
    const work = await told.get("status?by=work");
    assert.deepEqual(
      (await cellsOf(page, "section[aria-labelledby=work] table")).map(([name, state]) => [name, state]),
      work.rows.map(({ work: name, state }) => [name, state]),
    );
    const views = (await cellsOf(page, READY)).map(([view]) => view);
    assert.ok(views.length > 0);
    const answered = (await api("status", [["by", "question"]])).rows.map(({ view }) => view);
    for (const view of views) assert.ok(answered.includes(view), view);
  }));

test("overhead is compared with its budgets", () =>
  within("?page=health", {}, async (page, { told }) => {
    await page.waitForSelector("section[aria-labelledby=overhead] table");
    const { rows } = await told.get("status?by=overhead");
    const shown = await cellsOf(page, "section[aria-labelledby=overhead] table");
    assert.equal(shown.length, rows.length);
    const place = rows.findIndex(({ budget }) => budget === "daemons' CPU limits");
    assert.ok(shown[place].join(" ").includes(percent(rows[place].spent)), shown[place].join(" "));
    assert.ok(shown[place].join(" ").includes(percent(rows[place].limit)), shown[place].join(" "));
  }));

test("what is stopped is shown until it is resumed, and nothing serious is found then", () =>
  within("?page=health", {}, async (page) => {
    const order = (flag, ...more) => plimsoll("collection", "--server", server, flag, ...more);
    order("--stop", "latency of search");
    try {
      await page.reload();
      await page.waitForSelector("section[aria-labelledby=collection] .problems");
      const text = await page.locator("section[aria-labelledby=collection]").innerText();
      assert.ok(text.includes("latency of search") && text.includes("--resume"), text);
      await page.waitForSelector(READY);
      assert.deepEqual(await seriousFindings(page), []);
    } finally {
      order("--resume");
    }
    await page.reload();
    await page.locator("section[aria-labelledby=collection]").getByText("Nothing is stopped.").waitFor();
  }));
