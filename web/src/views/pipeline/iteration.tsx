// One iteration, or two on one axis of time: all at the highest setting before, as planned after.
import { useMemo, useState } from "preact/hooks";
import { useOther, type Shown } from "../../data/documents";
import type { Document } from "../../data/schemas";
import { StatusChips } from "../../parts/chips";
import { FigureCard, Figures } from "../../parts/figure";
import { count, known, percent, quantity, withUncertainty } from "../../parts/format";
import { Gantt, type Bar } from "../../parts/gantt";
import { Choice, ErrorBox, Panel } from "../../parts/panel";
import { Table } from "../../parts/table";

export interface Step {
  instruction: string;
  microbatch: number;
  chunk: number;
  start_s: number;
  end_s: number;
  slack_s: number;
  knob: number;
  switched: boolean;
}

export interface Iteration extends Document {
  status: string;
  setting: string;
  profile: string;
  schedule: string;
  stages: number;
  microbatches: number;
  time_s: number;
  energy_j: number;
  energy_sigma_j: number | null;
  working_j: number;
  waiting_j: number;
  switches: number;
  gap?: number;
  knobs: Record<string, string>[];
  by_stage: { busy_s: number; waited_s: number; energy_j: number; working_j: number; waiting_j: number; switches: number; steps: Step[] }[];
}

export function IterationShown({ document, others }: Shown) {
  const after = document as Iteration;
  const alike = others.filter((other) => other.schema === document.schema);
  const [chosen, setChosen] = useState<string | null>(null);
  // Unless the reader says another: what ran at the highest setting, where its name says so.
  const guess = after.setting.includes("highest") ? null : alike.find((other) => /highest/.test(`${other.name} ${other.title}`)) ?? alike[0];
  const name = chosen ?? guess?.name ?? "";
  const { data, error } = useOther(others, name || null);
  const before = data as Iteration | null;
  const until = Math.max(after.time_s, before?.time_s ?? 0);
  const energy = withUncertainty(after.energy_j, known(after.energy_sigma_j) ? 2 * after.energy_sigma_j : null, "J");
  const [time = "", timeUnit] = quantity(after.time_s, "s").split("\u00a0");
  return (
    <>
      <Figures>
        <FigureCard label="Energy of an iteration" value={energy.value} unit={energy.unit} spread={energy.spread} note={<StatusChips status={after.status} />} />
        <FigureCard label="Time of an iteration" value={time} unit={timeUnit} note={before ? `${signed(after.time_s / before.time_s - 1)} against before` : undefined} />
        {before && <FigureCard label="Saved against before" value={percent(1 - after.energy_j / before.energy_j)} note={`${quantity(before.energy_j - after.energy_j, "J")} of ${quantity(before.energy_j, "J")} an iteration`} />}
        <FigureCard label="Waiting" value={percent(after.waiting_j / after.energy_j)} note={`${quantity(after.waiting_j, "J")} while stages wait`} />
        {known(after.gap) && <FigureCard label="Above the least possible" value={percent(after.gap)} note="energy that a better plan of this time could still save" />}
      </Figures>
      {alike.length > 0 && (
        <Choice
          label="Before" value={name} onChange={setChosen}
          options={[{ value: "", title: "nothing beside it" }, ...alike.map((other) => ({ value: other.name, title: other.title }))]}
        />
      )}
      {error && <ErrorBox error={error} />}
      {before && <IterationChart title={`Before: ${before.setting}`} iteration={before} until={until} />}
      <IterationChart title={`${before ? "After: " : ""}${after.setting}`} iteration={after} until={until} />
      <Panel title="Stages">
        <Table
          caption="Stages" rows={after.by_stage}
          columns={[
            { title: "Stage", cell: (_, index) => index },
            { title: "Busy", number: true, cell: (stage) => quantity(stage.busy_s, "s"), by: (stage) => stage.busy_s },
            { title: "Waited", number: true, cell: (stage) => quantity(stage.waited_s, "s"), by: (stage) => stage.waited_s },
            { title: "Energy", number: true, cell: (stage) => quantity(stage.energy_j, "J"), by: (stage) => stage.energy_j },
            { title: "of it working", number: true, cell: (stage) => quantity(stage.working_j, "J"), by: (stage) => stage.working_j },
            { title: "of it waiting", number: true, cell: (stage) => quantity(stage.waiting_j, "J"), by: (stage) => stage.waiting_j },
            { title: "Changes of setting", number: true, cell: (stage) => count(stage.switches), by: (stage) => stage.switches },
          ]}
        />
      </Panel>
    </>
  );
}

function signed(share: number): string {
  return Math.abs(share) < 0.0005 ? "the same" : `${share > 0 ? "+" : ""}${percent(share)}`;
}

function IterationChart({ title, iteration, until }: { title: string; iteration: Iteration; until: number }) {
  const kinds = useMemo(() => [...new Set(iteration.by_stage.flatMap((stage) => stage.steps.map((step) => step.instruction)))], [iteration]);
  const rows = useMemo(() => iteration.by_stage.map((stage, index) => ({
    name: `stage ${index}`,
    bars: stage.steps.map((step): Bar => ({
      from: step.start_s, to: step.end_s, slack: step.slack_s, kind: kinds.indexOf(step.instruction),
      level: levelOf(iteration.knobs, step.knob), letter: step.instruction.charAt(0).toUpperCase(),
      words: `${step.instruction} of microbatch ${step.microbatch}, ${knobWords(iteration.knobs[step.knob])}: ${quantity(step.end_s - step.start_s, "s")}, slack ${quantity(step.slack_s, "s")}`,
    })),
  })), [iteration]);
  return (
    <Panel title={title} wide aside={<span class="faint">{quantity(iteration.time_s, "s")}, {quantity(iteration.energy_j, "J")}</span>}>
      <Gantt label={`${title}: when each of ${iteration.stages} stages works`} rows={rows} until={until} kinds={kinds} />
    </Panel>
  );
}

/** Where a setting stands between the lowest and the highest of the first knob. */
export function levelOf(knobs: Record<string, string>[], index: number): number {
  const values = knobs.map((knob) => parseFloat(Object.values(knob)[0] ?? ""));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const value = values[index] ?? NaN;
  return most > least && Number.isFinite(value) ? (value - least) / (most - least) : 1;
}

export function knobWords(knob: Record<string, string> | undefined): string {
  return knob ? Object.entries(knob).map(([name, value]) => `${name} ${value}`).join(", ") : "no setting";
}
