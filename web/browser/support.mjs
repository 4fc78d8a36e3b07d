// What the tests in a browser share.
import assert from "node:assert/strict";
import http from "node:http";
import { createRequire } from "node:module";
import { execFile, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const server = process.env.PLIMSOLL_URL;
export const NARROW = "\u202f";
export const NARROW_PIXELS = 400; // a window that every page has to fit

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
});
after(() => browser?.close());

// A page that reports what no page may do: errors on the console, and requests to any other host.
export async function opened(address, options = {}) {
  const { base = server, expectErrors = false, ...settings } = options;
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    reducedMotion: "reduce",
    timezoneId: "UTC",
    acceptDownloads: true,
    ...settings,
  });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${base}/`) && !url.startsWith("blob:") && !url.startsWith("data:"))
      wrong.push(`request: ${url}`);
  });
  // What the page was told first, by question ("status?by=work"): of answers that change with time.
  const told = new Map();
  page.on("response", (response) => {
    const [, question] = response.url().split("/api/v1/");
    if (question !== undefined && !told.has(question))
      told.set(
        question,
        response.json().catch(() => undefined),
      );
  });
  page.setDefaultTimeout(60_000); // only guards against hanging: machines that test may be busy
  await page.goto(`${base}/${address}`);
  return {
    page,
    wrong,
    told,
    async close() {
      await context.close();
      if (!expectErrors) assert.deepEqual(wrong, []);
    },
  };
}

export async function within(address, options, use) {
  const open = await opened(address, options);
  try {
    await use(open.page, open);
  } catch (error) {
    error.message += `\n${open.wrong.join("\n")}`;
    throw error;
  }
  await open.close();
}

// A question asked on the start page and answered with at most `most` clicks; `click` counts.
export async function askedCold(most, walk) {
  await within("", {}, async (page) => {
    await page.waitForSelector(".panel.wide table");
    let clicks = 0;
    await walk(page, async (target) => {
      clicks += 1;
      await target.click();
    });
    assert.ok(clicks <= most && clicks <= 3, `${clicks} clicks`);
  });
}

export async function api(view, parameters = [], token = "") {
  const query = new URLSearchParams(parameters).toString();
  const response = await fetch(
    `${server}/api/v1/${view}?${query}`,
    token === "" ? {} : { headers: { Authorization: `Bearer ${token}` } },
  );
  assert.equal(response.status, 200, `${view}?${query}`);
  return response.json();
}

// The command line, which refuses variables of the environment that it does not know.
export function plimsoll(...parameters) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("PLIMSOLL_")),
  );
  return execFileSync(`${process.env.PLIMSOLL_BIN}/plimsoll`, parameters, { env, encoding: "utf8" });
}

// Machines of a made-up fleet (page_fleet, page_hardware) are live for 15 s after they were heard: they report until the file's tests end,
// however long a test takes.
export function keepsReporting(fleet) {
  const command = [
    `${process.env.PLIMSOLL_BIN}/${fleet}`,
    ["register", `http://${process.env.PLIMSOLL_FLEET}`],
  ];
  const report = () => execFileSync(...command);
  report();
  let ended = false;
  let timer;
  const again = () => {
    if (!ended) timer = setTimeout(() => execFile(...command, again), 3000);
  };
  again();
  after(() => {
    ended = true;
    clearTimeout(timer);
  });
  return report; // once more, at once
}

export function percent(share) {
  const value = share * 100;
  return value !== 0 && Math.abs(value) < 0.005
    ? `<${NARROW}0.01${NARROW}%`
    : `${value.toFixed(2)}${NARROW}%`;
}

export function parametersOf(page) {
  return new URL(page.url()).searchParams;
}

// Rows of the table in the answer: texts of their cells.
export async function cellsOf(page, selector = ".answer table") {
  return page
    .locator(`${selector} tbody tr`)
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
}

// What has moved so far without being asked to, as browsers sum it; under 0.1 counts as good (web.dev/cls). moved: what, and how far.
export function layoutShift(page) {
  return page.evaluate(
    () =>
      new Promise((done) => {
        let sum = 0;
        const moved = [];
        const named = ({ node, previousRect, currentRect }) =>
          `${node?.localName ?? node?.nodeName}.${node?.className ?? ""} ${previousRect.y} to ${currentRect.y}`;
        new PerformanceObserver((list) => {
          for (const { value, sources } of list.getEntries()) {
            sum += value;
            moved.push(`${value.toFixed(3)}: ${sources.map(named).join(", ")}`);
          }
        }).observe({ type: "layout-shift", buffered: true });
        requestAnimationFrame(() => requestAnimationFrame(() => done({ sum, moved })));
      }),
  );
}

// A proxy as operators have it: below a path, and while !isUp without its server. A request that `holds` says is kept (in `held`) and not
// answered; isGivenUp once the browser has closed it, which a proxy passes on to the server.
export function proxy(prefix) {
  const behind = { isUp: true, holds: () => false, held: [] };
  const keep = (response) => {
    const one = { isGivenUp: false };
    one.ended = new Promise((ended) =>
      response.on("close", () => {
        one.isGivenUp = !response.writableEnded;
        ended();
      }),
    );
    behind.held.push(one);
  };
  const forward = (request, response) => {
    const target = new URL(server);
    const forwarded = http.request(
      {
        host: target.hostname,
        port: target.port,
        path: request.url.slice(prefix.length),
        method: request.method,
        headers: { ...request.headers, host: target.host },
      },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      },
    );
    forwarded.on("error", () => request.socket.destroy());
    response.on("close", () => response.writableEnded || forwarded.destroy());
    request.pipe(forwarded);
  };
  const listening = http.createServer((request, response) => {
    if (!behind.isUp || !request.url.startsWith(`${prefix}/`)) request.socket.destroy();
    else if (behind.holds(request.url.slice(prefix.length))) keep(response);
    else forward(request, response);
  });
  behind.close = () =>
    new Promise((closed) => {
      listening.closeAllConnections();
      listening.close(closed);
    });
  return new Promise((resolve) => {
    listening.listen(0, "127.0.0.1", () => {
      behind.base = `http://127.0.0.1:${listening.address().port}${prefix}`;
      resolve(behind);
    });
  });
}

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// What axe-core finds that is serious. Evaluated by the debugger's side: the page's policy permits no script of others.
export async function seriousFindings(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary})`)
          .join("; ")}`,
    );
}
