// The frontier: the deadline is dragged by mouse, finger and keys, and the choice is the library's.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { launch, open } from "./browser.mjs";
import { documents, startServer } from "./server.mjs";

// A daemon elsewhere must have this document among its own, by this name.
const name = process.env.PERJOULE_FRONTIER ?? "frontier.json";
const server = process.env.BASE_URL ? { url: process.env.BASE_URL, close: () => {} } : await startServer();
const address = `${server.url}#/frontier/${encodeURIComponent(name)}`;
const points = documents.get("frontier.json").groups[0].points;
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser.close();
  await server.close();
});

const choice = async (page) => {
  const place = page.locator(".choice");
  return { time: Number(await place.getAttribute("data-time")), joules: Number(await place.getAttribute("data-joules")) };
};
const slider = (page) => page.getByRole("slider", { name: "Deadline" });
/** Least energy in time, as a table of it would be read by hand. */
const best = (deadline) => points.filter((one) => one.time_s <= deadline).sort((one, other) => one.energy.joules - other.energy.joules)[0];

test("dragging by mouse changes the choice", async () => {
  const { page, end } = await open(browser, address);
  const knob = page.locator(".deadline-knob");
  await knob.waitFor();
  const before = await choice(page);
  const box = await knob.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x - 60, box.y + 40, { steps: 8 });
  await page.mouse.up();
  const deadline = Number(await slider(page).getAttribute("aria-valuenow"));
  const now = await choice(page);
  assert.ok(deadline < 0.1, `the deadline is ${deadline} s`);
  assert.notDeepEqual(now, before);
  assert.equal(now.joules, best(deadline).energy.joules);
  assert.match(await page.locator("[aria-live]").textContent(), /less.*energy per request than the fastest point/s);
  await end();
});

test("dragging by a finger changes the choice", async () => {
  const { page, end } = await open(browser, address, { hasTouch: true, viewport: { width: 390, height: 844 } });
  const knob = page.locator(".deadline-knob");
  await knob.scrollIntoViewIfNeeded();
  const box = await knob.boundingBox();
  const client = await page.context().newCDPSession(page);
  const touch = (type, x) => client.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x, y: box.y + 10 }] });
  await touch("touchStart", box.x + 9);
  for (let step = 1; step <= 6; step++) await touch("touchMove", box.x + 9 + 10 * step);
  await touch("touchEnd", 0);
  const deadline = Number(await slider(page).getAttribute("aria-valuenow"));
  assert.ok(deadline > 0.12, `the deadline is ${deadline} s`);
  assert.equal((await choice(page)).joules, best(deadline).energy.joules);
  await end();
});

test("keys move the deadline, to both ends and by steps", async () => {
  const { page, end } = await open(browser, address);
  await slider(page).focus();
  await page.keyboard.press("Home");
  assert.match(await page.locator("[aria-live]").textContent(), /Nothing is in time/);
  await page.keyboard.press("End");
  assert.equal((await choice(page)).joules, best(Infinity).energy.joules);
  const end_ = Number(await slider(page).getAttribute("aria-valuenow"));
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Shift+ArrowLeft");
  const deadline = Number(await slider(page).getAttribute("aria-valuenow"));
  const span = end_ - Number(await slider(page).getAttribute("aria-valuemin"));
  assert.ok(Math.abs(end_ - deadline - 0.11 * span) < 1e-9, "a step is a hundredth, with Shift a tenth");
  await end();
});

const command = process.env.PERJOULE_COMMAND;
test("the choice is that of perjoule frontier, for 20 deadlines", { skip: !command && "PERJOULE_COMMAND is not set" }, async () => {
  const table = fileURLToPath(new URL("../../data/mlenergy_v2_llm.csv", import.meta.url));
  const { page, end } = await open(browser, address);
  const field = page.getByLabel("Deadline, ms");
  await field.waitFor();
  for (let number = 0; number < 20; number++) {
    const deadline = (30 + number * 13.37).toFixed(2);
    await field.fill(deadline);
    await field.press("Tab");
    const words = ["frontier", table, "--where", "model=meta-llama/Meta-Llama-3.1-8B-Instruct", "--per", "request", "--deadline", `${deadline}ms`, "--json"];
    // Status 1 says that nothing is in time; the document is there all the same.
    const { stdout } = await promisify(execFile)(command, words).catch((error) => error);
    const { chosen, energy_saved: saved } = JSON.parse(stdout).groups[0];
    const found = await choice(page);
    assert.deepEqual(found, chosen ? { time: chosen.time_s, joules: chosen.energy.joules } : { time: 0, joules: 0 }, `deadline ${deadline} ms`);
    if (saved > 0) assert.match(await page.locator(".choice-saving .value").textContent(), new RegExp(`^${(100 * saved).toFixed(1)}`));
  }
  await end();
});
