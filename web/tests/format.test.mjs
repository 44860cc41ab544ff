// Numbers as every view writes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, duration, elapsed, percent, plusMinus, quantity, tickText, withUncertainty } from "../src/parts/format.ts";
import { linear, roundStep } from "../src/parts/scale.ts";

/** With ordinary spaces, to be read here. */
const plain = (text) => text.replaceAll(/[\u00a0\u202f]/g, " ");

test("three digits, and a prefix that keeps the number between 1 and 1000", () => {
  const cases = [[12400, "12.4 kJ"], [999.4, "999 J"], [999.6, "1.00 kJ"], [0.0123, "12.3 mJ"], [-5432, "−5.43 kJ"], [0, "0 J"], [3.6e9, "3.60 GJ"], [1e-12, "0.00100 nJ"]];
  for (const [value, text] of cases) assert.equal(plain(quantity(value, "J")), text);
});

test("what is missing is said, and is not nothing", () => {
  for (const nothing of [null, undefined, NaN, Infinity]) {
    for (const write of [(value) => quantity(value, "J"), percent, count, duration, bytes, (value) => plusMinus(value, 1, "J")]) assert.equal(write(nothing), "missing");
  }
  assert.notEqual(quantity(0, "J"), "missing");
});

test("a value is told to the place of its uncertainty", () => {
  const cases = [[9950, 510, "9.95 ± 0.51 kJ"], [20.8, 1.3, "20.8 ± 1.3 J"], [49, 137, "49 ± 137 J"], [1016, 31, "1.016 ± 0.031 kJ"], [5, null, "5.00 J"], [5, 0, "5.00 J"], [0.00012, 0.0004, "120 ± 400 µJ"]];
  for (const [value, spread, text] of cases) assert.equal(plain(plusMinus(value, spread, "J")), text);
  assert.deepEqual(withUncertainty(null, 3, "J"), { value: "missing", spread: null, unit: "" });
});

test("shares, spans, bytes and counts", () => {
  assert.deepEqual([0.441, 0.0872, 0.00449, 1, 0, -0.0656].map((share) => plain(percent(share))), ["44.1 %", "8.72 %", "0.45 %", "100 %", "0 %", "−6.56 %"]);
  assert.deepEqual([0.0033, 59.94, 60, 90, 3599.9, 10000, 90000].map((span) => plain(duration(span))), ["3.30 ms", "59.9 s", "1 min", "1 min 30 s", "60 min", "2 h 47 min", "1 d 1 h"]);
  assert.deepEqual([512, 5.1e10].map((size) => plain(bytes(size))), ["512 B", "47.5 GiB"]);
  assert.deepEqual([1000000, 1545, 12.345].map((many) => plain(count(many))), ["1 000 000", "1 545", "12.3"]);
});

test("ticks: no noughts that tell nothing, and as fine as their step", () => {
  assert.deepEqual([0, 20, 1500, 0.2].map((tick) => plain(tickText(tick, "J"))), ["0", "20 J", "1.5 kJ", "200 mJ"]);
  assert.deepEqual([[0, 5], [12.5, 0.5], [120, 60], [4950, 30], [75.25, 0.25]].map(([at, step]) => plain(elapsed(at, step))), ["0 s", "12.5 s", "2 min", "1:22:30", "1:15.3"]);
  for (let span = 0.013; span < 1e6; span *= 3.7) assert.match(String(roundStep(span, 5).toExponential()), /^[125]e/);
});

test("a scale goes there and back, and its ticks lie within", () => {
  const scale = linear(0.014, 0.299, 70, 900, 8);
  assert.ok(Math.abs(scale.back(scale.at(0.1)) - 0.1) < 1e-12);
  assert.ok(scale.ticks.length >= 4 && scale.ticks.every((tick) => tick >= 0.014 && tick <= 0.299 + 1e-9));
  assert.ok(linear(5, 5, 0, 100, 4).to > 5, "a single value has room around it");
});
