import type { Shown } from "../../data/documents";
import type { Document } from "../../data/schemas";
import { Bars } from "../../parts/bars";
import { StatusChips } from "../../parts/chips";
import { FigureCard, Figures } from "../../parts/figure";
import { count, known, percent, plusMinus, quantity } from "../../parts/format";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";

interface Method {
  method: string;
  name: string;
  time_s: number;
  energy_j: number;
  energy_sigma_j: number | null;
  working_j: number;
  waiting_j: number;
  switches: number;
  bound_j: number | null;
}

interface ComparisonDocument extends Document {
  status: string;
  intrinsic_bloat: number;
  theoretical_maximum: number;
  results: Method[];
}

export function Comparison({ document }: Shown) {
  const told = document as ComparisonDocument;
  const highest = told.results.find((one) => one.method === "highest") ?? told.results[0];
  const saved = (one: Method) => (highest ? 1 - one.energy_j / highest.energy_j : null);
  return (
    <>
      <Figures>
        <FigureCard label="Intrinsic bloat" value={percent(told.intrinsic_bloat)} note="of the energy can be saved at no time lost" />
        <FigureCard label="At most" value={percent(told.theoretical_maximum)} note="of the energy, with each step at its own least" />
        <FigureCard label="Methods" value={told.results.length} note={<StatusChips status={told.status} />} />
      </Figures>
      <Panel title="Energy of an iteration" wide>
        <Bars
          label="Energy by method"
          rows={told.results.map((one) => ({
            name: one.name, marked: one.method.startsWith("plan"),
            parts: [{ name: "working", value: one.working_j }, { name: "waiting", value: one.waiting_j }],
            text: quantity(one.energy_j, "J"), note: `${quantity(one.time_s, "s")}, saves ${percent(saved(one))}`,
          }))}
        />
      </Panel>
      <Panel title="Methods">
        <Table
          caption="Methods" rows={told.results} marked={(one) => one.method.startsWith("plan")}
          columns={[
            { title: "Method", cell: (one) => one.name, by: (one) => one.name },
            { title: "Time", number: true, cell: (one) => quantity(one.time_s, "s", 4), by: (one) => one.time_s },
            { title: "Energy", number: true, cell: (one) => plusMinus(one.energy_j, known(one.energy_sigma_j) ? 2 * one.energy_sigma_j : null, "J"), by: (one) => one.energy_j },
            { title: "Saves", number: true, cell: (one) => percent(saved(one)), by: saved },
            { title: "Above the least", number: true, cell: (one) => (known(one.bound_j) ? percent(one.energy_j / one.bound_j - 1) : <span class="faint">–</span>), by: (one) => (known(one.bound_j) ? one.energy_j / one.bound_j : null) },
            { title: "Changes of setting", number: true, cell: (one) => count(one.switches), by: (one) => one.switches },
          ]}
        />
      </Panel>
    </>
  );
}
