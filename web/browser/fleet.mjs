import assert from "node:assert/strict";
import { test } from "node:test";
import {
  api,
  cellsOf,
  keepsReporting,
  layoutShift,
  parametersOf,
  percent,
  plimsoll,
  proxy,
  server,
  within,
} from "./support.mjs";

keepsReporting("page_fleet");

test("the tiles and rankings have the numbers of the API", () =>
  within("", {}, async (page) => {
    await page.waitForSelector(".panel.wide table");
    await page.waitForSelector(".tiles:not(.waits)");
    const coverage = await api("coverage", [
      ["since", "1h"],
      ["limit", "10000"],
    ]);
    const sum = (name) => coverage.rows.reduce((total, row) => total + (row[name] ?? 0), 0);
    const figures = await page.locator(".tile .figure").allInnerTexts();
    assert.equal(figures[0], `${sum("machines_seen")} of ${sum("machines")}`);
    assert.equal(figures.length, 5);
    const machines = await api("machines");
    assert.equal(figures[1], String(machines.rows.filter(({ state }) => state === "live").length));
    assert.ok(figures[2].endsWith("%"), figures[2]);
    const { rows } = await api("top", [
      ["since", "1h"],
      ["limit", "10"],
    ]);
    const shown = await cellsOf(page, ".panel.wide table");
    assert.equal(shown.length, 10);
    assert.equal(shown[0][0], rows[0].function);
    assert.ok(shown[0].join(" ").includes(percent(rows[0].self_share)));
    const jobs = await api("top", [
      ["since", "1h"],
      ["by", "job"],
      ["limit", "6"],
    ]);
    const ofJobs = await cellsOf(page, "section[aria-labelledby=top-job] table");
    assert.deepEqual(
      ofJobs.map(([job]) => job),
      jobs.rows.map(({ job }) => job),
    );
  }));

test("only changes that are more than chance are listed", () =>
  within("", {}, async (page) => {
    await page.waitForSelector("section[aria-labelledby=changes] table");
    const { rows } = await api("diff", [
      ["since", "1h"],
      ["earlier", "1h"],
      ["limit", "100"],
    ]);
    const changed = rows
      .filter(({ self_verdict }) => self_verdict === "more" || self_verdict === "less")
      .slice(0, 6);
    const shown = await cellsOf(page, "section[aria-labelledby=changes] table");
    assert.deepEqual(
      shown.map(([name]) => name),
      changed.map((row) => row.function),
    );
    assert.ok(shown.some(([name]) => name === "decode_varint"));
    await page.locator("section[aria-labelledby=changes] a").first().click();
    await page.waitForSelector(".verdicts");
  }));

test("from the hottest function to the jobs that run it in one click", () =>
  within("", {}, async (page) => {
    const hottest = page.locator(".panel.wide tbody a").first();
    const name = await hottest.innerText();
    await hottest.click();
    await page.waitForSelector("section[aria-labelledby=by-job] table");
    assert.equal(parametersOf(page).get("function"), name);
    assert.equal(parametersOf(page).get("since"), "1h");
  }));

test("overhead is shown against the budget of which most is used", () =>
  within("", {}, async (page, { told }) => {
    await page.waitForSelector(".tiles:not(.waits)");
    const tile = page.locator(".tile", { hasText: "spent on profiling" });
    await tile.getByText("at most").waitFor();
    const { rows } = await told.get("status?by=overhead");
    const [most] = rows.sort((a, b) => b.used_share - a.used_share);
    assert.equal(await tile.locator(".figure").innerText(), percent(most.spent));
    assert.ok((await tile.innerText()).includes(`at most ${percent(most.limit)}`));
  }));

test("what is wrong is listed with what to do, and what is stopped with how it ends", () =>
  within("", {}, async (page, { told }) => {
    await page.waitForSelector("section[aria-labelledby=attention] .problems");
    const { rows } = await told.get("status");
    const problems = rows.filter(({ state }) => state !== "ok");
    const shown = await page.locator("section[aria-labelledby=attention] .problems strong").allInnerTexts();
    assert.equal(shown.length, problems.length);
    for (const { subject } of problems)
      assert.ok(
        shown.some((text) => text.includes(subject)),
        subject,
      );
    assert.equal(await page.locator(".stops").count(), 0);
    plimsoll("collection", "--server", server, "--stop", "<b>latency</b>");
    try {
      await page.reload();
      await page.waitForSelector(".stops .problems");
      await page.waitForSelector(".tiles:not(.waits)");
      const { sum, moved } = await layoutShift(page);
      assert.ok(sum < 0.1, `nothing is pushed down: ${moved.join("; ")}`);
      const stop = await page.locator(".stops").innerText();
      assert.ok(stop.includes("everything: nothing is measured"), stop);
      assert.ok(stop.includes("<b>latency</b>"), stop);
      assert.ok(stop.includes(`plimsoll collection --server ${server} --resume`), stop);
    } finally {
      plimsoll("collection", "--server", server, "--resume");
    }
    await page.reload();
    await page.waitForSelector(".tiles:not(.waits)");
    await page.waitForSelector(".stops", { state: "detached" });
  }));

test("every view of the registry has a page, made from its description", () =>
  within("?page=views", {}, async (page) => {
    await page.waitForSelector(".views nav a");
    const { views } = await api("registry");
    const names = await page.locator(".views nav b").allInnerTexts();
    assert.deepEqual(
      names,
      views
        .filter(({ is_question, answer }) => is_question && (answer === "table" || answer === "sql"))
        .map(({ name }) => name),
    );
    await page.locator('.views nav a:has(b:text-is("machines"))').click();
    await page.waitForSelector(".one-view table");
    const machines = await api("machines");
    assert.equal((await cellsOf(page, ".one-view table")).length, machines.rows.length);
    await page.goto(`${server}/?page=views&view=sql&q=SELECT+count(*)+AS+n+FROM+machines`);
    await page.waitForSelector(".one-view table");
    assert.deepEqual(await cellsOf(page, ".one-view table"), [[String(machines.rows.length)]]);
  }));

test("a tab that is not seen asks nothing", () =>
  within("?page=views", {}, async (page) => {
    await page.waitForSelector(".views nav a");
    await page.addInitScript(() => {
      window.isSeen = false;
      Object.defineProperty(document, "hidden", { get: () => !window.isSeen });
    });
    const asked = [];
    page.on("request", (request) => request.url().includes("/api/") && asked.push(request.url()));
    await page.goto(`${server}/`);
    await page.waitForSelector(".top");
    await page.waitForTimeout(500);
    assert.deepEqual(asked, []);
    await page.evaluate(() => {
      window.isSeen = true;
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await page.waitForSelector(".panel.wide table");
    assert.ok(asked.length > 0);
  }));

test("below a path of a proxy, and while the server is away and back", async () => {
  const behind = await proxy("/tools/plimsoll");
  try {
    await within(
      "?page=explore&since=3h",
      { base: behind.base, expectErrors: true },
      async (page, { wrong }) => {
        await page.waitForSelector(".answer table");
        assert.deepEqual(wrong, []);
        behind.isUp = false;
        await page.getByRole("button", { name: "1 day" }).click();
        await page.getByText("The server does not answer.").first().waitFor();
        behind.isUp = true;
        await page.waitForSelector(".away", { state: "detached" });
        await page.waitForFunction(
          () => document.querySelector(".answer table") && !document.querySelector(".answer .old"),
        );
        assert.ok(page.url().startsWith(`${behind.base}/?`));
      },
    );
  } finally {
    await behind.close();
  }
});

test("what takes long says so, is cancelled where it is computed, and asked again", async () => {
  const behind = await proxy("");
  try {
    await within("?page=views", { base: behind.base, expectErrors: true }, async (page) => {
      await page.waitForSelector(".views nav a");
      behind.holds = (url) => url.startsWith("/api/v1/top?");
      await page.goto(`${behind.base}/?page=explore&since=3h`);
      await page.locator(".answer").getByText("Computing for 3 s").waitFor();
      assert.equal(await page.locator(".answer .waiting").getAttribute("role"), "status");
      assert.equal(behind.held.length, 1);
      assert.equal(behind.held[0].isGivenUp, false);
      await page.locator(".answer").getByRole("button", { name: "Cancel" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("Cancelled.").waitFor();
      await behind.held[0].ended;
      assert.equal(behind.held[0].isGivenUp, true);
      // It stays cancelled until the reader asks.
      behind.holds = () => false;
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await page.getByText("Cancelled.").waitFor();
      await page.getByRole("button", { name: "Ask again" }).click();
      await page.waitForSelector(".answer table");
    });
  } finally {
    await behind.close();
  }
});

test("a question that is changed gives up the one before", async () => {
  const behind = await proxy("");
  try {
    await within("?page=views", { base: behind.base }, async (page) => {
      await page.waitForSelector(".views nav a");
      behind.holds = (url) => url.startsWith("/api/v1/top?") && url.includes("since=3h");
      await page.goto(`${behind.base}/?page=explore&since=3h`);
      await page.locator(".answer .waiting").waitFor();
      await page.getByRole("button", { name: "1 day" }).click();
      await page.waitForSelector(".answer table");
      await behind.held[0].ended;
      assert.equal(behind.held[0].isGivenUp, true);
    });
  } finally {
    await behind.close();
  }
});
