// The course of power of some sources over a run: asks for the span that is seen, in as many points as there are columns,
// and shows what it has until those come.
import { useEffect, useRef, useState } from "preact/hooks";
import { asRefusal, type Refusal } from "../data/ask";
import type { Series } from "../data/schemas";
import type { SeriesSource } from "../data/series";
import { TimeChart, type Curve, type Extent } from "./chart";
import { ErrorBox } from "./panel";
import { useWidth } from "./size";
import { seriesColour, seriesDash } from "./theme";

export interface Track {
  name: string;
  source: SeriesSource;
  /** Unix milliseconds that are this track's 0 s. */
  begin: number;
}

const patience = 120; // Milliseconds without a move before the server is asked.

export function PowerTimeline({ label, tracks, seconds, onSamples }: { label: string; tracks: Track[]; seconds: number; onSamples?(samples: number): void }) {
  const room = useRef<HTMLDivElement>(null);
  const width = useWidth(room);
  const whole: Extent = { from: 0, to: seconds };
  const [extent, setExtent] = useState<Extent>(whole);
  const [curves, setCurves] = useState<Curve[]>([]);
  const [error, setError] = useState<Refusal | null>(null);
  const names = JSON.stringify(tracks.map((track) => [track.name, track.begin]));

  useEffect(() => setExtent(whole), [seconds]);
  useEffect(() => {
    if (width === 0) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      // Half a span more at either side: the next short pan has its figures already.
      const margin = (extent.to - extent.from) / 2;
      const from = Math.max(0, extent.from - margin), to = Math.min(seconds, extent.to + margin);
      const points = Math.max(50, Math.round((width * (to - from)) / (extent.to - extent.from)));
      Promise.all(tracks.map((track) => track.source({ from: track.begin + from * 1000, to: track.begin + to * 1000 }, points, stop.signal)))
        .then((series) => {
          setCurves(series.map((one, index) => curve(tracks[index]!, one, index)));
          setError(null);
          onSamples?.(series.reduce((most, one) => Math.max(most, one.samples ?? 0), 0));
        })
        .catch((thrown: unknown) => stop.signal.aborted || setError(asRefusal(thrown)));
    }, curves.length === 0 ? 0 : patience);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [extent, names, width]);

  return (
    <div ref={room}>
      {error && <ErrorBox error={error} />}
      <TimeChart label={label} curves={curves} unit="W" clock={false} extent={extent} whole={whole} onExtent={setExtent} />
    </div>
  );
}

function curve(track: Track, series: Series, index: number): Curve {
  const begin = (series.from_unix_ms - track.begin) / 1000;
  return {
    name: track.name, colour: seriesColour(index), dash: seriesDash(index),
    // A column's figure stands in its middle.
    times: series.mean_w.map((_, column) => begin + (column + 0.5) * series.step_s),
    mean: series.mean_w, least: series.least_w, most: series.most_w,
  };
}
