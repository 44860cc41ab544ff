// How numbers are written, everywhere the same: three significant digits, a prefix that keeps the number between 1 and
// 1000, and an uncertainty of two digits that says to which place the value is told.

/** A space that no line breaks at, between a number and its unit. */
const gap = "\u00a0";
export const missing = "missing";

const prefixes: [number, string][] = [
  [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"],
];

/** The prefix by which `size` is between 1 and 1000. */
export function prefixFor(size: number): [number, string] {
  const magnitude = Math.abs(size);
  if (!(magnitude > 0) || !Number.isFinite(magnitude)) return [1, ""];
  // 999.6 is written 1.00 k: what rounds up to 1000 takes the next prefix.
  return prefixes.find(([factor]) => magnitude >= factor * 0.9995) ?? [1e-9, "n"];
}

/** `digits` significant digits, never in exponents, with no digit behind the point that is not told. */
export function significant(value: number, digits = 3): string {
  if (value === 0) return "0";
  // The power of ten that it has once rounded: 0.9996 is 1.00.
  const places = digits - 1 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  return grouped(value.toFixed(Math.min(12, Math.max(0, places))));
}

function grouped(text: string): string {
  const [whole = "", behind] = text.split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return (behind === undefined ? spaced : `${spaced}.${behind}`).replace(/^-/, "−");
}

export type Figure = number | null | undefined;

export function known(value: Figure): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** "12.4 kJ"; a value that is not there is "missing", never 0. */
export function quantity(value: Figure, unit: string, digits = 3): string {
  if (!known(value)) return missing;
  const [factor, prefix] = prefixFor(value);
  return `${significant(value / factor, digits)}${gap}${prefix}${unit}`;
}

/** The value and its uncertainty under one prefix, told to the place of the uncertainty's second digit. */
export function withUncertainty(value: Figure, expanded: Figure, unit: string): { value: string; spread: string | null; unit: string } {
  if (!known(value)) return { value: missing, spread: null, unit: "" };
  const [factor, prefix] = prefixFor(known(expanded) ? Math.max(Math.abs(value), Math.abs(expanded)) : value);
  const shown = value / factor;
  if (!known(expanded) || expanded <= 0) return { value: significant(shown), spread: null, unit: prefix + unit };
  const spread = expanded / factor;
  // An uncertainty far below the value would ask for digits that nobody reads: six are enough.
  const places = Math.max(0, Math.min(1 - Math.floor(Math.log10(spread)), 5 - Math.floor(Math.log10(Math.abs(shown) || 1))));
  return { value: grouped(shown.toFixed(places)), spread: grouped(spread.toFixed(places)), unit: prefix + unit };
}

/** "9.95 ± 0.51 kJ" as one text, for labels and rows. */
export function plusMinus(value: Figure, expanded: Figure, unit: string): string {
  const parts = withUncertainty(value, expanded, unit);
  if (parts.value === missing) return missing;
  return parts.spread === null ? `${parts.value}${gap}${parts.unit}` : `${parts.value}${gap}±${gap}${parts.spread}${gap}${parts.unit}`;
}

/** Three digits, but no more than two behind the point: a hundredth of a percent is as good as nothing here. */
export function percent(share: Figure): string {
  if (!known(share)) return missing;
  const value = share * 100;
  const size = Math.abs(value);
  return `${size < 0.005 ? "0" : grouped(value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0))}${gap}%`;
}

/** A round number on an axis, without noughts that tell nothing: "20 J", "1.5 kW". */
export function tickText(value: number, unit: string): string {
  if (value === 0) return "0";
  const [factor, prefix] = unit ? prefixFor(value) : [1, ""];
  const number = String(+(value / factor).toPrecision(6));
  return prefix || unit ? `${number}${gap}${prefix}${unit}` : number;
}

export function count(value: Figure): string {
  if (!known(value)) return missing;
  return Number.isInteger(value) ? grouped(String(value)) : significant(value);
}

/** Spans of time: seconds with a prefix below a minute, then minutes, hours and days. */
export function duration(seconds: Figure): string {
  if (!known(seconds)) return missing;
  const size = Math.abs(seconds);
  if (size < 60) return size === 0 ? `0${gap}s` : quantity(seconds, "s");
  if (size < 3600) return parts(seconds, 60, "min", "s");
  if (size < 86400) return parts(seconds, 3600, "h", "min");
  return parts(seconds, 86400, "d", "h");
}

function parts(seconds: number, unit: number, name: string, below: string): string {
  const smaller = unit === 60 ? 1 : unit === 3600 ? 60 : 3600;
  const total = Math.round(seconds / smaller);
  const whole = Math.trunc(total / (unit / smaller));
  const rest = Math.abs(total % (unit / smaller));
  return rest === 0 ? `${whole}${gap}${name}` : `${whole}${gap}${name} ${rest}${gap}${below}`;
}

/** A moment of a course from its beginning, told to `step` seconds: "40 s", "5 min", "1:22:30". */
export function elapsed(seconds: number, step: number): string {
  if (seconds < 60) return seconds === 0 ? `0${gap}s` : `${+seconds.toFixed(Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9))))}${gap}s`;
  if (step >= 60 && Number.isInteger(seconds / 60)) return duration(seconds);
  const places = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = (seconds % 60).toFixed(places).padStart(places ? places + 3 : 2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export function moment(unixMs: Figure): string {
  if (!known(unixMs)) return missing;
  const at = new Date(unixMs);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Bytes by powers of 1024, as memory is sold. */
export function bytes(value: Figure): string {
  if (!known(value)) return missing;
  const steps = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = value > 0 ? Math.min(4, Math.floor(Math.log2(value) / 10)) : 0;
  return `${step === 0 ? String(value) : significant(value / 1024 ** step)}${gap}${steps[step]}`;
}

/** A path's or id's last part, for what must be short. */
export function shortName(text: string): string {
  return text.split("/").pop() ?? text;
}
