// Files that a reader takes away, and the diff, against what the API answers to the same question.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { api, percent, server, within } from "./support.mjs";

// Times that stay the same: relative ones would be others when the API is asked.
const { from, to } = (await api("top", [["limit", "1"]])).coverage;
const QUESTION = [
  ["where", "job=search"],
  ["since", from],
  ["until", to],
];
const explore = (show) => `?page=explore&${new URLSearchParams([...QUESTION, ["show", show]])}`;

async function downloaded(page, name, menu = "Copy and download") {
  const button = page.locator(".popover button").filter({ hasText: name });
  if ((await button.count()) === 0) await page.getByRole("button", { name: menu }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  assert.equal(file.suggestedFilename(), name);
  return readFile(await file.path());
}

// RFC 4180.
function cellsOfCsv(text) {
  const rows = [[""]];
  for (let i = 0, isQuoted = false; i < text.length; ++i) {
    const row = rows.at(-1);
    if (text[i] === '"' && isQuoted && text[i + 1] === '"') row[row.length - 1] += text[++i];
    else if (text[i] === '"') isQuoted = !isQuoted;
    else if (text[i] === "," && !isQuoted) row.push("");
    else if (text.startsWith("\r\n", i) && !isQuoted) rows.push([""]) && ++i;
    else row[row.length - 1] += text[i];
  }
  assert.deepEqual(rows.pop(), [""], "the last line ends");
  return rows;
}

test("rows.csv and rows.json are the answer of the API", () =>
  within(explore("table"), {}, async (page) => {
    await page.waitForSelector(".answer table");
    const table = await api("top", [...QUESTION, ["limit", "100"]]);
    const [head, ...rows] = cellsOfCsv((await downloaded(page, "rows.csv")).toString());
    assert.deepEqual(
      head,
      table.columns.map(({ name }) => name),
    );
    assert.deepEqual(
      rows,
      table.rows.map((row) => head.map((name) => (row[name] === null ? "" : String(row[name])))),
    );
    assert.ok(rows.length > 10);
    assert.deepEqual(JSON.parse(await downloaded(page, "rows.json")), table);
  }));

// The fields of a message of protocol buffers that have a length: [number, bytes].
function* messagesIn(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    if ((key & 7) === 0) varint();
    else {
      assert.equal(key & 7, 2, "pprof has numbers and messages alone");
      const length = Number(varint());
      yield [key >> 3, bytes.subarray(at, at + length)];
      at += length;
    }
  }
}

function varintsIn(bytes) {
  const values = [];
  let value = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte >= 128) continue;
    values.push(Number(value));
    [value, shift] = [0n, 0n];
  }
  return values;
}

test("profile.pb.gz is that of the API, and adds up to the flame graph's total", () =>
  within(explore("table"), {}, async (page) => {
    await page.waitForSelector(".answer table");
    const profile = gunzipSync(await downloaded(page, "profile.pb.gz"));
    const answered = await fetch(`${server}/api/v1/export/pprof?${new URLSearchParams(QUESTION)}`);
    assert.ok(profile.equals(gunzipSync(Buffer.from(await answered.arrayBuffer()))));
    const [SAMPLE, STRING] = [2, 6];
    const strings = [];
    let sum = 0;
    for (const [field, bytes] of messagesIn(profile)) {
      if (field === STRING) strings.push(bytes.toString());
      if (field !== SAMPLE) continue;
      const values = [...messagesIn(bytes)].find(([number]) => number === 2);
      sum += varintsIn(values[1]).at(-1);
    }
    const { tree } = await api("flame", [...QUESTION, ["limit", "100000"]]);
    assert.ok(Math.abs(sum / tree.total - 1) < 1e-6, `${sum}: ${tree.total}`);
    for (const name of ["decode_varint", "rpc::Server::Serve"]) assert.ok(strings.includes(name), name);
  }));

const selfOf = (node, name) =>
  (node.name === name ? node.self : 0) + node.children.reduce((sum, child) => sum + selfOf(child, name), 0);

test("stacks.folded has the stacks of the API's tree", () =>
  within(explore("flame"), {}, async (page) => {
    await page.waitForSelector(".flame canvas");
    const lines = (await downloaded(page, "stacks.folded")).toString().trimEnd().split("\n");
    const { tree } = await api("flame", [...QUESTION, ["limit", "100000"]]);
    const stacks = lines.map((line) => /^(.*) (\d+)$/.exec(line));
    const sum = (wanted) =>
      stacks.reduce((total, [, path, value]) => total + (wanted(path.split(";")) ? Number(value) : 0), 0);
    assert.equal(
      sum(() => true),
      tree.total,
    );
    for (const name of ["decode_varint", "crc32c::Extend", "search::Features::Dot"])
      assert.equal(
        sum((path) => path.at(-1) === name),
        selfOf(tree, name),
        name,
      );
  }));

test("flame.svg names each box with the API's share; flame.png is what is seen", () =>
  within(explore("flame"), {}, async (page) => {
    await page.waitForSelector(".flame canvas");
    await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
    const picture = (await downloaded(page, "flame.svg")).toString();
    const { tree } = await api("flame", [...QUESTION, ["limit", "100000"]]);
    const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
    let count = 0;
    const look = (node) => {
      if (node.total / tree.total < 0.02) return;
      const title = `<title>${escaped(node.name)}: ${percent(node.total / tree.total)},`;
      assert.ok(picture.includes(title), title);
      count += 1;
      node.children.forEach(look);
    };
    tree.children.forEach(look);
    assert.ok(count > 15, `${count} boxes`);
    assert.doesNotMatch(picture, /<script|href|onload|javascript:/);

    const file = await downloaded(page, "flame.png");
    assert.equal(file.subarray(1, 4).toString(), "PNG");
    const { width, height, different, colours } = await page.evaluate(async (bytes) => {
      const bitmap = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }));
      const copy = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      copy.drawImage(bitmap, 0, 0);
      const saved = copy.getImageData(0, 0, bitmap.width, bitmap.height).data;
      const canvas = document.querySelector(".flame canvas");
      const seen = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return {
        width: bitmap.width === canvas.width,
        height: bitmap.height === canvas.height,
        different: saved.reduce((sum, value, i) => sum + (Math.abs(value - seen[i]) > 2 ? 1 : 0), 0),
        colours: new Set(new Uint32Array(saved.buffer)).size,
      };
    }, [...file]);
    assert.ok(width && height, "it is as large");
    assert.equal(different, 0);
    assert.ok(colours > 5, `${colours} colours`);
  }));

const SIDES = [
  ["since", "1h"],
  ["earlier", "1h"],
];
const DIFF = `?page=diff&${new URLSearchParams(SIDES)}`;

test("a diff's table has the API's numbers, each with its verdict's colour", () =>
  within(DIFF, {}, async (page) => {
    await page.waitForSelector(".answer table");
    await page.getByRole("button", { name: /other rows? too/ }).click();
    const { rows } = await api("diff", [...SIDES, ["limit", "100"]]);
    const heads = await page.locator(".answer thead th").allTextContents();
    const place = heads.findIndex((text) => text.startsWith("self share change"));
    assert.ok(place > 0, heads.join(", "));
    const shown = await page.locator(".answer tbody tr").evaluateAll(
      (all, at) =>
        all.map((row) => ({
          name: row.children[0].textContent,
          text: row.children[at].textContent,
          bar: row.children[at].querySelector(".bar")?.className ?? "",
          verdicts: [...row.querySelectorAll(".verdict")].map((one) => one.textContent),
        })),
      place,
    );
    assert.equal(shown.length, rows.length);
    const classes = { more: "more", less: "less", "may be chance": "chance", "cannot tell": "unknown" };
    for (const row of rows.filter(({ function: name }) => name.length < 200 && !/[^ -~]/.test(name))) {
      const one = shown.find(({ name }) => name === (row.function || "(none)"));
      assert.ok(one !== undefined, row.function);
      assert.ok(one.verdicts.includes(row.self_verdict), `${row.function}: ${one.verdicts}`);
      if (row.self_share_change === null) continue;
      const change = percent(row.self_share_change).replace("-", "\u2212");
      assert.ok(one.text.includes(change), `${row.function}: ${one.text} has no ${change}`);
      assert.ok(one.bar.split(" ").includes(classes[row.self_verdict]), `${row.function}: ${one.bar}`);
    }
    const [, ...saved] = cellsOfCsv((await downloaded(page, "changes.csv")).toString());
    assert.equal(saved.length, rows.length);
  }));

test("a differential flame graph has the API's verdicts for colours, those of its legend", () =>
  within(DIFF, {}, async (page) => {
    await page.waitForSelector(".differential canvas");
    await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
    const { rows } = await api("diff", [...SIDES, ["limit", "100"]]);
    const verdicts = new Map(rows.map((row) => [row.function, row.total_verdict]));
    const { names, nodes } = await api("flame", [
      ["since", "1h"],
      ["limit", "100000"],
      ["form", "columns"],
    ]);
    // The root is above; children stand side by side in the answer's order.
    const width = await page.locator(".differential canvas").evaluate((canvas) => canvas.clientWidth);
    const scale = width / nodes.total[0];
    const free = [0];
    const places = { more: [], less: [], "may be chance": [] };
    for (const [node, depth] of nodes.depth.entries()) {
      const x = free[depth];
      free[depth] = x + nodes.total[node];
      free[depth + 1] = x;
      const of = places[verdicts.get(names[nodes.name[node]])];
      if (depth > 0 && nodes.total[node] * scale > 8) of?.push([x * scale + 2, depth * 20 + 16]);
    }
    const seen = await page.evaluate((asked) => {
      const canvas = document.querySelector(".differential canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const legend = (name) => getComputedStyle(document.querySelector(`.flame-legend .sample.${name}`)).backgroundColor;
      const colourAt = ([x, y]) => {
        const at = 4 * (y * canvas.width + Math.floor(x));
        return `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
      };
      return Object.entries(asked).map(([verdict, all]) => ({
        verdict,
        legend: legend(verdict === "may be chance" ? "chance" : verdict),
        drawn: [...new Set(all.filter(([, y]) => y < canvas.height).map(colourAt))],
      }));
    }, places);
    for (const { verdict, legend, drawn } of seen) assert.deepEqual(drawn, [legend], verdict);
    assert.equal(new Set(seen.map(({ legend }) => legend)).size, 3);
  }));

test("a diff's graph as a file has the colours of its verdicts", () =>
  within(DIFF, { colorScheme: "light" }, async (page) => {
    await page.waitForSelector(".differential canvas");
    const legend = (name) =>
      page
        .locator(`.flame-legend .sample.${name}`)
        .evaluate((one) => getComputedStyle(one).backgroundColor.match(/\d+/g).map(Number));
    const picture = (await downloaded(page, "flame.svg", "Graph as a file")).toString();
    const { rows } = await api("diff", [...SIDES, ["limit", "100"]]);
    for (const verdict of ["more", "less"]) {
      const colour = `#${(await legend(verdict)).map((part) => part.toString(16).padStart(2, "0")).join("")}`;
      const judged = rows.filter((row) => row.total_verdict === verdict && /^[\w:]+$/.test(row.function));
      const boxes = judged.flatMap(
        (row) => picture.match(new RegExp(`<title>${row.function}: [^<]*</title><rect[^>]*>`, "g")) ?? [],
      );
      assert.ok(boxes.length > 0, `no box of ${verdict}`);
      for (const box of boxes) assert.ok(box.includes(`fill="${colour}"`), `${box}: ${colour}`);
    }
  }));

// As if the changes were the same and far less had been measured: here all that are not zero are told from chance.
function muchLessMeasured(answer) {
  for (const row of answer.rows)
    if (typeof row.self_share_change_margin === "number")
      Object.assign(row, { self_share_change_margin: 8 * row.self_share_change_margin, self_verdict: "may be chance" });
  return answer;
}

test("the largest changes that may be chance are listed with what would tell", () =>
  within("?page=views", {}, async (page) => {
    await page.route("**/api/v1/diff?*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: muchLessMeasured(await response.json()) });
    });
    await page.goto(`${server}/${DIFF}`);
    await page.waitForSelector(".undecided");
    const { rows } = muchLessMeasured(await api("diff", [...SIDES, ["limit", "100"]]));
    const size = ({ self_share_change: value }) => Math.abs(value);
    const shown = await page
      .locator(".undecided li")
      .evaluateAll((all) => all.map((one) => [one.querySelector(".name").textContent, one.textContent]));
    assert.ok(shown.length > 0 && shown.length <= 5, shown.join("; "));
    // Names that are cut, or whose invisible letters are shown as codes, are not the API's.
    const plain = shown.filter(([name]) => name.length < 199 && !/\\u|\u2026/.test(name));
    const named = plain.map(([name, text]) => {
      const row = rows.find((candidate) => (candidate.function || "(none)") === name);
      assert.ok(row !== undefined, name);
      assert.equal(row.self_verdict, "may be chance", text);
      assert.ok(text.includes(percent(row.self_share_change).replace("-", "\u2212")), text);
      assert.match(text, /\d\u00d7$/, "times as much");
      return row;
    });
    assert.deepEqual(named, [...named].sort((a, b) => size(b) - size(a)), "the largest first");
  }));
