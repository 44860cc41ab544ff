// A Chromium for the tests, and what every page must keep: no error in the console, no request to elsewhere, no serious
// finding of axe-core.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const packages = createRequire(`${process.env.PERJOULE_WEB_PACKAGES}/index.js`);
const { chromium } = packages("playwright-core");
const axe = readFileSync(packages.resolve("axe-core/axe.min.js"), "utf8");
const screenshots = process.env.PERJOULE_SCREENSHOTS;

export function launch() {
  return chromium.launch({ executablePath: process.env.PERJOULE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-precise-memory-info"] });
}

/** A page that keeps what went wrong in it. `expected` are errors that a test makes happen. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  const requests = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(address);
  return {
    page, requests, wrong,
    async end(expected = []) {
      await context.close();
      assert.deepEqual(wrong.filter((text) => !expected.some((pattern) => pattern.test(text))), [], "nothing is in the console");
    },
  };
}

export async function accessible(page) {
  // Put in by the debugger, past the page's own policy, which lets no script in.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`).join("; ")}`), []);
}

export async function noSidewaysScroll(page) {
  const { wide, room } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, room: innerWidth }));
  assert.ok(wide <= room, `the page is ${wide} wide on a screen of ${room}`);
}

export async function screenshot(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}
