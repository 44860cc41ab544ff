// The course of every device's power: what the daemon remembers of before, and each picture since. Holds a bounded number of
// columns, however long the page stays open.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../data/ask";
import type { Series } from "../../data/schemas";
import { type Device, type Picture } from "./node";

export interface Course {
  times: number[];
  watts: Map<string, (number | null)[]>;
}

const columns = 600;
const longestGap = 10; // Seconds without a picture, beyond which nobody knows what was between.

/** Grows by pictures and forgets what is older than `span` seconds, or more than twice the columns a chart has. */
class Recent {
  pictures: Picture[] = [];

  add(picture: Picture, span: number): void {
    this.pictures.push(picture);
    const oldest = picture.unix_ms - span * 1000;
    // What a lost connection has missed, the daemon remembers: pictures begin anew behind the gap.
    const before = this.pictures.at(-2);
    if (before && picture.unix_ms - before.unix_ms > longestGap * 1000) this.pictures = [picture];
    let behind = 0;
    while (behind < this.pictures.length && this.pictures[behind]!.unix_ms < oldest) behind++;
    // Faster pictures than the chart has columns are thinned out, the newer half left as it is.
    if (behind > 0) this.pictures.splice(0, behind);
    if (this.pictures.length > 2 * columns) this.pictures = this.pictures.filter((_, index) => index >= columns || index % 2 === 0);
  }
}

export function useCourse(devices: Device[], picture: Picture | null, span: number): Course {
  const recent = useRef(new Recent());
  const [past, setPast] = useState<Map<string, Series>>(new Map());
  const ids = devices.map((device) => device.id).join();

  // What was before is asked for again once the pictures have moved on by a quarter of the span.
  useEffect(() => {
    const stop = new AbortController();
    const fetchPast = async () => {
      // By the daemon's clock, which may not be the reader's.
      const to = recent.current.pictures.at(-1)?.unix_ms ?? Date.now();
      const found = await Promise.all(devices.map(async (device): Promise<[string, Series | null]> => {
        const from = to - span * 1000;
        // A daemon that has just begun remembers nothing: then there are the pictures.
        return [device.id, await ask<Series>("node/history", { source: device.id, from, to, points: columns }, stop.signal).catch(() => null)];
      }));
      if (!stop.signal.aborted) setPast(new Map(found.filter((pair): pair is [string, Series] => pair[1] !== null)));
    };
    void fetchPast();
    const timer = setInterval(() => void fetchPast(), Math.max(15, span / 4) * 1000);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [ids, span, picture !== null]);

  const last = recent.current.pictures.at(-1);
  if (picture && picture !== last) recent.current.add(picture, span);
  return joined(devices, past, recent.current.pictures, (picture?.unix_ms ?? Date.now()) - span * 1000);
}

function joined(devices: Device[], past: Map<string, Series>, pictures: Picture[], from: number): Course {
  const first = pictures[0]?.unix_ms ?? Infinity;
  const grid = [...past.values()].sort((one, other) => one.step_s - other.step_s)[0];
  const course: Course = { times: [], watts: new Map(devices.map((device) => [device.id, []])) };
  for (let column = 0; grid && column < grid.mean_w.length; column++) {
    const at = grid.from_unix_ms + column * grid.step_s * 1000;
    if (at < from || at >= first) continue;
    course.times.push(at / 1000);
    for (const device of devices) {
      const series = past.get(device.id);
      const index = series ? Math.floor((at - series.from_unix_ms) / (series.step_s * 1000) + 1e-6) : -1;
      course.watts.get(device.id)!.push(series?.mean_w[index] ?? null);
    }
  }
  const behind = course.times.at(-1);
  if (grid && behind !== undefined && first !== Infinity && first / 1000 - behind > Math.max(longestGap, 2 * grid.step_s)) {
    course.times.push(behind + grid.step_s);
    for (const watts of course.watts.values()) watts.push(null);
  }
  for (const picture of pictures) {
    if (picture.unix_ms < from) continue;
    course.times.push(picture.unix_ms / 1000);
    for (const device of devices) {
      course.watts.get(device.id)!.push(picture.devices.find((one) => one.id === device.id)?.power_w ?? null);
    }
  }
  return course;
}
