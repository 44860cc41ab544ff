// Answers what a daemon does, from the documents of this folder, as far as the pages ask. What has no document (pictures, the
// past, a run of a million samples) is made up here.
import { createServer } from "node:http";
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = join(here, "../dist");
export const documents = new Map(
  readdirSync(join(here, "documents")).filter((name) => name.endsWith(".json"))
    .map((name) => [name, JSON.parse(readFileSync(join(here, "documents", name), "utf8"))]));

const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };
export const million = "million0000";

/** `perjoule devices` as the daemon tells it of a node. */
export function node() {
  const kinds = { energy_counter: "counter", power_gauge: "gauge" };
  const devices = documents.get("devices.json").devices.map((device) => ({
    ...device,
    sources: device.sources.map((source) => ({ ...source, kind: kinds[source.kind] ?? source.kind, grade: source.status === "simulated" ? "D" : "C" })),
    knobs: (device.knobs ?? []).map((knob, index) => ({
      ...knob,
      lease: index === 0 && device.kind === "gpu" ? { id: "lease-1", owner: "budget", value: knob.value, expires_unix_ms: Date.now() + 60000 } : null,
    })),
  }));
  return { schema: "perjoule.node.v1", node: "gpu-node-1", version: "1.0.0", simulated: true, began_unix_ms: Date.now() - 3.6e6, devices };
}

const wave = (seconds, base, swing, period) => base + swing * Math.sin((2 * Math.PI * seconds) / period) + 0.25 * swing * Math.sin((2 * Math.PI * seconds) / (period / 7.3));

/** The power that a device would have had then. The last GPU has none, so that pages show what is missing. */
function powerAt(index, kind, unixMs) {
  const seconds = unixMs / 1000;
  if (kind !== "gpu") return wave(seconds, 60, 18, 97);
  return index === 0 ? Math.min(654, wave(seconds, 560, 160, 61)) : wave(seconds, 310, 120, 143);
}

function picture(sequence, devices, lost) {
  const now = Date.now();
  const pictures = devices.map((device, index) => {
    const gpu = device.kind === "gpu";
    const watts = lost && index === 1 ? null : powerAt(index, device.kind, now);
    return {
      id: device.id, power_w: watts, uncertainty_w: watts === null ? null : watts * 0.05, status: watts === null ? "missing" : gpu ? "simulated" : "estimated",
      so_far_j: 1.2e6 * (index + 1), power_limit_w: gpu ? 700 : null, clock_mhz: gpu ? 1545 : 2400, memory_clock_mhz: gpu ? 2619 : null,
      temperature_c: gpu ? 61.4 : null, utilisation: gpu ? 0.93 : 0.21, memory_used_bytes: gpu ? 5.1e10 : null, memory_total_bytes: gpu ? 8.5899e10 : null,
      throttle_reasons: gpu && watts >= 654 ? ["power cap"] : [],
    };
  });
  const total = pictures.some((one) => one.power_w === null) ? null : pictures.reduce((sum, one) => sum + one.power_w, 0);
  return { schema: "perjoule.picture.v1", sequence, unix_ms: now, span_s: 1, total_w: total, total_uncertainty_w: total === null ? null : 31, total_so_far_j: 3.7e6, status: total === null ? "missing" : "simulated + estimated", devices: pictures };
}

/** Mean, least and most of `points` columns of what `at` (of unix milliseconds) gives every `step` milliseconds. */
function columns(schema, source, from, to, points, step, at, samples) {
  const each = Math.max(1, Math.ceil((to - from) / step / points));
  const series = { schema, source, from_unix_ms: from, step_s: (each * step) / 1000, samples, mean_w: [], least_w: [], most_w: [] };
  for (let begin = from; begin < to; begin += each * step) {
    // Few of a column's samples are enough to pretend.
    const some = Math.min(each, 24);
    const values = Array.from({ length: some }, (_, index) => at(begin + (index * each * step) / some)).filter((value) => value !== null);
    series.mean_w.push(values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
    series.least_w.push(values.length ? Math.min(...values) : null);
    series.most_w.push(values.length ? Math.max(...values) : null);
  }
  return series;
}

function runs() {
  const list = documents.get("runs.json");
  const long = structuredClone(list.runs[0]);
  Object.assign(long, { id: million, duration_s: 10000, command: "python3 train.py --days 1", tags: ["long"] });
  Object.assign(long.document, { duration_s: 10000, command: ["python3", "train.py", "--days", "1"] });
  return { ...list, runs: [...list.runs, long] };
}

function timeline(run, query) {
  const source = query.get("source");
  const [from, to, points] = ["from", "to", "points"].map((name) => Number(query.get(name)));
  const begin = run.document.begin_unix_ns / 1e6;
  const end = begin + run.duration_s * 1000;
  const span = [Math.max(begin, from), Math.min(end, to), Math.min(points, 5000)];
  if (run.id === million) {
    return columns("perjoule.timeline.v1", source, ...span, 10, (at) => 420 - 40 * (source.length % 7) + 180 * Math.sin(at / 3.1e5 + source.length) + 90 * Math.sin(at / 7000) + 25 * Math.sin(at * 1.7), 1e6);
  }
  const kept = documents.get("run-export.json").runs[0].timelines.find((one) => one.source === source);
  if (!kept) return null;
  const step = kept.dt_s * 1000;
  return columns("perjoule.timeline.v1", source, ...span, step, (at) => kept.watts[Math.floor((at - begin) / step)] ?? null, kept.watts.length);
}

function titleOf(name) {
  const words = name.replace(/\.json$/, "").replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function answer(path, query) {
  const [what, name, more] = path.split("/").map(decodeURIComponent);
  if (path === "node") return node();
  if (path === "node/history") {
    const device = node().devices.findIndex((one) => one.id === query.get("source"));
    if (device < 0) return null;
    const kind = node().devices[device].kind;
    return columns("perjoule.history.v1", query.get("source"), Number(query.get("from")), Number(query.get("to")), Number(query.get("points")), 1000, (at) => powerAt(device, kind, at));
  }
  if (what === "runs") {
    if (!name) return runs();
    const run = runs().runs.find((one) => one.id === name);
    return run && (more === "timeline" ? timeline(run, query) : { ...run.document, timelines: run.document.sources.map((source) => source.id) });
  }
  if (path === "documents") {
    return { schema: "perjoule.documents.v1", documents: [...documents].map(([name, document]) => ({ name, schema: document.schema, title: titleOf(name), modified_unix_ms: 1796072538000, bytes: JSON.stringify(document).length })) };
  }
  return what === "documents" ? documents.get(name) : null;
}

/** Options: `hertz` of pictures, `token` that is asked for, `lost`: the second device has no power. */
export async function startServer({ hertz = 1, token = null, lost = false } = {}) {
  const streams = new Set();
  const asked = [];
  let sequence = 0;
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://local");
    asked.push({ path: url.pathname + url.search, headers: request.headers });
    const json = (status, body) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    if (!url.pathname.startsWith("/api/v1/")) {
      const file = normalize(join(dist, url.pathname === "/" ? "index.html" : url.pathname));
      if (!file.startsWith(dist) || !existsSync(file)) return json(404, {});
      const immutable = file.includes("/assets/");
      return response.writeHead(200, {
        "Content-Type": types[extname(file)] ?? "application/octet-stream",
        "Cache-Control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
        "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self'",
      }).end(readFileSync(file));
    }
    if (token && request.headers.authorization !== `Bearer ${token}`) {
      return json(401, { schema: "perjoule.error.v1", error: { code: "permission_denied", message: "a token is needed", remedy: "" } });
    }
    const path = url.pathname.slice("/api/v1/".length);
    if (path === "node/live") {
      response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      response.write(": here\n\n");
      streams.add(response);
      request.on("close", () => streams.delete(response));
      return undefined;
    }
    const found = answer(path, url.searchParams);
    if (found) return json(200, found);
    return json(404, { schema: "perjoule.error.v1", error: { code: "not_found", message: `there is no ${path}`, remedy: "see /api/v1/documents for what there is" } });
  });
  const { devices } = node();
  const timer = setInterval(() => {
    sequence++;
    const text = `id: ${sequence}\nevent: picture\ndata: ${JSON.stringify(picture(sequence, devices, lost))}\n\n`;
    for (const stream of streams) stream.write(text);
  }, 1000 / hertz);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    asked,
    sequence: () => sequence,
    cut: () => streams.forEach((stream) => stream.destroy()),
    close: () => {
      clearInterval(timer);
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  };
}

// By itself: node web/tests/server.mjs shows the pages to whoever works on them.
if (process.argv[1] === fileURLToPath(import.meta.url)) console.log((await startServer()).url);
