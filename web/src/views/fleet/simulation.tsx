// What each policy takes over a load: energy by what it went into, who was late, and the fleet over time.
import { useState } from "preact/hooks";
import type { Shown } from "../../data/documents";
import type { Document, Energy } from "../../data/schemas";
import { Bars } from "../../parts/bars";
import { Chip, StatusChips } from "../../parts/chips";
import { FigureCard, Figures, split } from "../../parts/figure";
import { count, known, percent, quantity } from "../../parts/format";
import { Notes, Panel } from "../../parts/panel";
import { Table, type Column } from "../../parts/table";
import { OverTime, type Bin } from "./over_time";

export interface Policy {
  policy: string;
  energy: Energy;
  energy_kwh: number;
  busy_j?: number;
  idle_j: number | null;
  transition_j?: number;
  saving: number;
  keeps_attainment?: boolean;
  attainment?: number;
  mean_servers: number;
  peak_servers: number;
  gpus_per_server?: number;
  power_p50_w?: number;
  power_p99_w?: number;
  server_starts?: number;
  reshards?: number;
  clock_changes?: number;
  all?: { requests: number; attainment: number; ttft: { p99_s: number }; tbt: { p99_s: number } };
  bins?: Bin[];
}

export interface SimulationDocument extends Document {
  mode: string;
  load: string[] | { origin: string; bins: number };
  least_attainment?: number;
  policies: Policy[];
  origins?: string[];
  notes?: string[];
}

export function Simulation({ document }: Shown) {
  const told = document as SimulationDocument;
  const kept = told.policies.filter(keeps);
  const best = [...kept].sort((one, other) => other.saving - one.saving)[0] ?? null;
  const [name, setName] = useState(best?.policy ?? told.policies[0]?.policy ?? "");
  const first = told.policies[0];
  if (!first) return <p class="notice">This simulation has no policy.</p>;
  return (
    <>
      <Figures>
        {best && <FigureCard label="Saved at best" value={percent(best.saving)} note={`by ${best.policy}, against ${first.policy}, with the requests in time`} />}
        <FigureCard label={`Energy of ${first.policy}`} {...split(quantity(first.energy_kwh * 1000, "Wh"))} note={<StatusChips status={first.energy.status} />} />
        {best && <FigureCard label={`Energy of ${best.policy}`} {...split(quantity(best.energy_kwh * 1000, "Wh"))} note={<StatusChips status={best.energy.status} />} />}
        {best && <FigureCard label="Servers" value={count(best.mean_servers)} note={`in the mean, ${count(best.peak_servers)} at the peak, by ${best.policy}`} />}
      </Figures>
      <Panel title="Energy by policy" wide>
        <Bars label="Energy by policy" rows={told.policies.map((one) => ({
          name: one.policy, marked: one === best, parts: parts(one), text: quantity(one.energy_kwh * 1000, "Wh"),
          note: <>{one === first ? "what the others are held against" : saving(one.saving)} {keeps(one) ? null : <Chip kind="warn"><span aria-hidden="true">✕</span> requests late</Chip>}</>,
        }))} />
      </Panel>
      {told.policies.some((one) => one.bins?.length)
        ? <OverTime policies={told.policies} name={name} onName={setName} />
        : <p class="faint">This document does not say how the fleet went over time.</p>}
      <Panel title="Policies">
        <Table caption="Policies" rows={told.policies} marked={(one) => one === best} columns={columns(told.policies)} />
      </Panel>
      <Notes title="The load" notes={Array.isArray(told.load) ? told.load : [`${told.load.origin}, ${told.load.bins} bins`]} />
      <Notes title="Where the figures are from" notes={told.origins ?? [first.energy.source ?? ""].filter(Boolean)} />
      <Notes notes={told.notes} />
    </>
  );
}

function keeps(policy: Policy): boolean {
  return policy.keeps_attainment ?? (policy.attainment ?? 1) >= 1;
}

function saving(share: number): string {
  return share >= 0 ? `saves ${percent(share)}` : `takes ${percent(-share)} more`;
}

function parts(policy: Policy): { name: string; value: number }[] {
  const joules = policy.energy.joules ?? 0;
  if (policy.idle_j === null || policy.idle_j === undefined) return [{ name: "energy", value: joules }];
  const turning = policy.transition_j ?? 0;
  return [
    { name: "busy", value: policy.busy_j ?? joules - policy.idle_j - turning },
    { name: "idle", value: policy.idle_j },
    ...(policy.transition_j === undefined ? [] : [{ name: "starts and changes", value: turning }]),
  ];
}

function columns(policies: Policy[]): Column<Policy>[] {
  const some = (member: keyof Policy) => policies.some((one) => one[member] !== undefined);
  return [
    { title: "Policy", cell: (one) => <span class="nowrap">{one.policy}</span>, by: (one) => one.policy },
    { title: "Energy", number: true, cell: (one) => quantity(one.energy_kwh * 1000, "Wh"), by: (one) => one.energy_kwh },
    { title: "Saves", number: true, cell: (one) => percent(one.saving), by: (one) => one.saving },
    { title: "In time", number: true, cell: (one) => percent(one.all?.attainment ?? one.attainment), by: (one) => one.all?.attainment ?? one.attainment },
    { title: "Servers, mean", number: true, cell: (one) => count(one.mean_servers), by: (one) => one.mean_servers },
    { title: "peak", number: true, cell: (one) => count(one.peak_servers), by: (one) => one.peak_servers },
    ...(some("power_p99_w") ? [{ title: "Power, P99", number: true, cell: (one: Policy) => quantity(one.power_p99_w, "W"), by: (one: Policy) => one.power_p99_w }] : []),
    ...(some("all") ? [
      { title: "TTFT, P99", number: true, cell: (one: Policy) => quantity(one.all?.ttft.p99_s, "s"), by: (one: Policy) => one.all?.ttft.p99_s },
      { title: "TBT, P99", number: true, cell: (one: Policy) => quantity(one.all?.tbt.p99_s, "s"), by: (one: Policy) => one.all?.tbt.p99_s },
    ] : []),
    ...(some("server_starts") ? [{ title: "Starts, reshards, clocks", number: true, cell: (one: Policy) => [one.server_starts, one.reshards, one.clock_changes].map((many) => (known(many) ? count(many) : "–")).join(", "), by: (one: Policy) => one.clock_changes }] : []),
  ];
}
