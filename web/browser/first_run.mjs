import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { seriousFindings, within } from "./support.mjs";

test("health has something to say before the first machine, and finds nothing wrong with that", () =>
  within("?page=health", {}, async (page) => {
    await page.getByText("No machine has registered.").waitFor();
    await page.getByText("No profiles yet.").waitFor();
    await page.getByText("No live daemon has reported yet what it takes.").waitFor();
    await page.waitForSelector("section[aria-labelledby=questions] table");
    assert.deepEqual(await seriousFindings(page), []);
  }));

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
