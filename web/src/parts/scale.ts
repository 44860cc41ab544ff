// Axes of the drawings that are ours: round ticks over a span, and where a value lies.

export interface Scale {
  from: number;
  to: number;
  ticks: number[];
  at(value: number): number;
  back(place: number): number;
}

/** Of however many values; spreading them into Math.max has its limit. */
export function range(values: number[]): { least: number; most: number } {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return { least, most };
}

/** A step of 1, 2 or 5 times a power of ten that parts `span` into about `wanted`. */
export function roundStep(span: number, wanted: number): number {
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

/** A linear scale over [from, to] onto [start, end]; what is one value only gets room around it. */
export function linear(from: number, to: number, start: number, end: number, wanted: number): Scale {
  if (!(to > from)) {
    const room = Math.abs(from) * 0.1 || 1;
    [from, to] = [from - room, to + room];
  }
  const step = roundStep(to - from, wanted);
  const ticks: number[] = [];
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to + step * 1e-9; index++) ticks.push(index * step);
  const factor = (end - start) / (to - from);
  return {
    from, to, ticks,
    at: (value) => start + (value - from) * factor,
    back: (place) => from + (place - start) / factor,
  };
}
