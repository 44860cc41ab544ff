// What a frontier document says of its points, and the one choice that a page makes by itself: least energy within a
// deadline. Everything else is the library's.
import { known } from "../parts/format";
import type { Group, Point } from "./schemas";

export interface Marked {
  point: Point;
  time: number;
  joules: number;
  onFrontier: boolean;
}

/** The group's points that have an energy, fastest first, with the Pareto set marked. */
export function marked(group: Group): Marked[] {
  const all = group.points ?? group.frontier ?? [];
  const rows = all
    .filter((point) => known(point.energy.joules) && known(point.time_s) && !point.energy.lower_bound)
    .map((point) => ({ point, time: point.time_s, joules: point.energy.joules as number, onFrontier: group.points === undefined || point.on_frontier === true }))
    .sort((one, other) => one.time - other.time || one.joules - other.joules);
  // A table of points does not say which are on the frontier: dropped is what another is strictly below in both.
  if (!all.some((point) => point.on_frontier !== undefined) && group.points) {
    let [least, leastBefore, time] = [Infinity, Infinity, -Infinity];
    for (const row of rows) {
      // Least energy of all that are strictly faster; rows of one time do not dominate each other.
      if (row.time > time) [leastBefore, time] = [least, row.time];
      row.onFrontier = row.joules <= leastBefore;
      least = Math.min(least, row.joules);
    }
  }
  return rows;
}

/** Least energy with a time of at most `deadline`; of equal energies the faster. Null where nothing is in time. */
export function chooseWithin(points: Marked[], deadline: number): Marked | null {
  let best: Marked | null = null;
  for (const one of points) {
    if (one.time > deadline) break;
    if (best === null || one.joules < best.joules) best = one;
  }
  return best;
}

export function settingWords(settings: Record<string, string>): string {
  return Object.entries(settings).map(([name, value]) => `${name} ${settingText(value)}`).join(", ");
}

/** A setting as it can be read: a number with the digits that matter, of a long text its end. */
export function settingText(value: string | undefined): string {
  if (value === undefined) return "none";
  if (/^-?\d*\.\d{4,}$/.test(value)) return String(+Number(value).toPrecision(5));
  return value.length > 34 ? `…${value.slice(-32)}` : value;
}

/** The settings in which points differ; what all share is said once. */
export function partSettings(points: Point[]): { differing: string[]; shared: [string, string][] } {
  const names = [...new Set(points.flatMap((point) => Object.keys(point.settings)))];
  const differing = names.filter((name) => new Set(points.map((point) => point.settings[name])).size > 1);
  const shared = names.filter((name) => !differing.includes(name)).map((name): [string, string] => [name, points[0]?.settings[name] ?? ""]);
  return { differing, shared };
}
