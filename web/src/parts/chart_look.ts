// How a chart over time looks, and its figures in the columns that uPlot draws.
import type uPlot from "uplot";
import Plot from "uplot";
import { duration, known, quantity } from "./format";
import { colour } from "./theme";

export interface Curve {
  name: string;
  /** The variable of its colour. */
  colour: string;
  dash?: number[];
  times: number[];
  mean: (number | null)[];
  least?: (number | null)[];
  most?: (number | null)[];
  /** Holds its value until the next. */
  steps?: boolean;
}

export interface Look {
  curves: Curve[];
  unit: string;
  stacked: boolean;
  clock: boolean;
  height: number;
}

/** One column of times, then of each curve its mean and, where it has them, its least and its most. */
export function aligned(look: Look): uPlot.AlignedData {
  if (look.curves.length === 0) return [[]];
  if (look.stacked) return [look.curves[0]?.times ?? [], ...look.curves.map((curve) => curve.mean)];
  const tables = look.curves.map((curve): uPlot.AlignedData =>
    curve.least && curve.most ? [curve.times, curve.mean, curve.least, curve.most] : [curve.times, curve.mean]);
  return tables.length === 1 ? tables[0]! : Plot.join(tables);
}

/** Sums from below. Where one is not known, neither is what stands on it. */
export function stackedUp(data: uPlot.AlignedData): uPlot.AlignedData {
  const [times, ...columns] = data;
  const sums: (number | null)[][] = [];
  for (const column of columns) {
    const below = sums[sums.length - 1];
    sums.push(Array.from(column, (value, index) => {
      const under = below ? below[index] : 0;
      return known(value) && known(under) ? value + under : null;
    }));
  }
  return [times, ...sums];
}

const font = "12px system-ui, sans-serif";

export function options(look: Look, width: number, setAt: (index: number | null) => void): uPlot.Options {
  const { series, bands } = look.stacked ? stack(look) : lines(look);
  const axis = { stroke: () => colour("--ink-3"), font, grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false } };
  return {
    width, height: look.height, pxAlign: 0,
    legend: { show: false },
    padding: [12, 12, 0, 4],
    cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { size: 7 } },
    scales: {
      x: { time: look.clock },
      y: { range: (_plot, _least, most) => [0, known(most) && most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      look.clock ? { ...axis, space: 80 } : { ...axis, space: 70, values: (_plot, ticks) => elapsed(ticks) },
      { ...axis, size: 64, values: (_plot, ticks) => ticks.map((tick) => (tick === 0 ? "0" : quantity(tick, look.unit, digitsFor(ticks)))) },
    ],
    series: [{}, ...series],
    bands,
    hooks: {
      setCursor: [(plot) => setAt(plot.cursor.idx ?? null)],
      draw: look.stacked ? [(plot) => names(plot, look.curves)] : [],
    },
  };
}

/** Ticks that lie close together need more digits to differ. */
function digitsFor(ticks: number[]): number {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  const largest = Math.abs(ticks[ticks.length - 1] ?? 0);
  return step > 0 && largest > 0 ? Math.max(2, Math.min(6, Math.ceil(Math.log10(largest / step)) + 1)) : 3;
}

function elapsed(ticks: number[]): string[] {
  return ticks.map((tick) => (tick >= 60 && tick % 60 === 0 ? duration(tick) : tick === 0 ? "0\u00a0s" : `${+tick.toPrecision(10)}\u00a0s`));
}

function lines(look: Look): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const series: uPlot.Series[] = [];
  const bands: uPlot.Band[] = [];
  for (const curve of look.curves) {
    const stroke = () => colour(curve.colour);
    const paths = curve.steps ? Plot.paths.stepped?.({ align: 1 }) : undefined;
    series.push({ label: curve.name, stroke, width: 1.75, dash: curve.dash, points: { show: false }, paths });
    if (!curve.least) continue;
    const edge: uPlot.Series = { stroke: () => `${colour(curve.colour)}00`, width: 0, points: { show: false }, paths };
    series.push(edge, { ...edge });
    bands.push({ series: [series.length, series.length - 1], fill: () => `${colour(curve.colour)}38` });
  }
  return { series, bands };
}

function stack(look: Look): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const paths = look.curves.some((curve) => curve.steps) ? Plot.paths.stepped?.({ align: 1 }) : undefined;
  const series = look.curves.map((curve, index): uPlot.Series => ({
    label: curve.name, stroke: () => colour(curve.colour), width: 1.5, points: { show: false }, paths,
    fill: index === 0 ? () => `${colour(curve.colour)}73` : undefined,
  }));
  const bands = look.curves.slice(1).map((curve, index): uPlot.Band => ({
    series: [index + 2, index + 1], fill: () => `${colour(curve.colour)}73`,
  }));
  return { series, bands };
}

/** Writes each name into its own layer where that is thick enough: colour alone need not tell them apart. */
function names(plot: uPlot, curves: Curve[]): void {
  const times = plot.data[0];
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  let last = times.length - 1;
  while (last > 0 && times[last]! > max) last--;
  if (last < 0 || times[last]! < min) return;
  const { ctx } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${12 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillStyle = colour("--ink");
  curves.forEach((curve, index) => {
    const top = plot.data[index + 1]?.[last];
    const bottom = index === 0 ? 0 : plot.data[index]?.[last];
    if (!known(top) || !known(bottom)) return;
    const [high, low] = [plot.valToPos(top, "y", true), plot.valToPos(bottom, "y", true)];
    const wide = ctx.measureText(curve.name).width;
    if (low - high < 18 * scale || wide > plot.bbox.width / 2) return;
    ctx.fillText(curve.name, plot.bbox.left + 10 * scale, (high + low) / 2);
  });
  ctx.restore();
}
