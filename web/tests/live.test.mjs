// The live view: pictures as they come, a stream that breaks, what is missing, and a daemon that asks for a token.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { startServer } from "./server.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

// A daemon elsewhere sends what it has; what these tests make happen they can make happen here alone.
const elsewhere = process.env.BASE_URL;
const here = { skip: elsewhere && "of the test's own server" };

/** A server for one test, and a page that shows it. */
async function watching(options, run, expected = []) {
  const server = elsewhere ? { url: elsewhere, close: () => {} } : await startServer(options);
  const shown = await open(browser, server.url);
  try {
    await run(server, shown.page);
    await shown.end(expected);
  } finally {
    await server.close();
  }
}

// Its power may stand still; with its energy it does not.
const figures = async (page) => (await page.locator(".figure .value").allTextContents()).join();

test("pictures are drawn as they come, 20 a second here", () => watching({ hertz: 20 }, async (server, page) => {
  await page.getByText("● live").waitFor();
  await page.waitForFunction(() => /W$/.test(document.querySelector(".figure .value")?.textContent ?? ""));
  const first = await figures(page);
  await page.waitForTimeout(elsewhere ? 5000 : 1500);
  assert.notEqual(await figures(page), first);
  assert.ok(await page.locator(".card").count() > 0);
}));

test("a stream that breaks is taken up where it was", here, () => watching({ hertz: 20 }, async (server, page) => {
  await page.getByText("● live").waitFor();
  await page.waitForTimeout(500);
  const before = server.sequence();
  server.cut();
  await page.getByText("connection lost, trying again").waitFor();
  await page.getByText("● live").waitFor();
  const resumed = server.asked.filter((one) => one.path.endsWith("/node/live")).at(-1);
  assert.ok(Math.abs(Number(resumed.headers["last-event-id"]) - before) <= 2, `resumed behind ${resumed.headers["last-event-id"]} of ${before}`);
}, [/ERR_/]));

test("a power that nobody knows is missing, and so is the sum", here, () => watching({ hertz: 10, lost: true }, async (server, page) => {
  await page.locator(".figure .value.lost").first().waitFor();
  assert.equal(await page.locator(".figure .value").first().textContent(), "missing");
  assert.match(await page.locator(".card").nth(1).textContent(), /missing/);
  assert.equal(await page.locator(".card").nth(1).locator(".chip-missing").count(), 1);
}));

test("a token is asked for, kept for the tab and sent with all, the stream too", here, () => watching({ hertz: 5, token: "open sesame" }, async (server, page) => {
  await page.getByLabel("Token").fill("open sesame");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("● live").waitFor();
  await page.locator(".card").first().waitFor();
  assert.equal(server.asked.filter((one) => one.path.endsWith("/node/live")).at(-1).headers.authorization, "Bearer open sesame");
}, [/401/]));

// Two minutes are too long for every change: PERJOULE_LONG=1 asks for it.
test("an open page does not grow", { skip: !process.env.PERJOULE_LONG && "PERJOULE_LONG is not set" }, () => watching({ hertz: 20 }, async (server, page) => {
  const client = await page.context().newCDPSession(page);
  const heap = async () => {
    await client.send("HeapProfiler.collectGarbage");
    return (await client.send("Runtime.getHeapUsage")).usedSize / 2 ** 20;
  };
  await page.getByRole("button", { name: "2 min" }).click();
  await page.waitForTimeout(65_000);
  const early = await heap();
  await page.waitForTimeout(60_000);
  const late = await heap();
  console.log(`heap ${early.toFixed(1)} MiB after 65 s, ${late.toFixed(1)} MiB after 125 s`);
  assert.ok(late - early < 2, `grew from ${early} to ${late} MiB`);
}));
