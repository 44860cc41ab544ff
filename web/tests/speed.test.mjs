// How small and how fast. Beside other work the times would be theirs: this file runs alone.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { launch, open } from "./browser.mjs";
import { million, startServer } from "./server.mjs";

// A daemon elsewhere needs a long run: PERJOULE_RUN is its id.
const server = process.env.BASE_URL ? { url: process.env.BASE_URL, asked: [], close: () => {} } : await startServer();
const run = process.env.PERJOULE_RUN ?? million;
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser.close();
  await server.close();
});

test("the bundle is at most 250 kB, gzipped", () => {
  const dist = new URL("../dist/", import.meta.url);
  const files = ["index.html", ...readdirSync(new URL("assets/", dist)).map((name) => `assets/${name}`)];
  const bytes = files.reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, dist)), { level: 9 }).length, 0);
  console.log(`${bytes} bytes gzipped`);
  assert.ok(bytes <= 250_000, `${bytes} bytes gzipped`);
});

/** The best of three: what else the machine does can only make it slower. */
async function best(good, measure) {
  const found = [];
  while (found.length < 3 && !found.some(good)) found.push(await measure());
  return found.find(good) ?? found.at(-1);
}

test("the first paint comes within a second", async () => {
  const paint = await best((ms) => ms <= 1000, async () => {
    const { page, end } = await open(browser, server.url);
    await page.waitForSelector("h1");
    const found = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    console.log(`first paint after ${Math.round(found)} ms`);
    await end();
    return found;
  });
  assert.ok(paint <= 1000, `first paint after ${paint} ms`);
});

test("a million samples pan at 30 frames a second", async () => {
  const rate = await best((frames) => frames >= 30, pan);
  assert.ok(rate >= 30, `${rate} frames a second`);
});

/** Drags a chart to and fro for two seconds; the frames a second meanwhile. */
async function pan() {
  const { page, end } = await open(browser, `${server.url}#/runs/${run}`);
  const questions = () => server.asked.filter((one) => one.path.includes("/timeline"));
  await page.getByText(/samples; the band/).waitFor();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.waitForTimeout(500);
  const box = await page.locator(".u-over").boundingBox();
  const asked = questions().length;
  await page.evaluate(() => {
    globalThis.frames = [];
    const frame = (at) => globalThis.frames.push(at) && requestAnimationFrame(frame);
    requestAnimationFrame(frame);
  });
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  await page.mouse.down();
  const begin = Date.now();
  for (let step = 0; Date.now() - begin < 2000; step++) await page.mouse.move(box.x + box.width / 2 + 250 * Math.sin(step / 12), box.y + 100);
  // None while it moves: each move puts the question off.
  const meanwhile = questions().length - asked;
  const frames = await page.evaluate(() => globalThis.frames);
  await page.mouse.up();
  const rate = (frames.length - 1) / ((frames.at(-1) - frames[0]) / 1000);
  const longest = Math.max(...frames.slice(1).map((at, index) => at - frames[index]));
  console.log(`${rate.toFixed(1)} frames/s while panning, longest ${longest.toFixed(0)} ms, ${meanwhile} questions meanwhile`);
  assert.ok(meanwhile <= 12, `${meanwhile} questions while it moved`);
  await end();
  return rate;
}
