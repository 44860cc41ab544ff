// A report: one file that opens from a disk, shows the documents that it carries, and asks nobody.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import { accessible, launch, noSidewaysScroll, open, screenshot } from "./browser.mjs";
import { documents } from "./server.mjs";

const empty = '<script type="application/json" id="documents">[]</script>';
const page_ = readFileSync(new URL("../dist/report.html", import.meta.url), "utf8");
const folder = mkdtempSync(join(tmpdir(), "perjoule-report-"));
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** As the command writes it: no < within the documents, so that none can end the script or begin a comment. */
function report(name, shown) {
  assert.equal(page_.split(empty).length, 2, "there is one place for the documents");
  const text = JSON.stringify(shown).replaceAll("<", "\\u003c");
  const path = join(folder, `${name}.html`);
  writeFileSync(path, page_.replace(empty, () => empty.replace("[]", () => text)));
  return pathToFileURL(path).href;
}

test("all kinds of documents in one report, without a request", async () => {
  const address = report("all", [...documents.values()]);
  const { page, requests, end } = await open(browser, address);
  await page.waitForSelector(".report-section");
  assert.equal(await page.locator(".report-section").count(), documents.size);
  assert.equal(await page.locator("nav a").count(), documents.size);
  await page.waitForTimeout(800);
  await accessible(page);
  await screenshot(page, "report light");
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(300);
  await noSidewaysScroll(page);
  assert.deepEqual(requests.filter((url) => url !== address && !url.startsWith("data:")), []);
  await end();
});

test("the deadline and a timeline work in a report too", async () => {
  const { page, end } = await open(browser, report("two", [documents.get("frontier.json"), documents.get("run-export.json")]));
  const slider = page.getByRole("slider", { name: "Deadline" });
  await slider.focus();
  const before = await page.locator(".choice").getAttribute("data-time");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("PageDown");
  assert.notEqual(await page.locator(".choice").getAttribute("data-time"), before);
  await page.getByText(/samples; the band/).waitFor();
  await page.getByRole("link", { name: /^2\./ }).click();
  await page.waitForFunction(() => scrollY > 100);
  await end();
});

test("before and after of a pipeline are found in the same report", async () => {
  const { page, end } = await open(browser, report("pipeline", [documents.get("pipeline-highest.json"), documents.get("pipeline-planned.json")]));
  const planned = page.locator(".report-section").nth(1);
  await planned.getByText(/^Before: all at the highest setting/).waitFor();
  assert.equal(await planned.locator(".gantt svg[role=img]").count(), 2);
  assert.ok(await planned.locator("rect.slack").count() > 10);
  await end();
});

test("pools of a fleet over time are stacked where a document has them", async () => {
  const fleet = structuredClone(documents.get("fleet-fluid.json"));
  for (const policy of fleet.policies) {
    for (const bin of policy.bins) bin.pools = { short: bin.servers, long: 1 };
  }
  const { page, end } = await open(browser, report("pools", [fleet]));
  const legend = page.locator(".panel", { hasText: "Servers by pool" }).locator(".legend");
  await legend.waitFor();
  assert.match(await legend.textContent(), /short.*long/);
  await end();
});

test("what a document says is text, whatever it is", async () => {
  const nasty = { schema: "perjoule.nasty.v1", name: "<!--<script></script><script>globalThis.broken = 1</script>", list: [{ a: 1, b_s: 3.5 }, { a: null }], $: "$& $1" };
  const { page, end } = await open(browser, report("nasty", [nasty]));
  await page.getByText("globalThis.broken = 1").waitFor();
  assert.equal(await page.evaluate(() => globalThis.broken), undefined);
  assert.match(await page.locator(".panel").textContent(), /missing/);
  await end();
});

test("a document that its view cannot read is shown as it is, and the others stand", async () => {
  const { page, end } = await open(browser, report("broken", [{ schema: "perjoule.frontier.v1", groups: [{ points: 5 }], kept: "what it holds" }, { schema: "perjoule.fleet-plan.v1" }, documents.get("compare.json")]));
  await page.getByText("what it holds", { exact: true }).waitFor();
  const told = await page.getByRole("alert").allTextContents();
  assert.equal(told.length, 2);
  assert.match(told.join(), /cannot be shown by Frontier.*cannot be shown by Fleet/s);
  await page.getByText("No difference can be told.").waitFor();
  await end();
});

test("an empty report says so", async () => {
  const { page, end } = await open(browser, report("empty", []));
  await page.getByText("carries no document").waitFor();
  await end();
});
