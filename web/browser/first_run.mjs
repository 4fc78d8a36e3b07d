import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { seriousFindings, within } from "./support.mjs";

test("while no machine has registered the page says how to start one, and notices the first", () =>
  within("", {}, async (page) => {
    await page.getByText("plimsolld --server 127.0.0.1:7071").waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    execFileSync(`${process.env.PLIMSOLL_BIN}/page_fleet`, [
      "register",
      `http://${process.env.PLIMSOLL_FLEET}`,
    ]);
    await page.getByText("16 machines registered, no profile yet").waitFor();
    assert.deepEqual(await seriousFindings(page), []);
  }));

test("a question without profiles leads there too", () =>
  within("?page=explore&since=1h&show=flame", {}, async (page) => {
    await page.getByText("no profile yet").waitFor();
  }));
