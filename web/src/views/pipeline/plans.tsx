// The plans on a pipeline's frontier: pick one by its time, see each step's setting.
import { useMemo } from "preact/hooks";
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
  const group = useMemo((): Group => ({ group: {}, points: told.plans.map((one, index) => point(one, String(index + 1), told.status)) }), [told]);
  const least = told.plans.reduce((best, one) => (one.energy_j < best.energy_j ? one : best));
  const saved = (plan: Plan) => `in ${quantity(plan.time_s, "s")}, saves ${percent(1 - plan.energy_j / told.highest.energy_j)}`;
  return (
    <>
      <Figures>
        <FigureCard label="All at the highest setting" {...split(quantity(told.highest.energy_j, "J"))} note={`in ${quantity(told.highest.time_s, "s")}`} />
        <FigureCard label="Shortest plan" {...split(quantity(told.plans[0]?.energy_j, "J"))} note={saved(told.plans[0]!)} />
        <FigureCard label="Plan of least energy" {...split(quantity(least.energy_j, "J"))} note={saved(least)} />
      </Figures>
      <FrontierExplorer
        group={group} unit="iteration" timeName="time of an iteration"
        more={(chosen) => <Settings told={told} number={Number(chosen.point.settings["plan"]) - 1} knobs={knobs} />}
      />
    </>
  );
}

/** What each step of the chosen plan runs at, stage by stage in the order that they are issued in. */
function Settings({ told, number, knobs }: { told: PlansDocument; number: number; knobs: number[][][] }) {
  const plan = told.plans[number]!;
  return (
    <Panel title={`Setting of each step, plan ${number + 1}`} wide aside={<span class="faint">{plan.switches} changes of setting, {percent(plan.gap)} above the least possible</span>}>
      <div class="table-room" role="region" aria-label="Settings by stage and step" tabIndex={0}>
        <div class="steps">
          {told.order.map((steps, stage) => (
            <div class="steps-row">
              <span class="steps-name">stage {stage}</span>
              {steps.map(([instruction, microbatch], step) => {
                const knob = knobs[number]?.[stage]?.[step] ?? 0;
                const level = levelOf(told.knobs, knob);
                return (
                  <span
                    class={`steps-cell kind-${instruction % 4} ${level > 0.6 ? "strong" : ""}`} style={{ "--level": level }}
                    title={`${told.instructions[instruction]} of microbatch ${microbatch}: ${knobWords(told.knobs[knob])}`}
                  >
                    {Object.values(told.knobs[knob] ?? {})[0]}
                  </span>
                );
              })}
            </div>
          ))}
        </div>
      </div>
      <ul class="legend">
        {told.instructions.map((name, index) => <li><span class={`swatch steps-cell kind-${index % 4}`} style={{ "--level": 1 }} aria-hidden="true" /> {name}</li>)}
        <li>paler: lower {Object.keys(told.knobs[0] ?? {})[0] ?? "setting"}</li>
      </ul>
    </Panel>
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

