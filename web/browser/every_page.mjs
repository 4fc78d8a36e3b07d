// What holds for every page, whatever it shows. PLIMSOLL_PAGES: the fleet whose pages are looked at, that of the server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { HARDWARE_PAGES, PAGES, settled } from "./pages.mjs";
import { keepsReporting, layoutShift, NARROW_PIXELS, seriousFindings, server, within } from "./support.mjs";

const all = [...PAGES, ...HARDWARE_PAGES];
const pages = all.filter(({ fleet }) => fleet === process.env.PLIMSOLL_PAGES);
assert.ok(pages.length > 0, `no pages of ${process.env.PLIMSOLL_PAGES}`);

keepsReporting(process.env.PLIMSOLL_PAGES);

function everyPage(says, look, options = {}) {
  for (const one of pages)
    test(`${one.name}: ${says}`, () =>
      within(one.address, { ...options, expectErrors: one.expectErrors ?? false }, async (page, open) => {
        await settled(page, one);
        await look(page, one, open);
      }));
}

test("the list has every page that the navigation has", () =>
  within("", {}, async (page) => {
    await page.waitForSelector(".top nav a");
    const titles = await page.locator(".top nav a").allInnerTexts();
    assert.deepEqual([...new Set(all.map(({ page: title }) => title))].sort(), titles.sort());
  }));

test("light and dark follow the system until the reader chooses", () =>
  within("", { colorScheme: "dark" }, async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.waitForSelector(".top");
    const dark = await ground();
    await page.emulateMedia({ colorScheme: "light" });
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, dark);
    await page.getByRole("button", { name: "Switch to dark colours" }).click();
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor === before, dark);
    await page.reload();
    await page.waitForSelector(".top");
    assert.equal(await ground(), dark);
  }));

// What can be operated, in the page: each is given a number. One that is scrolled away counts, one that is hidden does not.
function numberControls() {
  const isThere = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return element.checkVisibility({ checkVisibilityCSS: true }) && width > 0 && height > 0;
  };
  const controls = [
    ...document.querySelectorAll(
      "a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])",
    ),
  ].filter((element) => !element.disabled && element.tabIndex >= 0 && isThere(element));
  window.controls = new Map(controls.map((element, i) => [element, i]));
  const named = (element) =>
    `${element.localName} "${(element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 60)}"`;
  // A focus is seen by a line or a shadow around the element that it has not without it, and by nothing lying over it.
  window.focusSeen = () => {
    const element = document.activeElement;
    const place = window.controls.get(element);
    if (place === undefined) return { place: -1, name: element?.localName ?? "" };
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const isMarked = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
    const [box] = element.getClientRects();
    const [x, y] = [
      Math.min(box.right - 1, Math.max(box.left + 1, Math.max(0, box.left) + Math.min(8, box.width / 2))),
      box.top + Math.min(8, box.height / 2),
    ];
    const over = document.elementFromPoint(x, y);
    const isUncovered =
      over !== null && (element.contains(over) || over.contains(element) || over.closest("label")?.control === element);
    return { place, name: named(element), isMarked, isUncovered: isUncovered, at: [x, y], over: over?.outerHTML.slice(0, 80) };
  };
  return controls.map(named);
}

everyPage("Tab reaches every control, its focus is seen, and nothing holds it", async (page) => {
  const names = await page.evaluate(numberControls);
  assert.ok(names.length >= 12, names.join(", "));
  const reached = new Set();
  const wrong = [];
  for (let presses = 0; presses < 2 * names.length && reached.size < names.length; ++presses) {
    await page.keyboard.press("Tab");
    const seen = await page.evaluate(() => window.focusSeen());
    if (seen.place < 0) continue; // the browser's own controls come after the last one
    if (!reached.has(seen.place) && !seen.isMarked) wrong.push(`not marked: ${seen.name}`);
    if (!reached.has(seen.place) && !seen.isUncovered)
      wrong.push(`covered: ${seen.name} at ${seen.at} by ${seen.over}`);
    reached.add(seen.place);
  }
  assert.deepEqual(
    names.filter((_, i) => !reached.has(i)),
    [],
    "not reached",
  );
  assert.deepEqual(wrong, []);
  const place = () => page.evaluate(() => window.focusSeen().place);
  for (let presses = 0; presses < 4 && (await place()) !== 0; ++presses) await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  const before = await place();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await place(), before, "Shift and Tab go back");
});

// What a reader would miss: what is asked, what it is called, and, where time does not change it, the answer.
async function contentOf(page, { lasts }) {
  return page.evaluate((hasAnswer) => {
    const texts = (selector) =>
      [...document.querySelectorAll(`main ${selector}`)].map((element) => element.textContent.trim());
    return {
      address: location.search,
      title: document.title,
      headings: texts("h1, main h2"),
      asked: [...document.querySelectorAll("main input, main select, main textarea")].map(({ value }) => value),
      pressed: texts("[aria-current], main [aria-pressed=true], main .chip"),
      captions: texts("caption"),
      tables: hasAnswer ? texts("tbody") : [],
      told: hasAnswer ? texts(".coverage, main .big-figure, main .crumbs, main .matched") : [],
    };
  }, lasts === true);
}

everyPage("the back button, a reload and a link to it restore the address and the content", async (page, one) => {
  // A part that comes with an answer of its own is there a moment after the others. A page that keeps asking is never idle.
  await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
  const before = await contentOf(page, one);
  const same = async (of, says) => {
    await settled(of, one);
    await of.waitForFunction((title) => document.title === title, before.title);
    let content;
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
      content = await contentOf(of, one);
      if (isDeepStrictEqual(content, before)) break;
    }
    assert.deepEqual(content, before, says);
  };
  const other = one.page === "Views" ? "Diff" : "Views";
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: other }).click();
  await page.waitForFunction((title) => document.title.startsWith(title), other);
  await page.goBack();
  await same(page, "back");
  await page.reload();
  await same(page, "reload");
  const link = page.url();
  await within(link.slice(server.length + 1), { expectErrors: one.expectErrors ?? false }, (fresh) =>
    same(fresh, "link"),
  );
});

// Answers come one after the other, so that each has the chance to push down what is there already.
for (const one of pages)
  test(`${one.name}: nothing jumps while answers come`, () =>
    within("?page=views", { expectErrors: one.expectErrors ?? false }, async (page) => {
      let asked = 0;
      await page.route("**/api/v1/**", async (route) => {
        const wait_ms = 40 * (asked++ % 8);
        await new Promise((done) => setTimeout(done, wait_ms));
        await route.continue().catch(() => undefined); // a question may be given up meanwhile
      });
      await page.goto(`${server}/${one.address}`);
      await settled(page, one);
      const { sum, moved } = await layoutShift(page);
      console.log(`layout shift of ${one.name}: ${sum.toFixed(4)}`);
      assert.ok(sum < 0.1, `${sum.toFixed(3)}: ${moved.join("; ")}`);
    }));

const HOSTILE = [
  '<img src=x onerror="window.hostile=1"><script>window.hostile=1</script>',
  "name\u202egnp.exe\u200b\u0007",
  "=HYPERLINK(\"javascript:window.hostile=1\");'--",
  `long ${"x".repeat(100_000)}`,
];
// Texts that the page takes for more than a name: times, states, verdicts and what explains them.
const MEANT =
  /(^|_)(time|since|from|to|until|seen|next|begin|end|state|verdict|kind|unit|stopped|by|budget|outcome|certain|draw|newest|last_.*|.*_at)$/;

// The answer as if other people's programs, jobs and machines had these names.
function poisoned(answer) {
  const name = (i) => `${HOSTILE[i % HOSTILE.length]}${i}`;
  const { columns = [] } = answer;
  for (const [i, row] of (answer.rows ?? []).entries())
    for (const { name: column } of columns)
      if (typeof row[column] === "string" && row[column] !== "" && !MEANT.test(column)) row[column] = name(i);
  for (const texts of ["names", "binaries", "files"])
    if (Array.isArray(answer[texts]))
      answer[texts] = answer[texts].map((text, i) => (text === "" || (texts === "names" && i === 0) ? text : name(i)));
  for (const [i, one] of (answer.coverage?.unsymbolized_by ?? []).entries())
    Object.assign(one, { binary: name(i), reason: name(i + 1) });
  if (Array.isArray(answer.notes) && answer.notes.length > 0) answer.notes.push(name(0), name(1));
  return answer;
}

for (const one of pages)
  test(`${one.name}: names are text, however hostile or long`, () =>
    // Questions about such names find nothing, which the browser notes on its console.
    within("?page=views", { expectErrors: true, viewport: { width: 400, height: 800 } }, async (page, { wrong }) => {
      let isPoisoned = false;
      await page.route(/\/api\/v1\/(?!registry)/, async (route) => {
        const response = await route.fetch().catch(() => undefined);
        if (response === undefined) return;
        const isAnswer = response.ok() && (response.headers()["content-type"] ?? "").includes("json");
        isPoisoned ||= isAnswer;
        const given = isAnswer ? { json: poisoned(await response.json()) } : {};
        await route.fulfill({ response, ...given }).catch(() => undefined);
      });
      await page.goto(`${server}/${one.address}`);
      await page.waitForFunction(() => document.querySelector("main h1"));
      await page.waitForLoadState("networkidle");
      await page.waitForFunction(() => !document.querySelector(".placeholder"));
      assert.ok(isPoisoned || one.name === "views");
      const seen = await page.evaluate(() => {
        const texts = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) texts.push(walker.currentNode.data);
        const attributes = [...document.querySelectorAll("main *")].flatMap((element) =>
          [...element.attributes]
            .filter(({ name }) => ["title", "aria-label", "alt", "placeholder"].includes(name))
            .map(({ value }) => value),
        );
        return {
          ran: window.hostile,
          elements: document.querySelectorAll("body :is(img, script, iframe, object, b > script)").length,
          longest: Math.max(0, ...texts.map((text) => text.length)),
          longestAttribute: Math.max(0, ...attributes.map((text) => text.length)),
          turned: [...texts, ...attributes].filter((text) => /[\u200b\u202e\u0007]/.test(text)).map((text) => text.slice(0, 80)),
          links: [...document.querySelectorAll("main a[href]")]
            .map(({ protocol }) => protocol)
            .filter((protocol) => !["http:", "blob:"].includes(protocol)),
          widest: document.documentElement.scrollWidth,
        };
      });
      assert.equal(seen.ran, undefined, "no name is run");
      assert.equal(seen.elements, 0, "no name is markup");
      assert.deepEqual(seen.turned, [], "no name turns its neighbours around");
      assert.deepEqual(seen.links, [], "no name is the address of a link");
      assert.ok(seen.longest <= 2100, `a text has ${seen.longest} characters`);
      assert.ok(seen.longestAttribute <= 4200, `an attribute has ${seen.longestAttribute} characters`);
      assert.ok(seen.widest <= NARROW_PIXELS, `the page is ${seen.widest} pixels wide`);
      assert.deepEqual(
        wrong.filter((text) => text.startsWith("exception")),
        [],
      );
    }));

everyPage("axe-core finds nothing serious, light and dark, and 400 pixels are wide enough", async (page, one) => {
  assert.deepEqual(await seriousFindings(page), [], "light");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForSelector("[data-theme=dark]");
  assert.deepEqual(await seriousFindings(page), [], "dark");
  await page.setViewportSize({ width: NARROW_PIXELS, height: 800 });
  await page.waitForFunction((width) => innerWidth === width, NARROW_PIXELS);
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  const narrowed = await width();
  assert.ok(narrowed <= NARROW_PIXELS, `the page is ${narrowed} pixels wide`);
  await page.reload();
  await settled(page, one);
  const fresh = await width();
  assert.ok(fresh <= NARROW_PIXELS, `the page is ${fresh} pixels wide from the start`);
}, { colorScheme: "light" });

// The page's clock is the test's: ten minutes pass at once.
for (const one of pages)
  test(`${one.name}: a hidden tab asks nothing, and what is old is asked again once it is shown`, () =>
    within("?page=views", { expectErrors: one.expectErrors ?? false }, async (page) => {
      await page.clock.install();
      await page.addInitScript(() => {
        window.isSeen = true;
        Object.defineProperty(document, "hidden", { get: () => !window.isSeen });
      });
      const show = (isSeen) =>
        page.evaluate((value) => {
          window.isSeen = value;
          document.dispatchEvent(new Event("visibilitychange"));
        }, isSeen);
      const asked = [];
      page.on("request", (request) => {
        if (request.url().includes("/api/v1/")) asked.push(request.url().split("/api/v1/")[1]);
      });
      await page.goto(`${server}/${one.address}`);
      await page.clock.runFor(1000);
      await settled(page, one, false);
      const first = new Set(asked);
      assert.ok(first.size > 0);
      asked.length = 0;
      // As long as it is seen, it keeps itself up to date.
      await page.clock.runFor(61_000);
      await page.waitForLoadState("networkidle");
      const refreshed = new Set(asked);
      await settled(page, one, false);
      await show(false);
      asked.length = 0;
      await page.clock.runFor(600_000);
      await page.waitForLoadState("networkidle");
      assert.deepEqual(asked, [], "while it is hidden");
      await show(true);
      await page.clock.runFor(1000);
      await settled(page, one, false);
      // Each question once, and those that it would have asked meanwhile.
      assert.deepEqual([...new Set(asked)].sort(), [...refreshed].sort(), "once it is shown");
      assert.equal(asked.length, refreshed.size, "each once");
    }));
