// A chart over time on uPlot: lines with the band from least to most, or a stack; panned and zoomed by mouse, touch and keys.
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import Plot from "uplot";
import { aligned, options, stackedUp, type Curve, type Look } from "./chart_look";
import { gestures, within, type Extent } from "./chart_gestures";
import { elapsed, known, missing, moment, quantity } from "./format";
import { onTheme } from "./theme";

export type { Curve } from "./chart_look";
export type { Extent } from "./chart_gestures";

export interface ChartProps {
  /** What is shown, for whoever cannot see it. */
  label: string;
  curves: Curve[];
  unit: string;
  stacked?: boolean;
  /** Times are unix seconds, or seconds since a beginning. */
  clock: boolean;
  extent: Extent;
  /** As far as one may pan. Without it the chart stands still. */
  whole?: Extent;
  onExtent?(extent: Extent): void;
  height?: number;
}

export function TimeChart(props: ChartProps) {
  const { label, curves, unit, stacked = false, clock, extent, whole, onExtent, height = 280 } = props;
  const room = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ extent, whole, onExtent });
  latest.current = { extent, whole, onExtent };
  const [at, setAt] = useState<number | null>(null);
  const hint = useId();
  const look: Look = { curves, unit, stacked, clock, height };
  // The drawing is made anew only where there are other curves; new figures are put into the one there is.
  const shape = JSON.stringify([curves.map((curve) => [curve.name, curve.colour, curve.least !== undefined]), stacked, unit, clock, height]);
  const data = useMemo(() => aligned(look), [curves, stacked]);

  useLayoutEffect(() => {
    const element = room.current;
    if (!element) return;
    const made = new Plot(options(look, element.clientWidth, setAt), stacked ? stackedUp(data) : data, element);
    plot.current = made;
    made.setScale("x", { min: latest.current.extent.from, max: latest.current.extent.to });
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const noTheme = onTheme(() => made.redraw(false));
    const noGestures = gestures(element, made, () => latest.current);
    return () => {
      observer.disconnect();
      noTheme();
      noGestures();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    const made = plot.current;
    made?.batch(() => {
      made.setData(stacked ? stackedUp(data) : data, false);
      // Setting the span anew has the height fitted to the new figures.
      made.setScale("x", { min: latest.current.extent.from, max: latest.current.extent.to });
    });
  }, [data]);

  useEffect(() => {
    // The reader may have moved on since: what counts is the latest, which is often drawn already.
    const { from, to } = latest.current.extent;
    const { min, max } = plot.current?.scales.x ?? {};
    if (min !== from || max !== to) plot.current?.setScale("x", { min: from, max: to });
  }, [extent.from, extent.to]);

  const zoom = (factor: number) => {
    const { from, to } = latest.current.extent;
    const half = ((to - from) * factor) / 2;
    if (whole) onExtent?.(within({ from: (from + to) / 2 - half, to: (from + to) / 2 + half }, whole));
  };
  const time = at === null ? undefined : data[0][at];
  return (
    <figure class="chart">
      <div
        class="chart-room" ref={room} style={{ minHeight: `${height}px` }} role="group"
        tabIndex={whole ? 0 : undefined} aria-label={label} aria-describedby={whole ? hint : undefined}
      />
      {whole && <span class="unseen" id={hint}>Arrow keys pan, plus and minus zoom, Home shows all.</span>}
      <figcaption class="chart-foot">
        <ul class="legend">
          {curves.map((curve, number) => (
            <li>
              <Swatch curve={curve} filled={stacked} />
              <span class="legend-name">{curve.name}</span>
              <span class="legend-value">{figureOf(column(data, curves, number), data[0], at, extent, whole !== undefined, unit)}</span>
            </li>
          ))}
        </ul>
        <span class="chart-at">{time === undefined ? "" : clock ? moment(time * 1000) : elapsed(time, (extent.to - extent.from) / 1000)}</span>
        {whole && onExtent && (
          <span class="chart-buttons">
            <button type="button" class="button small" aria-label="Zoom in" onClick={() => zoom(0.5)}>+</button>
            <button type="button" class="button small" aria-label="Zoom out" onClick={() => zoom(2)}>−</button>
            <button type="button" class="button small" onClick={() => onExtent(whole)}>All</button>
          </span>
        )}
      </figcaption>
    </figure>
  );
}

type Column = ArrayLike<number | null | undefined>;

function column(data: uPlot.AlignedData, curves: Curve[], number: number): Column {
  return data[curves.slice(0, number).reduce((sum, curve) => sum + (curve.least && curve.most ? 3 : 1), 1)] ?? [];
}

/** A curve's figure in the legend: at the pointer; without one the mean of what is seen, or of what is live the last. */
function figureOf(figures: Column, times: ArrayLike<number>, at: number | null, extent: Extent, pans: boolean, unit: string): string {
  if (at !== null || !pans) {
    let index = at ?? figures.length - 1;
    // Times of other curves have no figure of this one: then the one before counts. A gap (null) is a gap.
    while (index > 0 && figures[index] === undefined) index--;
    return quantity(figures[index], unit);
  }
  let sum = 0, many = 0;
  for (let index = 0; index < figures.length; index++) {
    const figure = figures[index];
    if (!known(figure) || times[index]! < extent.from || times[index]! > extent.to) continue;
    sum += figure;
    many++;
  }
  return many ? `mean ${quantity(sum / many, unit)}` : missing;
}

function Swatch({ curve, filled }: { curve: Curve; filled: boolean }) {
  return (
    <svg width="22" height="12" aria-hidden="true">
      {filled
        ? <rect x="2" y="1" width="18" height="10" rx="2" fill={`var(${curve.colour})`} opacity="0.75" />
        : <line x1="1" y1="6" x2="21" y2="6" stroke={`var(${curve.colour})`} stroke-width="2.5" stroke-dasharray={curve.dash?.join(" ")} />}
    </svg>
  );
}

