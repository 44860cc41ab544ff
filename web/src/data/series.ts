// The course of power over a span, in as many points as a chart has columns: from the server, which decimates, or from
// samples that the page has inside.
import { ask } from "./ask";
import type { Series, Timeline } from "./schemas";

export interface Extent {
  from: number;
  to: number;
}

/** Gives mean, least and most of each column; times are unix milliseconds. */
export type SeriesSource = (extent: Extent, points: number, signal: AbortSignal) => Promise<Series>;

export function fromServer(path: string, source: string): SeriesSource {
  return (extent, points, signal) =>
    ask<Series>(path, { source, from: Math.floor(extent.from), to: Math.ceil(extent.to), points }, signal);
}

export function fromTimeline(timeline: Timeline): SeriesSource {
  return (extent, points) => Promise.resolve(decimate(timeline, extent, points));
}

export function decimate(timeline: Timeline, extent: Extent, points: number): Series {
  const start = timeline.t0_unix_ns / 1e6;
  const step = timeline.dt_s * 1000;
  const first = Math.max(0, Math.floor((extent.from - start) / step));
  const last = Math.min(timeline.watts.length, Math.ceil((extent.to - start) / step) + 1);
  const each = Math.max(1, Math.ceil((last - first) / Math.max(1, points)));
  const series: Series = {
    from_unix_ms: start + first * step, step_s: (each * step) / 1000, samples: timeline.watts.length,
    mean_w: [], least_w: [], most_w: [],
  };
  for (let begin = first; begin < last; begin += each) {
    let sum = 0, many = 0, least = Infinity, most = -Infinity;
    for (let index = begin; index < Math.min(last, begin + each); index++) {
      const watts = timeline.watts[index];
      if (watts === null || watts === undefined) continue;
      sum += watts;
      many++;
      least = Math.min(least, watts);
      most = Math.max(most, watts);
    }
    // A column without a sample is a gap, not nothing.
    series.mean_w.push(many ? sum / many : null);
    series.least_w.push(many ? least : null);
    series.most_w.push(many ? most : null);
  }
  return series;
}
