// One figure, large: its name, its value with uncertainty, and what kind of figure it is.
import type { ComponentChildren } from "preact";
import type { Energy } from "../data/schemas";
import { GradeChip, StatusChips } from "./chips";
import { plusMinus, withUncertainty } from "./format";

export function Figures({ children }: { children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

export function FigureCard(props: { label: string; value: ComponentChildren; unit?: string; spread?: string | null; note?: ComponentChildren }) {
  const lost = props.value === "missing";
  return (
    <div class="figure">
      <dt>{props.label}</dt>
      <dd>
        <span class={lost ? "value lost" : "value"}>
          {props.value}
          {props.unit ? <span class="unit">{"\u00a0"}{props.unit}</span> : null}
        </span>
        {props.spread ? <span class="spread">± {props.spread} {props.unit}</span> : null}
        {props.note ? <span class="figure-note">{props.note}</span> : null}
      </dd>
    </div>
  );
}

export function EnergyCard({ label, energy, unit = "J", note }: { label: string; energy: Energy | null | undefined; unit?: string; note?: ComponentChildren }) {
  if (!energy) return <FigureCard label={label} value="missing" note={note} />;
  const { value, spread, unit: told } = withUncertainty(energy.joules, energy.expanded_j, unit);
  return (
    <FigureCard
      label={label}
      value={energy.lower_bound ? `≥ ${value}` : value}
      unit={told}
      spread={spread}
      note={<><StatusChips status={energy.status} /> <GradeChip grade={energy.grade} />{note}</>}
    />
  );
}

export function EnergyText({ energy }: { energy: Energy | null | undefined }) {
  if (!energy || energy.joules === null) return <Lost />;
  return <span class="nowrap">{energy.lower_bound ? "≥ " : ""}{plusMinus(energy.joules, energy.expanded_j, "J")}</span>;
}

/** What nobody knows is said, never shown as nothing. */
export function Lost() {
  return <span class="lost">missing</span>;
}

/** A share as a bar with its number; the bar is for the eye alone. */
export function Bar({ share, text, tone = "accent" }: { share: number; text: ComponentChildren; tone?: string }) {
  return (
    <span class="bar">
      <span class="bar-room" aria-hidden="true"><span class={`bar-fill tone-${tone}`} style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} /></span>
      <span class="bar-text">{text}</span>
    </span>
  );
}

/** "12.4 kJ" as a card wants it: number and unit apart. */
export function split(text: string): { value: string; unit?: string } {
  const [value = "", unit] = text.split("\u00a0");
  return { value, unit };
}
