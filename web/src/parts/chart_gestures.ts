// Panning and zooming a chart: dragging, two fingers, the wheel with Ctrl, and keys. A move is drawn at once; whoever has
// the figures is told and brings finer ones when it can.
import type uPlot from "uplot";

export interface Extent {
  from: number;
  to: number;
}

export interface Limits {
  /** What is seen: a move puts it here at once, before whoever is told has drawn anew. */
  extent: Extent;
  whole?: Extent;
  onExtent?(extent: Extent): void;
}

const narrowest = 1e-4; // Of the whole: what lies closer is one sample.

export function within(extent: Extent, whole: Extent): Extent {
  const all = whole.to - whole.from;
  const span = Math.min(all, Math.max(all * narrowest, extent.to - extent.from));
  const from = Math.min(whole.to - span, Math.max(whole.from, extent.from));
  return { from, to: from + span };
}

/** Listens on the chart's element; the answer ends that. */
export function gestures(element: HTMLElement, plot: uPlot, limits: () => Limits): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const fingers = new Map<number, number>();
  let held: { extent: Extent; middle: number; apart: number } | null = null;

  const now = (): Extent => limits().extent;
  const show = (extent: Extent) => {
    const { whole, onExtent } = limits();
    if (!whole || !onExtent) return;
    const kept = within(extent, whole);
    limits().extent = kept;
    plot.setScale("x", { min: kept.from, max: kept.to });
    onExtent(kept);
  };
  const share = (x: number) => (x - plot.over.getBoundingClientRect().left) / Math.max(1, plot.over.clientWidth);
  const zoom = (factor: number, middle: number) => {
    const { from, to } = now();
    const fixed = from + (to - from) * middle;
    show({ from: fixed - (fixed - from) * factor, to: fixed + (to - fixed) * factor });
  };
  const grasp = () => {
    const places = [...fingers.values()];
    if (places.length === 0) held = null;
    else held = { extent: now(), middle: places.reduce((sum, x) => sum + x, 0) / places.length, apart: Math.abs((places[1] ?? 0) - (places[0] ?? 0)) };
  };

  plot.over.addEventListener("pointerdown", (event) => {
    if (!limits().whole || event.button !== 0) return;
    plot.over.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
    grasp();
    element.classList.add("held");
  }, options);
  plot.over.addEventListener("pointermove", (event) => {
    if (!held || !fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    const places = [...fingers.values()];
    const middle = places.reduce((sum, x) => sum + x, 0) / places.length;
    const apart = Math.abs((places[1] ?? 0) - (places[0] ?? 0));
    const factor = places.length > 1 && held.apart > 10 && apart > 10 ? held.apart / apart : 1;
    const { from, to } = held.extent;
    const fixed = from + (to - from) * share(held.middle);
    const span = (to - from) * factor;
    const left = fixed - span * share(middle);
    show({ from: left, to: left + span });
  }, options);
  const release = (event: PointerEvent) => {
    fingers.delete(event.pointerId);
    grasp();
    if (fingers.size === 0) element.classList.remove("held");
  };
  plot.over.addEventListener("pointerup", release, options);
  plot.over.addEventListener("pointercancel", release, options);

  // Without Ctrl the wheel scrolls the page, as it does everywhere else.
  plot.over.addEventListener("wheel", (event) => {
    if (!limits().whole || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, share(event.clientX));
  }, { ...options, passive: false });

  element.addEventListener("keydown", (event) => {
    const { whole } = limits();
    if (!whole || event.target !== element) return;
    const { from, to } = now();
    const step = (to - from) * (event.shiftKey ? 0.5 : 0.1);
    const moves: Record<string, () => void> = {
      ArrowLeft: () => show({ from: from - step, to: to - step }),
      ArrowRight: () => show({ from: from + step, to: to + step }),
      "+": () => zoom(0.5, 0.5),
      "=": () => zoom(0.5, 0.5),
      "-": () => zoom(2, 0.5),
      Home: () => show(whole),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }, options);
  return () => stop.abort();
}
