import assert from "node:assert/strict";
import { test } from "node:test";
import { api, parametersOf, percent, server, within } from "./support.mjs";

async function tree() {
  return (
    await api("flame", [
      ["since", "3h"],
      ["limit", "100000"],
    ])
  ).tree;
}

async function drawn(page) {
  await page.waitForSelector(".flame canvas");
  await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
}

const told = (page) => page.locator(".flame-status").innerText();

test("the keyboard walks the tree, with the numbers of the API", () =>
  within("?page=explore&since=3h&show=icicle", {}, async (page) => {
    await drawn(page);
    const { total, children } = await tree();
    const [main] = children;
    await page.locator(".flame-scroll").focus();
    await page.waitForFunction(() => document.querySelector(".told .name")?.textContent === "all");
    await page.keyboard.press("ArrowDown");
    const text = await told(page);
    assert.ok(text.startsWith(main.name), text);
    assert.ok(text.includes(percent(main.total / total)), `${text}: ${percent(main.total / total)}`);
    await page.keyboard.press("ArrowDown");
    assert.ok((await told(page)).startsWith(main.children[0].name));
    await page.keyboard.press("ArrowRight");
    assert.ok((await told(page)).startsWith(main.children[1].name));
    await page.keyboard.press("ArrowUp");
    assert.ok((await told(page)).startsWith(main.name));
  }));

test("keys that come before the next rendering count each", () =>
  within("?page=explore&since=3h&show=icicle", {}, async (page) => {
    await drawn(page);
    const {
      children: [main],
    } = await tree();
    await page.locator(".flame-scroll").evaluate((flame) => {
      const press = (key) => flame.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      flame.focus();
      ["ArrowDown", "ArrowDown", "Enter"].forEach(press);
    });
    await page.waitForFunction(
      (name) => document.querySelector(".crumbs .last")?.textContent === name,
      main.children[0].name,
    );
  }));

test("zoom is in the address: Enter, Backspace, back and a deep link", () =>
  within("?page=explore&since=3h&show=flame", {}, async (page) => {
    await drawn(page);
    const {
      children: [main],
    } = await tree();
    await page.locator(".flame-scroll").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => new URL(location.href).searchParams.get("zoom"));
    const link = page.url();
    await page.waitForFunction(
      (name) => document.querySelector(".crumbs .last")?.textContent === name,
      main.children[0].name,
    );
    await page.goBack();
    await page.waitForSelector(".crumbs", { state: "detached" });
    await page.goForward();
    await page.waitForSelector(".crumbs");
    await page.locator(".flame-scroll").focus();
    await page.keyboard.press("Backspace");
    await page.waitForFunction(
      (name) => document.querySelector(".crumbs .last")?.textContent === name,
      main.name,
    );
    await page.goto("about:blank");
    await page.goto(link);
    await page.waitForSelector(".crumbs");
    assert.equal(await page.locator(".crumbs .last").innerText(), main.children[0].name);
    await page.getByRole("button", { name: "Copy and download" }).click();
    const { copies } = await page
      .getByRole("button", { name: /^Link with these times/ })
      .evaluate((item) => item.dataset);
    const lasting = new URL(copies).searchParams;
    assert.equal(lasting.get("zoom"), new URL(link).searchParams.get("zoom"));
    assert.match(lasting.get("since"), /^20.*Z$/);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "as filter" }).click();
    await page.waitForSelector(".answer table");
    assert.deepEqual(parametersOf(page).getAll("where"), [`function=${main.children[0].name}`]);
  }));

test("the pointer's box is named with share, self, source and kind", () =>
  within("?page=explore&since=3h&show=icicle&where=job%3Dsearch", {}, async (page) => {
    await drawn(page);
    const box = await page.locator(".flame canvas").boundingBox();
    await page.mouse.move(box.x + 20, box.y + 30); // the second row: main
    await page.waitForSelector(".tip");
    const tip = await page.locator(".tip").innerText();
    assert.ok(tip.startsWith("main"), tip);
    assert.ok(tip.includes("server/main.cc:31"), tip);
    await page.mouse.click(box.x + 20, box.y + 50);
    await page.waitForFunction(() => new URL(location.href).searchParams.get("zoom"));
    // Kernel code and inlined functions say so.
    for (const [name, says] of [
      ["tcp_sendmsg", "kernel"],
      ["decode_varint", "inlined"],
    ]) {
      await page.goto(`${server}/?page=explore&since=3h&show=icicle&find=%5E${name}%24`);
      await drawn(page);
      await page.locator(".flame-scroll").focus();
      await page.keyboard.press("n");
      await page.waitForFunction(
        (wanted) => document.querySelector(".told .name")?.textContent === wanted,
        name,
      );
      const at = await page.evaluate(() => {
        const scroll = document.querySelector(".flame-scroll").getBoundingClientRect();
        return { x: scroll.x, y: scroll.y, width: scroll.width, height: scroll.height };
      });
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => new URL(location.href).searchParams.get("zoom"));
      let found = "";
      for (let y = at.y + 10; y < at.y + at.height && found === ""; y += 20) {
        await page.mouse.move(at.x + at.width / 2, y);
        const text = await page.evaluate(() => document.querySelector(".tip")?.innerText ?? "");
        if (text.startsWith(name)) found = text;
      }
      assert.ok(found.includes(says), `${name}: ${found}`);
    }
  }));

test("a search says its share of the whole, as the API's tree has it", () =>
  within("?page=explore&since=3h&show=flame", {}, async (page) => {
    await drawn(page);
    await page.keyboard.press("/");
    await page.keyboard.type("^rpc::");
    const root = await tree();
    const matched = (node) =>
      /^rpc::/.test(node.name) ? node.total : node.children.reduce((sum, child) => sum + matched(child), 0);
    const share = percent(matched(root) / root.total);
    await page.waitForFunction(
      (text) => document.querySelector(".matched")?.textContent.includes(text),
      share,
    );
    assert.equal(parametersOf(page).get("find"), "^rpc::");
    await page.getByRole("searchbox").fill("(");
    await page.getByRole("alert").waitFor();
    await page.getByRole("searchbox").fill("no such function at all");
    await page.getByText("0 matches").waitFor();
  }));

test("callers and callees of one function; recursion collapses; names shorten", () =>
  within("?page=explore&since=3h&show=sandwich&find=%5Ecrc32c%3A%3AExtend%24", {}, async (page) => {
    await page.waitForSelector(".sandwich-name");
    assert.equal(await page.locator(".sandwich-name").innerText(), "crc32c::Extend");
    const { rows } = await api("callers", [
      ["function", "crc32c::Extend"],
      ["since", "3h"],
    ]);
    await page.locator(".flame-scroll").first().focus();
    await page.keyboard.press("ArrowUp");
    const first = await page.locator(".flame-status").first().innerText();
    assert.ok(first.startsWith(rows[0].caller), `${first}: ${rows[0].caller}`);
    assert.ok(first.includes(percent(rows[0].total_share)), `${first}: ${percent(rows[0].total_share)}`);
    await page.goto(`${server}/?page=explore&since=3h&show=icicle&collapse=yes&names=short&find=introsort`);
    await drawn(page);
    await page.getByText(/^1 match,/).waitFor();
  }));

test("a table has the same as text", () =>
  within("?page=explore&since=3h&show=flame&find=crc32c", {}, async (page) => {
    await drawn(page);
    await page.getByRole("link", { name: "Table", exact: true }).click();
    await page.waitForSelector(".answer table");
    const row = page.locator(".answer tbody tr").filter({ hasText: "crc32c::Extend" });
    const { rows } = await api("top", [
      ["since", "3h"],
      ["limit", "100"],
    ]);
    const { total_share } = rows.find((one) => one.function === "crc32c::Extend");
    assert.ok((await row.innerText()).includes(percent(total_share)));
  }));

test("a diff colours what is more than chance, as the API judges", () =>
  within("?page=diff&since=1h&earlier=1h", {}, async (page) => {
    await page.waitForSelector(".answer table");
    const { rows } = await api("diff", [
      ["since", "1h"],
      ["earlier", "1h"],
      ["limit", "100"],
    ]);
    const count = (verdict) => rows.filter((row) => row.self_verdict === verdict).length;
    assert.equal(
      await page
        .locator(".verdicts")
        .innerText()
        .then((text) => text.replace(/\s+/g, " ")),
      `${count("more")} more ${count("less")} less ${count("may be chance")} may be chance ${rows.length - count("more") - count("less") - count("may be chance")} cannot tell`,
    );
    assert.ok(rows.some((row) => row.function === "decode_varint" && row.self_verdict === "more"));
    const line = page.locator(".answer tbody tr").filter({ hasText: "decode_varint" });
    assert.ok((await line.locator(".verdict.more").count()) > 0);
    await page.getByRole("button", { name: "Copy and download" }).click();
    assert.equal(await page.getByRole("button", { name: /^Link to this page/ }).count(), 1);
    assert.equal(await page.getByRole("button", { name: /^Link with these times/ }).count(), 0);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".differential canvas");
    await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
    await page.locator(".flame-scroll").scrollIntoViewIfNeeded();
  }));
