// A run of a million samples: the page asks for the span that is seen, once it rests.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { million, startServer } from "./server.mjs";

// Of a run whose samples are known: this server's own.
const server = await startServer();
const address = `${server.url}#/runs/${million}`;
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser.close();
  await server.close();
});
const questions = () => server.asked.filter((one) => one.path.includes("/timeline"));

async function shown() {
  const opened = await open(browser, address);
  await opened.page.getByText("1\u202f000\u202f000 samples").waitFor();
  return opened;
}

test("keys pan and zoom, and finer figures are asked for", async () => {
  const { page, end } = await shown();
  const chart = page.getByRole("group", { name: /^Power over the run/ });
  const before = questions().length;
  await chart.focus();
  for (let press = 0; press < 6; press++) await page.keyboard.press("+");
  await page.waitForTimeout(600);
  const last = new URL(questions().at(-1).path, server.url).searchParams;
  assert.ok(questions().length > before);
  // A sixty-fourth of the run is seen, and as much again is asked for beside it.
  assert.ok(Math.abs((last.get("to") - last.get("from")) / (2 * 10_000_000 / 64) - 1) < 0.02, `${last.get("to") - last.get("from")} ms asked for`);
  assert.ok(last.get("points") <= 4000, `${last.get("points")} points`);
  await page.keyboard.press("ArrowRight");
  await page.waitForTimeout(600);
  const moved = new URL(questions().at(-1).path, server.url).searchParams;
  assert.ok(Number(moved.get("from")) > Number(last.get("from")));
  await page.keyboard.press("Home");
  await page.waitForTimeout(600);
  assert.ok(new URL(questions().at(-1).path, server.url).searchParams.get("to") - new URL(questions().at(-1).path, server.url).searchParams.get("from") > 9_999_000);
  await end();
});

test("the wheel scrolls the page, with Ctrl it zooms", async () => {
  const { page, end } = await shown();
  const box = await page.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + 200, box.y + 100);
  const before = questions().length;
  await page.mouse.wheel(0, 200);
  await page.waitForTimeout(400);
  assert.equal(questions().length, before);
  assert.ok(await page.evaluate(() => scrollY) > 0);
  const now = await page.locator(".u-over").boundingBox();
  await page.mouse.move(now.x + 200, now.y + 100);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await page.waitForTimeout(400);
  assert.ok(questions().length > before);
  await end();
});
