// A training that ran by plans: its stretches of iterations, and the plan against the highest setting.
import type { Shown } from "../../data/documents";
import type { Document, Energy } from "../../data/schemas";
import { Bars } from "../../parts/bars";
import { StatusChips } from "../../parts/chips";
import { EnergyCard, EnergyText, FigureCard, Figures } from "../../parts/figure";
import { count, known, percent, plusMinus, quantity } from "../../parts/format";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";

interface Stretch {
  phase: string;
  settings: string;
  first_iteration: number;
  iterations: number;
  time_s: number;
  median_time_s: number;
  energy: Energy;
  planned_time_s: number | null;
  planned_energy_j: number | null;
}

interface RunDocument extends Document {
  schedule: string;
  stages: number;
  microbatches: number;
  stretches: Stretch[];
  comparison?: { highest: Stretch; plan: Stretch; in_turns: boolean };
  error?: { message: string; remedy?: string };
}

export function PipelineRun({ document }: Shown) {
  const told = document as RunDocument;
  const both = told.comparison;
  const saved = both && known(both.plan.energy.joules) && known(both.highest.energy.joules) ? 1 - both.plan.energy.joules / both.highest.energy.joules : null;
  return (
    <>
      {told.error && <div class="notice notice-error" role="alert"><strong>✕ {told.error.message}</strong> {told.error.remedy}</div>}
      {both && (
        <Figures>
          <FigureCard label="Saved an iteration" value={percent(saved)} note={`at ${(both.plan.median_time_s / both.highest.median_time_s).toFixed(3)} times the time${both.in_turns ? "" : "; not measured in turns"}`} />
          <EnergyCard label="By the plan" energy={both.plan.energy} />
          <EnergyCard label="At the highest setting" energy={both.highest.energy} />
        </Figures>
      )}
      <Panel title="Energy of an iteration, by stretch" wide>
        <Bars
          label="Energy by stretch"
          rows={told.stretches.map((one) => ({
            name: `${one.phase}, from ${one.first_iteration}`, marked: one.phase === "plan",
            parts: [{ name: "energy", value: one.energy.joules ?? 0 }],
            text: plusMinus(one.energy.joules, one.energy.expanded_j, "J"), note: quantity(one.median_time_s, "s"),
          }))}
        />
      </Panel>
      <Panel title="Stretches">
        <Table
          caption="Stretches of iterations under the same settings" rows={told.stretches} marked={(one) => one.phase === "plan"}
          columns={[
            { title: "Phase", cell: (one) => one.phase, by: (one) => one.phase },
            { title: "Settings", cell: (one) => one.settings },
            { title: "Iterations", cell: (one) => `${one.first_iteration} to ${one.first_iteration + one.iterations - 1}`, by: (one) => one.first_iteration },
            { title: "Time, median", number: true, cell: (one) => quantity(one.median_time_s, "s", 4), by: (one) => one.median_time_s },
            { title: "as planned", number: true, cell: (one) => (known(one.planned_time_s) ? quantity(one.planned_time_s, "s", 4) : <span class="faint">not planned</span>), by: (one) => one.planned_time_s },
            { title: "Energy", number: true, cell: (one) => <EnergyText energy={one.energy} />, by: (one) => one.energy.joules },
            { title: "as planned", number: true, cell: (one) => (known(one.planned_energy_j) ? quantity(one.planned_energy_j, "J") : <span class="faint">not planned</span>), by: (one) => one.planned_energy_j },
            { title: "Figure is", cell: (one) => <StatusChips status={one.energy.status} /> },
          ]}
        />
      </Panel>
      <p class="faint">{told.schedule}, {count(told.stages)} stages, {count(told.microbatches)} microbatches.</p>
    </>
  );
}
