// Figures side by side as bars, each perhaps of parts; every bar says its number.
import type { ComponentChildren } from "preact";

export interface BarPart {
  name: string;
  value: number;
}

export interface BarRow {
  name: string;
  parts: BarPart[];
  text: ComponentChildren;
  note?: ComponentChildren;
  marked?: boolean;
}

export function Bars({ label, rows }: { label: string; rows: BarRow[] }) {
  const largest = Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)), 1e-12);
  const names = [...new Set(rows.flatMap((row) => row.parts.map((part) => part.name)))];
  return (
    <div class="bars">
      <ul aria-label={label}>
        {rows.map((row) => (
          <li class={row.marked ? "bars-row marked" : "bars-row"}>
            <span class="bars-name">{row.name}</span>
            <span class="bars-room" aria-hidden="true">
              {row.parts.filter((part) => part.value > 0).map((part) => <span class={`bars-part part-${names.indexOf(part.name) % 4}`} style={{ width: `${(part.value / largest) * 100}%` }} title={part.name} />)}
            </span>
            <span class="bars-text">{row.text}</span>
            {row.note && <span class="bars-note">{row.note}</span>}
          </li>
        ))}
      </ul>
      {names.length > 1 && (
        <ul class="legend">
          {names.map((name, index) => <li><span class={`swatch part-${index % 4}`} aria-hidden="true" /> {name}</li>)}
        </ul>
      )}
    </div>
  );
}
