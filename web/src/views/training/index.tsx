import type { Shown } from "../../data/documents";
import type { Document, Group } from "../../data/schemas";
import { FigureCard, Figures } from "../../parts/figure";
import { count, known, percent, quantity } from "../../parts/format";
import { FrontierExplorer } from "../../parts/frontier_explorer";
import { Notes, Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import type { View } from "../view";

interface PowerLimit extends Document {
  rule: string;
  max_power_w: number;
  settled: boolean;
  steps: number;
  steps_are: string;
  repeats: number;
  stalls: number;
  notes: string[];
  error?: { message: string; remedy?: string };
  result: Group;
}

function PowerLimitShown({ document }: Shown) {
  const told = document as PowerLimit;
  return (
    <>
      {told.error && <div class="notice notice-error" role="alert"><strong>✕ {told.error.message}</strong> {told.error.remedy}</div>}
      <Figures>
        <FigureCard label="Power limit" value={told.result.chosen?.settings["power limit"] ?? "missing"} note={told.settled ? "found, and set until the training ended" : "the search did not settle"} />
        <FigureCard label="Steps" value={count(told.steps)} note={told.steps_are} />
        <FigureCard label="Measured anew" value={count(told.repeats)} note="times, as a step had changed" />
        <FigureCard label="Stalls" value={count(told.stalls)} note="stretches left out as too long" />
      </Figures>
      <FrontierExplorer group={told.result} unit="step" timeName="time of a step" />
      <Notes notes={told.notes} />
    </>
  );
}

interface Mean {
  mean_j?: number | null;
  mean_s?: number | null;
  censored?: number;
}

interface SimulationResult {
  workload?: string;
  dataset?: string;
  policy: string;
  eta?: Mean;
  tta?: Mean;
  energy_saved?: { mean: number } | null;
}

function SimulationShown({ document }: Shown) {
  const results = document["results"] as SimulationResult[];
  return (
    <Panel title="What each policy takes to reach the target">
      <Table
        caption="Policies" rows={results}
        columns={[
          { title: "Workload", cell: (one) => one.workload ?? one.dataset ?? "all", by: (one) => one.workload ?? one.dataset },
          { title: "Policy", cell: (one) => one.policy, by: (one) => one.policy },
          { title: "Energy to the target", number: true, cell: (one) => quantity(one.eta?.mean_j, "J"), by: (one) => one.eta?.mean_j },
          { title: "Time to the target", number: true, cell: (one) => quantity(one.tta?.mean_s, "s"), by: (one) => one.tta?.mean_s },
          { title: "Never reached it", number: true, cell: (one) => count(one.eta?.censored), by: (one) => one.eta?.censored },
          { title: "Energy saved", number: true, cell: (one) => (known(one.energy_saved?.mean) ? percent(one.energy_saved.mean) : <span class="faint">–</span>), by: (one) => one.energy_saved?.mean },
        ]}
      />
    </Panel>
  );
}

function Show(shown: Shown) {
  return shown.document.schema === "perjoule.train-power-limit.v1" ? <PowerLimitShown {...shown} /> : <SimulationShown {...shown} />;
}

export const view: View = {
  name: "training",
  title: "Training",
  summary: "The power limit and the batch size of a training: what was tried, and what was chosen.",
  schemas: ["perjoule.train-power-limit.v1", "perjoule.train-simulation.v1"],
  Show,
  how: "perjoule train power-limit --json -- python3 train.py > power-limit.json",
};
