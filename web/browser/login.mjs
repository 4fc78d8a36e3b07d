import assert from "node:assert/strict";
import { test } from "node:test";
import { seriousFindings, within } from "./support.mjs";

test("a server that requires a token asks for it, and refuses a wrong one in words", () =>
  within("", { expectErrors: true }, async (page) => {
    await page.getByText("This server requires a token").waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await page.getByLabel("Token").fill("not the token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("unknown token").waitFor();
    await page.getByLabel("Token").fill(process.env.PLIMSOLL_TOKEN);
    await page.getByLabel("Token").press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    assert.ok(!page.url().includes(process.env.PLIMSOLL_TOKEN));
    await page.reload();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("This server requires a token").waitFor();
    assert.equal(
      await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }])),
      "[{},{}]",
    );
  }));
