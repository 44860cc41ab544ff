// Points of time against energy, the Pareto set as a staircase, and a deadline that is dragged: by mouse, finger or keys.
import { useRef, useState } from "preact/hooks";
import type { Marked } from "../data/frontier";
import { known, quantity, tickText } from "./format";
import { linear, range, type Scale } from "./scale";
import { useWidth } from "./size";

export interface ScatterProps {
  label: string;
  points: Marked[];
  chosen: Marked | null;
  deadline: number;
  onDeadline(deadline: number): void;
  span: { from: number; to: number };
  timeName: string;
  energyName: string;
  name(point: Marked): string;
}

const edge = { left: 74, right: 18, top: 26, bottom: 50 };
const tall = 380;

export function Scatter(props: ScatterProps) {
  const { points, chosen, deadline, onDeadline, span } = props;
  const room = useRef<HTMLDivElement>(null);
  const width = useWidth(room);
  const [near, setNear] = useState<Marked | null>(null);
  const x = linear(span.from, span.to, edge.left, Math.max(edge.left + 1, width - edge.right), Math.max(2, width / 110));
  const highest = range(points.map((one) => one.joules + (one.point.energy.expanded_j ?? 0))).most;
  const lowest = range(points.map((one) => one.joules - (one.point.energy.expanded_j ?? 0))).least;
  const spare = (highest - lowest) * 0.12 || highest * 0.2;
  const y = linear(Math.max(0, lowest - 2 * spare), highest + spare, tall - edge.bottom, edge.top, 6);

  const place = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).closest("svg")!.getBoundingClientRect();
    return { left: event.clientX - box.left, top: event.clientY - box.top };
  };
  const within = (time: number) => Math.max(span.from, Math.min(span.to, time));
  const drag = (event: PointerEvent) => {
    const handle = event.currentTarget as Element;
    if (event.type === "pointerdown") handle.setPointerCapture(event.pointerId);
    if (handle.hasPointerCapture(event.pointerId)) onDeadline(within(x.back(place(event).left)));
  };
  const key = (event: KeyboardEvent) => {
    const step = (span.to - span.from) / (event.shiftKey ? 10 : 100);
    const moves: Record<string, number> = {
      ArrowLeft: deadline - step, ArrowDown: deadline - step, ArrowRight: deadline + step, ArrowUp: deadline + step,
      PageDown: deadline - 10 * step, PageUp: deadline + 10 * step, Home: span.from, End: span.to,
    };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onDeadline(within(to));
  };
  const hover = (event: PointerEvent) => {
    const { left, top } = place(event);
    const reach = (one: Marked) => Math.hypot(x.at(one.time) - left, y.at(one.joules) - top);
    const best = points.reduce<Marked | null>((least, one) => (least === null || reach(one) < reach(least) ? one : least), null);
    setNear(best && reach(best) < 28 ? best : null);
  };
  // A deadline beyond all points stands at the edge.
  const shown = within(deadline);
  const line = x.at(shown);
  const front = points.filter((one) => one.onFrontier);
  return (
    <div class="scatter" ref={room}>
      {width > 0 && (
        <svg width={width} height={tall} role="group" aria-label={props.label} onPointerMove={hover} onPointerLeave={() => setNear(null)}>
          <Axes x={x} y={y} width={width} timeName={props.timeName} energyName={props.energyName} />
          <rect class="too-late" x={line} y={edge.top} width={Math.max(0, width - edge.right - line)} height={tall - edge.top - edge.bottom} />
          <path class="staircase" d={staircase(front, x, y, width - edge.right)} />
          {points.map((one) => <Mark one={one} x={x} y={y} late={one.time > deadline} />)}
          {chosen && <circle class="chosen-ring" cx={x.at(chosen.time)} cy={y.at(chosen.joules)} r="11" />}
          {/* Names of attributes keep their case within SVG: tabIndex would not be one. */}
          <g
            class="deadline" role="slider" tabindex={0} aria-label="Deadline" aria-orientation="horizontal"
            aria-valuemin={span.from} aria-valuemax={span.to} aria-valuenow={shown} aria-valuetext={quantity(deadline, "s", 4)}
            onPointerDown={drag} onPointerMove={drag} onKeyDown={key}
          >
            <rect class="deadline-reach" x={line - 16} y={0} width="32" height={tall - edge.bottom} />
            <line x1={line} y1={edge.top - 4} x2={line} y2={tall - edge.bottom} />
            <rect class="deadline-knob" x={line - 9} y={edge.top - 22} width="18" height="22" rx="6" />
            <path class="deadline-grip" d={`M${line - 3} ${edge.top - 16}v10M${line + 3} ${edge.top - 16}v10`} />
          </g>
          <text class="deadline-text" x={line > width / 2 ? line - 14 : line + 14} y={edge.top - 7} text-anchor={line > width / 2 ? "end" : "start"}>
            deadline {quantity(deadline, "s")}
          </text>
        </svg>
      )}
      {near && <Tip near={near} left={x.at(near.time)} top={y.at(near.joules)} width={width} name={props.name(near)} />}
      <ul class="legend">
        <li><svg width="16" height="14" aria-hidden="true"><circle class="mark front" cx="8" cy="7" r="5" /></svg> on the frontier</li>
        <li><svg width="16" height="14" aria-hidden="true"><path class="mark behind" d={cross(8, 7)} /></svg> dominated</li>
        <li><svg width="22" height="20" aria-hidden="true"><circle class="mark front" cx="11" cy="10" r="4" /><circle class="chosen-ring" cx="11" cy="10" r="8" /></svg> chosen</li>
        <li><svg width="20" height="14" aria-hidden="true"><rect class="too-late" x="1" y="1" width="18" height="12" /></svg> too late</li>
      </ul>
    </div>
  );
}

function Axes({ x, y, width, timeName, energyName }: { x: Scale; y: Scale; width: number; timeName: string; energyName: string }) {
  const floor = tall - edge.bottom;
  return (
    <g class="axes" aria-hidden="true">
      {y.ticks.map((tick) => (
        <>
          <line x1={edge.left} x2={width - edge.right} y1={y.at(tick)} y2={y.at(tick)} />
          <text x={edge.left - 10} y={y.at(tick) + 4} text-anchor="end">{tickText(tick, "J")}</text>
        </>
      ))}
      {x.ticks.map((tick) => (
        <>
          <line x1={x.at(tick)} x2={x.at(tick)} y1={floor} y2={floor + 5} />
          <text x={x.at(tick)} y={floor + 19} text-anchor="middle">{tickText(tick, "s")}</text>
        </>
      ))}
      <text class="axis-name" x={(edge.left + width - edge.right) / 2} y={tall - 6} text-anchor="middle">{timeName}</text>
      <text class="axis-name" transform={`translate(14 ${(edge.top + floor) / 2}) rotate(-90)`} text-anchor="middle">{energyName}</text>
    </g>
  );
}

function Mark({ one, x, y, late }: { one: Marked; x: Scale; y: Scale; late: boolean }) {
  const [left, top] = [x.at(one.time), y.at(one.joules)];
  const spread = one.point.energy.expanded_j;
  return (
    <g class={late ? "late" : ""}>
      {known(spread) && spread > 0 && (
        <line class="spread-bar" x1={left} x2={left} y1={y.at(Math.max(0, one.joules - spread))} y2={y.at(one.joules + spread)} />
      )}
      {one.onFrontier ? <circle class="mark front" cx={left} cy={top} r="5.5" /> : <path class="mark behind" d={cross(left, top)} />}
    </g>
  );
}

function cross(left: number, top: number): string {
  return `M${left - 4} ${top - 4}l8 8m0 -8l-8 8`;
}

/** What can be had by each time: flat until the next better point. */
function staircase(front: Marked[], x: Scale, y: Scale, end: number): string {
  const steps = front.map((one, index) =>
    index === 0 ? `M${x.at(one.time)} ${y.at(one.joules)}` : `H${x.at(one.time)}V${y.at(one.joules)}`);
  return steps.length ? `${steps.join("")}H${end}` : "";
}

function Tip({ near, left, top, width, name }: { near: Marked; left: number; top: number; width: number; name: string }) {
  const side = left > width / 2 ? { right: `${width - left + 14}px` } : { left: `${left + 14}px` };
  return (
    <div class="tip" style={{ ...side, top: `${Math.max(0, top - 20)}px` }}>
      <strong>{quantity(near.time, "s")}, {quantity(near.joules, "J")}</strong>
      <span>{name}</span>
    </div>
  );
}
