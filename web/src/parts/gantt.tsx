// Who works when: a row for each stage, a bar for each step, and behind each bar how much later it could have ended.
import { useRef, useState } from "preact/hooks";
import { tickText } from "./format";
import { linear } from "./scale";
import { useWidth } from "./size";

export interface Bar {
  from: number;
  to: number;
  slack: number;
  /** The kind of step, by number. */
  kind: number;
  /** 0 for the lowest setting, 1 for the highest. */
  level: number;
  letter: string;
  words: string;
}

export interface GanttProps {
  label: string;
  rows: { name: string; bars: Bar[] }[];
  until: number;
  kinds: string[];
}

const left = 72;
const rowTall = 34;

export function Gantt({ label, rows, until, kinds }: GanttProps) {
  const room = useRef<HTMLDivElement>(null);
  const width = useWidth(room);
  const [tip, setTip] = useState<{ bar: Bar; left: number; top: number } | null>(null);
  const x = linear(0, until, left, Math.max(left + 1, width - 14), Math.max(2, width / 110));
  const tall = rows.length * rowTall + 30;
  return (
    <div class="gantt" ref={room}>
      {width > 0 && (
        <svg width={width} height={tall} role="img" aria-label={label} onPointerLeave={() => setTip(null)}>
          <defs>
            <pattern id="slack-lines" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect width="6" height="6" class="slack-ground" />
              <line x1="0" y1="0" x2="0" y2="6" class="slack-line" />
            </pattern>
          </defs>
          <g class="axes">
            {x.ticks.map((tick) => (
              <>
                <line x1={x.at(tick)} x2={x.at(tick)} y1={0} y2={rows.length * rowTall + 4} />
                <text x={x.at(tick)} y={rows.length * rowTall + 20} text-anchor="middle">{tickText(tick, "s")}</text>
              </>
            ))}
          </g>
          {rows.map((row, index) => (
            <g>
              <text class="gantt-name" x={left - 10} y={index * rowTall + rowTall / 2 + 5} text-anchor="end">{row.name}</text>
              {row.bars.map((bar, number) => {
                const top = index * rowTall + 5;
                const wide = Math.max(1, x.at(bar.to) - x.at(bar.from) - 1);
                // Slack is shown as far as nothing else of the stage stands there.
                const free = Math.min(bar.to + bar.slack, row.bars[number + 1]?.from ?? until);
                return (
                  <g onPointerEnter={() => setTip({ bar, left: x.at(bar.from), top })}>
                    {free > bar.to && <rect class="slack" x={x.at(bar.to)} y={top + 4} width={x.at(free) - x.at(bar.to)} height={rowTall - 18} />}
                    <rect class={`step kind-${bar.kind % 4}`} x={x.at(bar.from)} y={top} width={wide} height={rowTall - 10} rx={Math.min(4, wide / 3)} style={{ fillOpacity: 0.3 + 0.7 * bar.level }} />
                    {wide > 14 && <text class={bar.level > 0.6 ? "step-letter strong" : "step-letter"} x={x.at(bar.from) + wide / 2} y={top + rowTall / 2 - 1} text-anchor="middle">{bar.letter}</text>}
                  </g>
                );
              })}
            </g>
          ))}
        </svg>
      )}
      {tip && (
        <div class="tip" style={{ ...(tip.left > width / 2 ? { right: `${Math.max(0, width - tip.left - 40)}px` } : { left: `${tip.left}px` }), top: `${tip.top + rowTall}px` }}>
          <span>{tip.bar.words}</span>
        </div>
      )}
      <ul class="legend">
        {kinds.map((kind, index) => <li><svg width="18" height="12" aria-hidden="true"><rect class={`step kind-${index % 4}`} width="18" height="12" rx="3" /></svg> {kind}</li>)}
        <li><svg width="18" height="12" aria-hidden="true"><rect class="slack" width="18" height="12" /></svg> slack</li>
        <li><svg width="46" height="12" aria-hidden="true">{[0.3, 0.65, 1].map((level, index) => <rect class="step kind-0" x={index * 16} width="14" height="12" rx="3" style={{ fillOpacity: level }} />)}</svg> paler: lower setting</li>
      </ul>
    </div>
  );
}
