import assert from "node:assert/strict";
import { test } from "node:test";
import { api, cellsOf, parametersOf, percent, server, within } from "./support.mjs";

test("the table has the numbers of the API, with their margins", () =>
  within("?page=explore&since=3h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    const { rows } = await api("top", [
      ["since", "3h"],
      ["limit", "100"],
    ]);
    const shown = await cellsOf(page);
    assert.equal(shown.length, rows.length);
    for (const [i, row] of rows.slice(0, 15).entries()) {
      const text = shown[i].join(" ");
      if (row.function.length < 200) assert.equal(shown[i][0], row.function || "(none)");
      assert.ok(text.includes(percent(row.self_share)), `${text}: ${percent(row.self_share)}`);
      assert.ok(text.includes(percent(row.total_share)), `${text}: ${percent(row.total_share)}`);
      if (row.self_share_margin !== null)
        assert.ok(
          text.includes(`\u00b1${(row.self_share_margin * 100).toFixed(2)}`) ||
            row.self_share_margin < 0.00005,
          text,
        );
    }
  }));

test("a function drills down; back, forward and a deep link show the same", () =>
  within("?page=explore&since=3h", {}, async (page, {}) => {
    await page.waitForSelector(".answer table");
    const before = await cellsOf(page);
    await page.locator(".answer tbody button.name").filter({ hasText: "decode_varint" }).first().click();
    await page.waitForSelector(".chips .chip.where");
    await page.waitForFunction(() => !document.querySelector(".answer .old"));
    assert.deepEqual(parametersOf(page).getAll("where"), ["function=decode_varint"]);
    const drilled = await cellsOf(page);
    assert.notDeepEqual(drilled, before);
    await page.goBack();
    await page.waitForSelector(".chip.where", { state: "detached" });
    await page.waitForFunction(
      (count) =>
        document.querySelectorAll(".answer tbody tr").length === count &&
        !document.querySelector(".answer .old"),
      before.length,
    );
    assert.deepEqual(await cellsOf(page), before);
    await page.goForward();
    await page.waitForSelector(".chip.where");
    const link = page.url();
    await page.goto("about:blank");
    await page.goto(link);
    await page.waitForSelector(".answer table");
    assert.deepEqual(await cellsOf(page), drilled);
  }));

test("filters complete from what the server has, by keyboard alone", () =>
  within("?page=explore&since=3h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    const field = page.getByRole("combobox", { name: /^Filter/ });
    await field.focus();
    await page.keyboard.type("jo");
    await page.getByRole("option", { name: /^job/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await field.inputValue(), "job=");
    await page.getByRole("option", { name: "storage" }).waitFor();
    const { rows } = await api("values", [["of", "job"]]);
    assert.deepEqual(
      await page.locator(".adder [role=option] .value").allTextContents(),
      rows.map(({ value }) => value),
    );
    await page.keyboard.type("sto");
    await page.waitForFunction(() => document.querySelectorAll(".adder [role=option]").length === 1);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".chip.where");
    assert.deepEqual(parametersOf(page).getAll("where"), ["job=storage"]);
    await page.getByRole("button", { name: /^Remove/ }).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".chip.where", { state: "detached" });
  }));

test("who types a name is offered the function of that name; what is no filter is refused in words", () =>
  within("?page=explore&since=3h", {}, async (page) => {
    const field = page.getByRole("combobox", { name: /^Filter/ });
    await field.fill("decompress");
    await page.getByRole("option", { name: /ZSTD_decompressBlock_internal/ }).waitFor();
    await field.fill("what is this");
    await field.press("Enter");
    await page.getByText("A filter has a dimension and a value").waitFor();
  }));

test("events, grouping and times are in the address", () =>
  within("?page=explore&since=3h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    const events = (
      await api("values", [
        ["of", "event"],
        ["since", "3h"],
      ])
    ).rows.map(({ value }) => value);
    await page.waitForFunction(
      (count) => document.querySelectorAll(".question select option").length > count,
      events.length,
    );
    const options = await page
      .getByLabel(/^Event/)
      .locator("option")
      .evaluateAll((all) => all.map(({ value }) => value));
    assert.deepEqual(options, ["", ...events]);
    await page.getByLabel(/^Event/).selectOption("page-faults");
    await page.getByText("search::Index::Load").first().waitFor();
    await page.getByLabel(/^Event/).selectOption("");
    const by = page.getByRole("combobox", { name: "Add a dimension to group by" });
    await by.fill("platf");
    await page.getByRole("option", { name: /platform/ }).click();
    await page.waitForSelector(".answer th >> text=platform");
    assert.equal(parametersOf(page).get("by"), "function,platform");
    await page.getByRole("button", { name: "Do not group by function" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".answer tbody tr").length === 3);
    assert.equal(parametersOf(page).get("by"), "platform");
    await page.getByRole("button", { name: "1 day" }).click();
    assert.equal(parametersOf(page).get("since"), "1d");
  }));

test("columns sort, and say so", () =>
  within("?page=explore&since=3h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    await page.getByRole("button", { name: "function", exact: true }).click();
    await page.waitForSelector("th[aria-sort=ascending]");
    const names = (await cellsOf(page)).map(([name]) => name);
    const { rows } = await api("top", [
      ["since", "3h"],
      ["limit", "100"],
    ]);
    assert.equal(names.length, rows.length);
    assert.equal(parametersOf(page).get("sort"), "-function");
    assert.ok(names.indexOf("ZSTD_decodeSequence") < names.indexOf("ads::Auction::Run"));
    assert.ok(names.indexOf("ads::Auction::Run") < names.indexOf("crc32c::Extend"));
  }));

test("hostile names are text", () =>
  within("?page=explore&since=3h&where=job%3Dhostile", {}, async (page) => {
    await page.getByText("<img src=x onerror=").first().waitFor();
    const text = await page.locator(".answer").innerText();
    assert.ok(text.includes("=HYPERLINK"));
    // Of invisible characters the code is shown, where the store has not replaced them already.
    assert.match(text, /name(\\u202e|\?+)gnp\.exe/);
    assert.ok(text.length < 3000, "very long names are cut");
    assert.equal(await page.evaluate(() => window.hostile), undefined);
    assert.equal(await page.locator(".answer img, .answer script").count(), 0);
    for (const show of ["flame", "icicle"]) {
      await page.goto(`${server}/?page=explore&since=3h&where=job%3Dhostile&show=${show}`);
      await page.waitForSelector(".flame canvas");
      await page.locator(".flame-scroll").focus();
      for (let i = 0; i < 6; ++i) await page.keyboard.press(show === "flame" ? "ArrowUp" : "ArrowDown");
    }
    assert.equal(await page.evaluate(() => window.hostile), undefined);
  }));

test("the question can be asked elsewhere: command line, API, and a file", () =>
  within("?page=explore&since=3h&where=job%3Dsearch&by=function%2Cbinary", {}, async (page) => {
    await page.waitForSelector(".answer table");
    await page.getByRole("button", { name: "Copy and download" }).click();
    const copies = await page
      .locator("[data-copies]")
      .evaluateAll((all) => all.map((one) => one.dataset.copies));
    assert.equal(
      copies[0],
      `plimsoll top --server ${server} --where 'job=search' --since 3h --by function,binary --limit 100`.replace(
        "'job=search'",
        "job=search",
      ),
    );
    const [, address] = /'(.*)'|(http\S+)$/.exec(copies[1]);
    const answer = await (await fetch(address ?? copies[1].split(" ").at(-1))).json();
    assert.equal(answer.rows.length, (await cellsOf(page)).length);
    assert.equal(copies[2], page.url());
    assert.match(copies[3], /since=20.*Z&until=20/);
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: /^rows\.csv/ }).click();
    const file = await waiting;
    assert.equal(file.suggestedFilename(), "rows.csv");
    const waitingForProfile = page.waitForEvent("download");
    await page.getByRole("button", { name: /^profile\.pb\.gz/ }).click();
    assert.equal((await waitingForProfile).suggestedFilename(), "profile.pb.gz");
  }));

test("nothing found says why and what to do", () =>
  within("?page=explore&since=3h&where=job%3Dsearhc", { expectErrors: true }, async (page) => {
    await page.getByText("Did you mean search?").waitFor();
    await page.getByRole("link", { name: "Remove all filters" }).click();
    await page.waitForSelector(".answer table");
  }));

test("what the server refuses is shown in its own words", () =>
  within("?page=explore&event=nonsense", { expectErrors: true }, async (page) => {
    await page.getByText('no samples of event "nonsense"').waitFor();
    await page.getByText(/events with samples: /).waitFor();
  }));

test("a drag over the plot chooses a time range", () =>
  within("?page=explore&since=3h", {}, async (page) => {
    const plot = page.locator(".timeline svg");
    await plot.waitFor();
    await page.waitForFunction(() => document.querySelector(".timeline svg").clientWidth > 400);
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => new URL(location.href).searchParams.has("until"));
    await page.waitForSelector(".answer table");
  }));

test("over time: each step of the largest rows has the API's share and margin, as a plot and as a table", async () => {
  // Relative times would have other steps when the API is asked.
  const { from, to } = (await api("top", [["limit", "1"]])).coverage;
  const question = [
    ["since", from],
    ["until", to],
    ["by", "job"],
  ];
  await within(`?page=explore&show=series&${new URLSearchParams(question)}`, {}, async (page) => {
    await page.waitForSelector(".answer .timeline");
    const { rows } = await api("series", [...question, ["limit", "6"]]);
    const jobs = new Set(rows.map(({ job }) => job));
    assert.ok(jobs.size > 2 && rows.length > 2 * jobs.size, `${rows.length} rows`);
    assert.equal(await page.locator(".answer .timeline .line").count(), jobs.size);
    assert.ok((await page.locator(".answer .timeline .intervals").first().getAttribute("d")).includes("V"));
    await page.getByText(/^As a table/).click();
    const shown = await cellsOf(page);
    assert.equal(shown.length, rows.length);
    for (const [i, row] of rows.entries()) {
      const text = shown[i].join(" ");
      assert.ok(text.includes(row.job || "(none)"), text);
      if (row.self_share === null) continue;
      assert.ok(text.includes(percent(row.self_share)), text);
      if (row.self_share_margin !== null && row.self_share_margin >= 0.00005)
        assert.ok(text.includes(`\u00b1${(row.self_share_margin * 100).toFixed(2)}`), text);
    }
    await page.getByRole("button", { name: "per machine and second" }).click();
    await page.waitForFunction(() => new URL(location.href).searchParams.get("measure") === "rate");
    await page.getByText(/^As a table/).waitFor();
    await page.goBack();
    await page.waitForFunction(() => !new URL(location.href).searchParams.has("measure"));
  });
});
