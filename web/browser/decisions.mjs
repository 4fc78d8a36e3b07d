// Hardware, placement and experiments against a fleet whose hardware differs (tests/e2e/page_hardware.cc).
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  api,
  cellsOf,
  keepsReporting,
  parametersOf,
  percent,
  server,
  within,
} from "./support.mjs";

keepsReporting("page_hardware");

const changed = (value) => `${value > 0 ? "+" : ""}${percent(value).replace("-", "\u2212")}`;
const settled = (page) =>
  page.waitForFunction(() => !document.querySelector(".shown[aria-busy=true], .placeholder"));

const SIDES = [
  ["since", "4h"],
  ["base_where", "platform=Intel Skylake"],
  ["new_where", "platform=AMD Zen 3"],
];
const HARDWARE = `?page=hardware&${new URLSearchParams(SIDES)}`;

// Half of the machines got huge pages an hour after the first profile began; a profile counts where its middle is.
const first = Date.parse((await api("top", [["limit", "1"]])).coverage.from);
const enabled = new Date(first + 59 * 60_000).toISOString().replace(/\.\d+Z/, "Z");
// A time that has passed, and stays the same: relative to each look a test would be over at any look.
const OVER = new Date(Date.now() - 1000).toISOString().replace(/\.\d+Z/, "Z");
const ARMS = [
  ["control", "label:pages=small"],
  ["test", "label:pages=huge"],
  ["where", "platform=AMD Zen 2"],
  ["since", enabled],
];
const GOAL = [
  ["margin", "2%"],
  ["min_instances", "4"],
];
const experiment = (further = []) =>
  `?page=experiments&${new URLSearchParams([...ARMS, ...GOAL, ["name", "huge pages"], ...further])}`;
const RUNS = [["min_instances", "5000"]];

test("hardware: the mean over jobs comes first, and each job has the API's change and margin", () =>
  within(HARDWARE, {}, async (page) => {
    await page.waitForSelector(".answer .forest");
    await settled(page);
    const { rows } = await api("compare", [...SIDES, ["limit", "200"]]);
    const [mean] = rows;
    assert.equal(mean.job, "[by quota]");
    const figure = await page.locator(".answer .big-figure").innerText();
    assert.ok(figure.includes(changed(mean.ratio_change)), `${figure}: ${changed(mean.ratio_change)}`);
    assert.ok(figure.includes((mean.ratio_change_margin * 100).toFixed(2)), figure);
    const judged = rows
      .slice(2)
      .filter(({ verdict }) => ["higher", "lower", "cannot tell"].includes(verdict));
    const shown = await cellsOf(page, ".answer .forest");
    assert.deepEqual(
      shown.map(([job]) => job),
      judged.map(({ job }) => job),
    );
    for (const [i, row] of judged.entries()) {
      const text = shown[i].join(" ");
      assert.ok(text.includes(changed(row.ratio_change)), `${text}: ${changed(row.ratio_change)}`);
      assert.ok(text.includes(row.verdict), text);
      assert.ok(text.includes(percent(row.weight)), text);
    }
    const left = rows.slice(2).filter((row) => !judged.includes(row));
    assert.ok(left.some(({ job }) => job === "batch"));
    const said = await page.locator(".left-out").innerText();
    for (const { job, verdict } of left)
      assert.ok(said.includes(job) && said.includes(verdict), `${said}: ${job}`);
  }));

test("hardware: platforms, coverage and energy have the API's numbers", () =>
  within(HARDWARE, {}, async (page) => {
    await page.waitForFunction(
      () => document.querySelectorAll(".platforms .forest tbody .digits").length === 2,
    );
    await page.waitForSelector(".power table");
    await settled(page);
    for (const [name, , change] of await cellsOf(page, ".platforms .forest")) {
      const { rows } = await api("compare", [
        SIDES[0],
        SIDES[1],
        ["new_where", `platform=${name}`],
        ["limit", "1"],
      ]);
      assert.ok(change.includes(changed(rows[0].ratio_change)), `${name}: ${change}`);
    }
    const energy = await api("top", [
      SIDES[0],
      ["ratio", "energy-pkg/instructions"],
      ["by", "platform"],
      ["limit", "50"],
    ]);
    assert.equal(energy.rows.length, 3);
    const shown = await cellsOf(page, ".power table");
    assert.deepEqual(shown.map(([name]) => name).sort(), energy.rows.map(({ platform }) => platform).sort());
  }));

test("hardware: by keyboard to another platform, and back", () =>
  within(HARDWARE, {}, async (page) => {
    await page.waitForSelector(".answer .forest");
    const before = await page.locator(".answer .big-figure").innerText();
    await page.getByLabel("Compare with").focus();
    await page.getByLabel("Compare with").selectOption("AMD Zen 2");
    await page.waitForFunction(() => document.querySelector(".answer h2")?.textContent.includes("AMD Zen 2"));
    assert.deepEqual(parametersOf(page).getAll("new_where"), ["platform=AMD Zen 2"]);
    await page.goBack();
    await page.waitForFunction(
      (text) => document.querySelector(".answer .big-figure")?.innerText === text,
      before,
    );
  }));

test("hardware: where there is nothing to compare, the page says what is missing", () =>
  within("?page=hardware&since=4h&until=3h", { expectErrors: true }, async (page, { told }) => {
    await page.waitForSelector(".answer .message");
    const said = await page.locator(".answer .message strong").innerText();
    const asked = told.get([...told.keys()].find((question) => question.startsWith("compare?")));
    assert.equal(said, (await asked).error.message);
    assert.ok(await page.locator(".time-range").isVisible());
    assert.ok(await page.getByLabel("Compare with").isVisible());
    await page.getByRole("link", { name: "Show all times" }).click();
    await page.waitForSelector(".answer .forest");
    assert.equal(parametersOf(page).get("since"), null);
  }));

test("placement: saving, moves and the picture have the API's numbers", () =>
  within("?page=placement&since=4h", {}, async (page) => {
    await page.waitForSelector(".alluvial .band");
    await page.waitForSelector(".assignment");
    await settled(page);
    const { rows } = await api("placement", [
      ["since", "4h"],
      ["by", "summary"],
    ]);
    const [all] = rows;
    assert.ok(all.moves > 0 && all.saving > 0);
    const figure = await page.locator(".answer .big-figure").innerText();
    assert.ok(figure.includes(percent(all.saving_share)), `${figure}: ${percent(all.saving_share)}`);
    const text = await page.locator(".verdict-text").innerText();
    assert.ok(text.includes(`${all.moves} move`), text);
    assert.ok(text.includes(`${all.certain_moves} certain`), text);
    const moves = await api("placement", [
      ["since", "4h"],
      ["by", "move"],
    ]);
    assert.equal((await cellsOf(page, "[aria-label='Moves'] table")).length, moves.rows.length);
    assert.equal(
      await page.locator(".alluvial .band.certain, .alluvial .band.uncertain").count(),
      moves.rows.length,
    );
    assert.equal(await page.locator(".alluvial .band.certain").count(), all.certain_moves);
  }));

test("placement: more room on one platform is asked of the API, and stands in the address", () =>
  within("?page=placement&since=4h", {}, async (page) => {
    await page.waitForSelector(".assignment");
    const before = await page.locator(".answer .big-figure").innerText();
    await page.getByLabel("Room of AMD Zen 3").selectOption("50%");
    await page.waitForFunction(
      (text) => document.querySelector(".answer .big-figure")?.innerText !== text,
      before,
    );
    await settled(page);
    assert.deepEqual(parametersOf(page).getAll("room"), ["AMD Zen 3=50%"]);
    const { rows } = await api("placement", [
      ["since", "4h"],
      ["by", "summary"],
      ["room", "AMD Zen 3=50%"],
    ]);
    const figure = await page.locator(".answer .big-figure").innerText();
    assert.ok(figure.includes(percent(rows[0].saving_share)), figure);
    await page.goBack();
    await page.waitForFunction(
      (text) => document.querySelector(".answer .big-figure")?.innerText === text,
      before,
    );
  }));

test("experiments: the first one is defined here, by keyboard, and is then in the list of all users", () =>
  within("?page=experiments", {}, async (page) => {
    await page.getByText("None yet.").waitFor();
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByText("Give a filter for the control arm").waitFor();
    for (const [name, value] of [["name", "huge pages"], ...ARMS, ...GOAL.slice(0, 1)]) {
      await page.locator(`.definition [name=${name}]`).focus();
      await page.keyboard.type(value);
    }
    await page.getByRole("button", { name: "Show the plan" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "huge pages" }).waitFor();
    for (const [name, value] of ARMS) assert.equal(parametersOf(page).get(name), value);
    await page.getByRole("button", { name: "Define on the server" }).click();
    await page.getByText("Defined on the server.").waitFor();
    const { rows } = await api("experiments");
    assert.deepEqual(
      rows.map(({ experiment, state, control }) => [experiment, state, control]),
      [["huge pages", "running", "label:pages=small"]],
    );
    await page.getByRole("link", { name: "All experiments" }).click();
    await page.locator(".experiment-list a").filter({ hasText: "huge pages" }).click();
    await page.getByRole("heading", { name: "huge pages" }).waitFor();
    assert.equal(parametersOf(page).get("control"), "label:pages=small");
    await page.getByText("Defined on the server.").waitFor();
    await page.getByRole("link", { name: "All experiments" }).click();
    await page.getByRole("button", { name: "Withdraw: huge pages" }).click();
    assert.equal((await api("experiments")).rows.length, 1, "it asks first");
    await page.getByRole("button", { name: "Withdraw for all users: huge pages" }).click();
    await page.getByText("None yet.").waitFor();
    assert.equal((await api("experiments")).rows.length, 0);
  }));

test("experiments: another definition of a running one is refused, with what can be done", () =>
  within(experiment(), { expectErrors: true }, async (page) => {
    await page.getByRole("button", { name: "Define on the server" }).click();
    await page.getByText("Defined on the server.").waitFor();
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await page.locator(".definition [name=test]").fill("label:pages=large");
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByText("The server has another definition of this name.").waitFor();
    await page.getByRole("button", { name: "Change on the server" }).click();
    await page.getByText("is running: its test cannot change").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Withdraw: huge pages" }).click();
    await page.getByRole("button", { name: "Withdraw for all users: huge pages" }).click();
    await page.getByText("Not defined on the server").waitFor();
    assert.equal((await api("experiments")).rows.length, 0);
  }));

test("experiments: the plan has the API's numbers, and its point on the curve", () =>
  within(experiment(), {}, async (page) => {
    await page.waitForSelector("[aria-label='Instances to observe by job'] table");
    await page.waitForSelector(".curve .marked");
    await settled(page);
    const asked = [ARMS[0], ...ARMS.slice(2), ...GOAL];
    const plan = await api("experiment/plan", asked);
    const shown = await cellsOf(page, "[aria-label='Instances to observe by job'] table");
    assert.deepEqual(
      shown.map(([job]) => job),
      plan.rows.map(({ job }) => job),
    );
    for (const [i, row] of plan.rows.entries()) {
      assert.ok(
        shown[i].some((text) => text === String(row.observe)),
        `${shown[i]}: ${row.observe}`,
      );
    }
    assert.ok((await page.locator(".plan-says").innerText()).includes(plan.notes[0].slice(0, 40)));
    const curve = await api("experiment/curve", asked);
    assert.ok(curve.rows.length > 2);
    assert.equal(
      await page.locator("figure").first().locator(".curve svg > circle").count(),
      curve.rows.length,
    );
  }));

test("experiments: one that runs shows how far it is, and neither shows nor asks for its effect", () =>
  within(experiment(RUNS), {}, async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.reload();
    await page.waitForSelector(".jobs-observed");
    await settled(page);
    const { rows } = await api("experiment/progress", [...ARMS, GOAL[0], ...RUNS]);
    const shown = await cellsOf(page, ".jobs-observed");
    for (const [i, row] of rows.entries())
      assert.deepEqual(
        [shown[i][0], shown[i][2], shown[i][3]],
        [row.job, String(row.test), String(row.wanted)],
      );
    await page.getByText("looking early").waitFor();
    assert.equal(await page.getByRole("heading", { name: "Result" }).count(), 0);
    assert.deepEqual(
      asked.filter((url) => url.includes("experiment/result")),
      [],
    );
    const refused = await fetch(
      `${server}/api/v1/experiment/result?${new URLSearchParams([...ARMS, GOAL[0], ...RUNS])}`,
    );
    assert.equal(refused.status, 409);
    assert.match((await refused.json()).error.message, /the experiment is running/);
  }));

test("experiments: one that has ended shows the API's verdict, change and margin, for all and for each job", () =>
  within(experiment([["until", OVER]]), {}, async (page) => {
    await page.waitForSelector(".answer .forest");
    await settled(page);
    const { rows } = await api("experiment/result", [...ARMS, ...GOAL, ["until", OVER]]);
    const [all, ...jobs] = rows;
    const figure = await page.locator(".answer .big-figure").innerText();
    assert.ok(figure.includes(changed(all.change)), `${figure}: ${changed(all.change)}`);
    assert.ok(figure.includes((all.change_margin * 100).toFixed(2)), figure);
    assert.ok((await page.locator(".decision-line .verdict").innerText()).includes(all.verdict));
    assert.equal(all.verdict, "better", "two jobs are faster by huge pages");
    const shown = await cellsOf(page, ".answer .forest");
    for (const [i, row] of jobs.filter(({ verdict }) => verdict !== "left out").entries()) {
      const text = shown[i].join(" ");
      assert.ok(
        text.includes(row.job) && text.includes(changed(row.change)) && text.includes(row.verdict),
        text,
      );
    }
  }));

test("experiments: a definition file is opened and written", () =>
  within("?page=experiments", {}, async (page) => {
    const text = `[experiment]\nname = "from a file"\n[arms]\ncontrol = ["${ARMS[0][1]}"]\ntest = ["${ARMS[1][1]}"]\nboth = ["${ARMS[2][1]}"]\n[time]\nsince = "${enabled}"\n[target]\nmargin_percent = 3\n`;
    const file = (content) => ({ name: "pages.toml", mimeType: "text/plain", buffer: Buffer.from(content) });
    await page.locator("input[type=file]").setInputFiles(file("[arms]\n"));
    await page.getByText("This is no definition of an experiment").waitFor();
    await page.locator("input[type=file]").setInputFiles(file(text));
    await page.getByRole("heading", { name: "from a file" }).waitFor();
    assert.equal(parametersOf(page).get("margin"), "3%");
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download the file" }).click();
    assert.equal((await waiting).suggestedFilename(), "from-a-file.toml");
    await settled(page);
  }));

test("hostile names of experiments and filters are text", () =>
  within(
    `?page=experiments&${new URLSearchParams([
      ["name", '<img src=x onerror="window.hostile=1">'],
      ["control", "job=<b>a</b>"],
      ["test", "job=\u202eb"],
    ])}`,
    { expectErrors: true },
    async (page) => {
      await page.getByRole("heading", { name: "<img src=x onerror=" }).waitFor();
      assert.equal(await page.locator("main img, main b").count(), 0);
      assert.equal(await page.evaluate(() => window.hostile), undefined);
      await page.getByText("\\u202eb").first().waitFor();
    },
  ));
