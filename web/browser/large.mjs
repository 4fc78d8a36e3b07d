import assert from "node:assert/strict";
import { test } from "node:test";
import { api, within } from "./support.mjs";

test("100,000 nodes are drawn, zoomed and searched", () =>
  within("?page=explore&show=icicle", { reducedMotion: "no-preference" }, async (page) => {
    await page.waitForSelector(".flame canvas", { timeout: 60_000 });
    await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0, undefined, {
      timeout: 60_000,
    });
    const { nodes } = await api("flame", [
      ["limit", "100000"],
      ["form", "columns"],
    ]);
    assert.equal(nodes.name.length, 100_000);
    const figures = await page.evaluate(() => {
      const at = (name) => performance.getEntriesByName(name)[0].startTime;
      const resource = performance.getEntriesByType("resource").find(({ name }) => name.includes("/flame?"));
      return {
        drawn_after_data_ms: at("flame drawn") - at("flame data"),
        drawn_after_response_ms: at("flame drawn") - resource.responseEnd,
        encoded_bytes: resource.encodedBodySize,
        decoded_bytes: resource.decodedBodySize,
      };
    });
    // Frames while a zoom is animated.
    await page.evaluate(() => {
      window.frames_seen = [];
      const see = (now) => {
        window.frames_seen.push(now);
        requestAnimationFrame(see);
      };
      requestAnimationFrame(see);
    });
    const box = await page.locator(".flame canvas").boundingBox();
    for (const row of [2, 3, 4, 1]) {
      await page.mouse.click(box.x + 60, box.y + row * 20 + 8);
      await page.waitForTimeout(350);
    }
    const gaps = await page.evaluate(() =>
      window.frames_seen
        .slice(1)
        .map((time, i) => time - window.frames_seen[i])
        .sort((a, b) => a - b),
    );
    figures.frame_median_ms = gaps[Math.floor(gaps.length / 2)];
    figures.frame_p95_ms = gaps[Math.floor(gaps.length * 0.95)];
    console.log("figures", JSON.stringify(figures));
    await page.getByRole("searchbox").fill("layer13::function_7$");
    await page.waitForFunction(() => /match/.test(document.querySelector(".matched")?.textContent ?? ""));
  }));

test("stacks of 3,000 frames are scrolled, on a canvas no taller than the window", () =>
  within("?page=explore&show=icicle&where=function%3Ddeep", {}, async (page) => {
    await page.waitForSelector(".flame canvas");
    await page.waitForFunction(() => performance.getEntriesByName("flame drawn").length > 0);
    const sizes = await page.evaluate(() => {
      const scroll = document.querySelector(".flame-scroll");
      return {
        content: scroll.scrollHeight,
        canvas: document.querySelector(".flame canvas").height,
        window: innerHeight,
      };
    });
    assert.ok(sizes.content >= 3000 * 20, JSON.stringify(sizes));
    assert.ok(sizes.canvas <= sizes.window, JSON.stringify(sizes));
    await page.locator(".flame-scroll").focus();
    await page.evaluate(() => document.querySelector(".flame-scroll").scrollTo(0, 1e6));
    await page.waitForTimeout(100);
    const isDrawn = await page.evaluate(() => {
      const canvas = document.querySelector(".flame canvas");
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const colours = new Set();
      for (let at = 0; at < pixels.length; at += 4 * 997)
        colours.add(`${pixels[at]} ${pixels[at + 1]} ${pixels[at + 2]}`);
      return colours.size;
    });
    assert.ok(isDrawn > 2, `${isDrawn} colours`);
    await page.goto(page.url().replace("icicle", "flame"));
    await page.waitForSelector(".flame canvas");
    await page.waitForFunction(() => document.querySelector(".flame-scroll").scrollTop > 50_000);
  }));
