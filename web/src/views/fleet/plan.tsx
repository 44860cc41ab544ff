// The least power that serves each load: one instance's clock, and the pool of instances.
import type { Shown } from "../../data/documents";
import type { Document } from "../../data/schemas";
import { Bars } from "../../parts/bars";
import { Lost } from "../../parts/figure";
import { count, percent, quantity } from "../../parts/format";
import { Notes, Panel } from "../../parts/panel";
import { Table } from "../../parts/table";

interface Layout {
  tp: number;
  pp: number;
  clock_mhz: number;
  power_w: number;
}

interface Load {
  load_tps: number;
  clocks: { gpu: string; chosen: Layout | null; highest_clock: Layout | null; highest_clock_meets?: boolean; saving?: number | null; reason?: string }[];
  pool: { feasible: boolean; reason?: string; power_w?: number; capacity_tps?: number; gpus?: number; instances?: (Layout & { kind: string; count: number; load_tps: number })[] };
}

interface PlanDocument extends Document {
  target: { ttft_s: number; tbt_s: number; ttft_statistic: string; tbt_statistic: string };
  loads: Load[];
  origins: string[];
  notes: string[];
}

export function FleetPlan({ document }: Shown) {
  const told = document as PlanDocument;
  const rate = (tps: number) => `${count(tps)}\u00a0tokens/s`;
  return (
    <>
      <p class="summary">First token within {quantity(told.target.ttft_s, "s")} ({told.target.ttft_statistic}), the next within {quantity(told.target.tbt_s, "s")} ({told.target.tbt_statistic}).</p>
      <Panel title="The pool of least power" wide>
        <Bars
          label="Power of the pool by load"
          rows={told.loads.map((load) => ({
            name: rate(load.load_tps),
            parts: (load.pool.instances ?? []).map((one) => ({ name: one.kind, value: one.count * one.power_w })),
            text: load.pool.feasible ? quantity(load.pool.power_w, "W") : "cannot be served",
            note: load.pool.feasible
              ? `${count(load.pool.gpus)} GPUs: ${(load.pool.instances ?? []).map((one) => `${one.count} × ${one.kind} at ${count(one.clock_mhz)} MHz`).join(", ")}`
              : load.pool.reason,
          }))}
        />
      </Panel>
      <Panel title="One instance and its clock">
        <Table
          caption="Clock of one instance by load" rows={told.loads.flatMap((load) => load.clocks.map((clock) => ({ load: load.load_tps, ...clock })))}
          columns={[
            { title: "Load", number: true, cell: (row) => rate(row.load), by: (row) => row.load },
            { title: "GPU", cell: (row) => row.gpu, by: (row) => row.gpu },
            { title: "Chosen", cell: (row) => layout(row.chosen, row.reason) },
            { title: "Power", number: true, cell: (row) => (row.chosen ? quantity(row.chosen.power_w, "W") : <Lost />), by: (row) => row.chosen?.power_w },
            { title: "At the highest clock", cell: (row) => <>{layout(row.highest_clock)}{row.highest_clock_meets === false && <span class="faint"> (late)</span>}</> },
            { title: "Power there", number: true, cell: (row) => (row.highest_clock ? quantity(row.highest_clock.power_w, "W") : <Lost />), by: (row) => row.highest_clock?.power_w },
            { title: "Saves", number: true, cell: (row) => percent(row.saving), by: (row) => row.saving },
          ]}
        />
      </Panel>
      <Notes title="Where the figures are from" notes={told.origins} />
      <Notes notes={told.notes} />
    </>
  );
}

function layout(layout: Layout | null, reason = "none") {
  return layout ? <span class="nowrap">TP {layout.tp}{layout.pp > 1 ? `, PP ${layout.pp}` : ""} at {count(layout.clock_mhz)} MHz</span> : <span class="faint">{reason}</span>;
}
