// The questions of docs/page.md about hardware and experiments, each asked on the start page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, askedCold, keepsReporting, percent, plimsoll, server } from "./support.mjs";

keepsReporting("page_hardware");

const changed = (value) => `${value > 0 ? "+" : ""}${percent(value).replace("-", "\u2212")}`;
const navigation = (page) => page.getByRole("navigation", { name: "Pages" });
const settled = (page) =>
  page.waitForFunction(() => !document.querySelector(".shown[aria-busy=true], .placeholder"));

test("is the new platform worth it for a job: Hardware, and the platform where another one is shown", () =>
  askedCold(2, async (page, click) => {
    await click(navigation(page).getByRole("link", { name: "Hardware" }));
    await page.waitForSelector(".answer .forest");
    const compared = page.getByLabel("Compare with");
    await click(compared);
    await compared.selectOption("AMD Zen 3");
    await page.waitForFunction(() => document.querySelector(".answer h2")?.textContent.includes("AMD Zen 3"));
    await settled(page);
    const today = await page.getByLabel("Today's platform").inputValue();
    const { rows } = await api("compare", [
      ["since", "1h"],
      ["base_where", `platform=${today}`],
      ["new_where", "platform=AMD Zen 3"],
      ["limit", "200"],
    ]);
    const job = rows.find((row) => row.job === "search");
    assert.equal(job.verdict, "higher");
    const row = page.locator(".answer .forest tbody tr").filter({ hasText: "search" });
    const text = await row.innerText();
    for (const part of [changed(job.ratio_change), (job.ratio_change_margin * 100).toFixed(2), job.verdict])
      assert.ok(text.includes(part), `${text}: ${part}`);
  }));

test("did an experiment win: Experiments, then its name", async () => {
  const { coverage } = await api("top", [["limit", "1"]]);
  // Half of the machines got huge pages an hour after the first profile began; a profile counts where its middle is.
  const time = (ms) => new Date(ms).toISOString().replace(/\.\d+Z/, "Z");
  const arms = [
    ["control", "label:pages=small"],
    ["test", "label:pages=huge"],
    ["where", "platform=AMD Zen 2"],
    ["since", time(Date.parse(coverage.from) + 59 * 60_000)],
    ["until", time(Date.now() - 1000)],
    ["margin", "2%"],
  ];
  const definition = arms.flatMap(([name, value]) => [`--${name}`, value]);
  plimsoll("experiment", "define", "pages", "--server", server, "--feature", "huge pages", ...definition);
  await askedCold(2, async (page, click) => {
    await click(navigation(page).getByRole("link", { name: "Experiments" }));
    await click(page.locator(".experiment-list a").filter({ hasText: "pages" }));
    await page.waitForSelector(".decision-line .verdict");
    await settled(page);
    const [all] = (await api("experiment/result", arms)).rows;
    assert.equal(all.verdict, "better");
    assert.ok((await page.locator(".decision-line .verdict").innerText()).includes(all.verdict));
    const figure = await page.locator(".answer .big-figure").innerText();
    assert.ok(figure.includes(changed(all.change)), `${figure}: ${changed(all.change)}`);
  });
});
