// The plans on a pipeline's frontier: pick one by its time, see each step's setting.
import { useMemo, useState } from "preact/hooks";
import type { Shown } from "../../data/documents";
import type { Document, Group } from "../../data/schemas";
import { FigureCard, Figures, split } from "../../parts/figure";
import { percent, quantity } from "../../parts/format";
import { FrontierExplorer } from "../../parts/frontier_explorer";
import { Panel } from "../../parts/panel";
import { knobWords, levelOf } from "./iteration";

interface Plan {
  time_s: number;
  energy_j: number;
  energy_sigma_j: number | null;
  working_j: number;
  waiting_j: number;
  switches: number;
  gap: number;
  knob?: number[][];
  changes?: [number, number][][];
}

interface PlansDocument extends Document {
  status: string;
  stages: number;
  microbatches: number;
  shortest_s: number;
  least_energy_s: number;
  highest: Plan;
  instructions: string[];
  knobs: Record<string, string>[];
  order: [number, number, number][][];
  plans: Plan[];
}

export function Plans({ document }: Shown) {
  const told = document as PlansDocument;
  const knobs = useMemo(() => wholeKnobs(told.plans), [told]);
  const [number, setNumber] = useState(0);
  const plan = told.plans[number]!;
  const group = useMemo((): Group => ({ group: {}, points: told.plans.map((one, index) => point(one, `plan ${index + 1}`, told.status)) }), [told]);
  return (
    <>
      <Figures>
        <FigureCard label="At the highest setting" {...split(quantity(told.highest.energy_j, "J"))} note={`in ${quantity(told.highest.time_s, "s")}`} />
        <FigureCard label="Shortest plan" {...split(quantity(told.plans[0]?.energy_j, "J"))} note={`in ${quantity(told.shortest_s, "s")}, saves ${percent(1 - (told.plans[0]?.energy_j ?? NaN) / told.highest.energy_j)}`} />
        <FigureCard label="Plan of least energy" {...split(quantity(told.plans.at(-1)?.energy_j, "J"))} note={`in ${quantity(told.least_energy_s, "s")}, saves ${percent(1 - (told.plans.at(-1)?.energy_j ?? NaN) / told.highest.energy_j)}`} />
      </Figures>
      <FrontierExplorer group={group} unit="iteration" timeName="time of an iteration" />
      <Panel title="Setting of each step" wide>
        <label class="field">
          <span>Plan {number + 1} of {told.plans.length}: {quantity(plan.time_s, "s")}, {quantity(plan.energy_j, "J")}, {plan.switches} changes of setting</span>
          <input type="range" min="0" max={told.plans.length - 1} value={number} onInput={(event) => setNumber(Number(event.currentTarget.value))} />
        </label>
        <div class="table-room" role="region" aria-label="Settings by stage and step" tabIndex={0}>
          <div class="steps">
            {told.order.map((steps, stage) => (
              <div class="steps-row">
                <span class="steps-name">stage {stage}</span>
                {steps.map(([instruction, microbatch], step) => {
                  const knob = knobs[number]?.[stage]?.[step] ?? 0;
                  const level = levelOf(told.knobs, knob);
                  return (
                    <span class="steps-cell" title={`${told.instructions[instruction]} of microbatch ${microbatch}: ${knobWords(told.knobs[knob])}`}>
                      <span class={`steps-fill part-${instruction % 4}`} style={{ opacity: 0.2 + 0.8 * level }} />
                      <span class="steps-text">{Object.values(told.knobs[knob] ?? {})[0]}</span>
                    </span>
                  );
                })}
              </div>
            ))}
          </div>
        </div>
        <ul class="legend">
          {told.instructions.map((name, index) => <li><span class={`swatch part-${index % 4}`} aria-hidden="true" /> {name}</li>)}
          <li>paler: lower {Object.keys(told.knobs[0] ?? {})[0] ?? "setting"}</li>
        </ul>
      </Panel>
    </>
  );
}

function point(plan: Plan, name: string, status: string): NonNullable<Group["points"]>[number] {
  return {
    settings: { plan: name }, time_s: plan.time_s,
    energy: { joules: plan.energy_j, expanded_j: plan.energy_sigma_j === null ? null : 2 * plan.energy_sigma_j, status },
  };
}

/** Plans behind the first may say only what differs from the one before. */
function wholeKnobs(plans: Plan[]): number[][][] {
  const whole: number[][][] = [];
  for (const plan of plans) {
    const before = whole.at(-1);
    if (plan.knob || !before) whole.push(plan.knob ?? []);
    else whole.push(before.map((row, stage) => {
      const now = [...row];
      for (const [step, knob] of plan.changes?.[stage] ?? []) now[step] = knob;
      return now;
    }));
  }
  return whole;
}

