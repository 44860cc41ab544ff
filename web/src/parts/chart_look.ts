// How a chart over time looks, and its figures in the columns that uPlot draws.
import type uPlot from "uplot";
import Plot from "uplot";
import { elapsed, known, tickText } from "./format";
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
    padding: [12, look.stacked ? nameRoom(look.curves) : 20, 0, 4],
    cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { size: 7 } },
    scales: {
      x: { time: look.clock },
      y: { range: (_plot, _least, most) => [0, known(most) && most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      { ...axis, size: 32, space: 80, incrs: steps, values: (_plot, ticks, _axis, _space, step) => ticks.map((tick) => (look.clock ? clockTime(tick, step) : elapsed(tick, step))) },
      { ...axis, size: 64, values: (_plot, ticks) => ticks.map((tick) => tickText(tick, look.unit)), ...(look.unit ? {} : { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000] }) },
    ],
    series: [{}, ...series],
    bands,
    hooks: {
      setCursor: [(plot) => setAt(plot.cursor.idx ?? null)],
      draw: look.stacked ? [(plot) => names(plot, look.curves)] : [],
    },
  };
}

/** Round steps of time in seconds, from a microsecond to a year. */
const steps = [
  ...[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1].flatMap((power) => [power, 2 * power, 5 * power]),
  10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, ...[1, 2, 5, 10, 30, 100, 365].map((days) => days * 86400),
];

function clockTime(tick: number, step: number): string {
  const at = new Date(tick * 1000);
  const two = (number: number) => String(number).padStart(2, "0");
  const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  if (step >= 86400) return day;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return step < 60 ? `${time}:${two(at.getSeconds())}` : time === "00:00" ? day : time;
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

function nameRoom(curves: Curve[]): number {
  return 14 + 7.5 * Math.max(0, ...curves.map((curve) => curve.name.length));
}

/** Writes each name at its layer's end: colour alone need not tell them apart. */
function names(plot: uPlot, curves: Curve[]): void {
  const times = plot.data[0];
  const { max = 0 } = plot.scales.x ?? {};
  let last = times.length - 1;
  while (last > 0 && times[last]! > max) last--;
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${12 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  // From below upward, each at least a line's height above the one before.
  let lowest = bbox.top + bbox.height + 8 * scale;
  curves.forEach((curve, index) => {
    const top = plot.data[index + 1]?.[last];
    const bottom = index === 0 ? 0 : plot.data[index]?.[last];
    if (!known(top) || !known(bottom)) return;
    const middle = (plot.valToPos(top, "y", true) + plot.valToPos(bottom, "y", true)) / 2;
    const place = Math.min(middle, lowest - 15 * scale);
    lowest = place;
    ctx.fillStyle = colour(curve.colour);
    ctx.fillRect(bbox.left + bbox.width + 3 * scale, place - 5 * scale, 3 * scale, 10 * scale);
    ctx.fillStyle = colour("--ink-2");
    ctx.fillText(curve.name, bbox.left + bbox.width + 9 * scale, place);
  });
  ctx.restore();
}
