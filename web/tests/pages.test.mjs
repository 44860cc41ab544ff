// Every view with documents in it: it shows them, in both themes and on a phone, and keeps what every page must keep.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, launch, noSidewaysScroll, open, screenshot } from "./browser.mjs";
import { million, startServer } from "./server.mjs";

// A daemon that runs somewhere, or the documents of this folder.
const elsewhere = process.env.BASE_URL;
const server = elsewhere ? null : await startServer({ hertz: 2 });
const base = elsewhere ?? server.url;
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser.close();
  await server?.close();
});

const ask = async (path) => (await fetch(`${base}api/v1/${path}`)).json();
const { documents } = await ask("documents");
const { runs } = await ask("runs");
const views = { frontier: /frontier|sweep\.v1|points/, pipeline: /pipeline/, serving: /bench/, leaderboard: /leaderboard/, fleet: /fleet/, training: /train-/ };
const viewOf = (schema) => Object.keys(views).find((name) => views[name].test(schema.replace("bench-sweep.v1", "bench"))) ?? "documents";

const places = [
  ["live", "live", ".chart canvas"],
  ["runs", "runs", "table a"],
  ["documents", "all documents", "table a"],
  ...runs.slice(0, 1).map((run) => [`runs/${run.id}`, "a run", ".figure"]),
  ...(runs.length > 1 ? [[`runs/${encodeURIComponent(`${runs[0].id} and ${runs[1].id}`)}`, "two runs", "table"]] : []),
  ...documents.map((entry) => [`${viewOf(entry.schema)}/${encodeURIComponent(entry.name)}`, entry.name.replace(".json", ""), ".panel, .figure"]),
];

for (const [place, name, shown] of places) {
  test(`${name} is shown`, async () => {
    const { page, requests, end } = await open(browser, `${base}#/${place}`);
    await page.waitForSelector(shown);
    await page.waitForTimeout(400);
    assert.equal(await page.locator(".notice-error").count(), 0, await page.locator(".notice-error").allTextContents().then(String));
    await accessible(page);
    await screenshot(page, `${name} light`);
    await page.emulateMedia({ colorScheme: "dark" });
    await accessible(page);
    await screenshot(page, `${name} dark`);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.waitForTimeout(200);
    await noSidewaysScroll(page);
    await screenshot(page, `${name} phone`);
    assert.deepEqual(requests.filter((url) => !url.startsWith(base) && !url.startsWith("data:")), [], "nothing is asked of others");
    await end();
  });
}

test("the reader's choice of colours holds for the next page", async () => {
  const { page, end } = await open(browser, `${base}#/runs`, { colorScheme: "light" });
  await page.getByRole("button", { name: "Dark" }).click();
  await page.reload();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.getByRole("button", { name: "Auto" }).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  await end();
});

test("a page by keys alone: menu, table and back", async () => {
  const { page, end } = await open(browser, `${base}#/documents`);
  await page.waitForSelector("table a");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "MAIN");
  const sort = page.getByRole("button", { name: /^Size/ });
  await sort.focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "ascending");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "descending");
  await end();
});

test("an error of the server is told in its words", { skip: elsewhere && "of the test's own server" }, async () => {
  const { page, end } = await open(browser, `${base}#/frontier/none.json`);
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").textContent(), /There is no documents\/none\.json.*What to do: see \/api\/v1\/documents/s);
  await end([/404/]);
});

test("two runs are chosen from the list", { skip: elsewhere && "of the test's own server" }, async () => {
  const { page, end } = await open(browser, `${base}#/runs`);
  await page.getByLabel(`Compare run ${million}`).check();
  await page.getByLabel(`Compare run ${runs[0].id}`).check();
  await page.getByRole("link", { name: "Compare the two" }).click();
  await page.getByRole("heading", { name: "Two runs" }).waitFor();
  assert.match(await page.locator("table").first().textContent(), /Second over first/);
  await end();
});
