// Two runs: side by side from the store, or the verdict that `perjoule compare` gave.
import type { Document, Energy, Run } from "../../data/schemas";
import { StatusChips } from "../../parts/chips";
import { EnergyCard, EnergyText, FigureCard, Figures } from "../../parts/figure";
import { count, duration, known, percent, quantity } from "../../parts/format";
import { Notes, Panel } from "../../parts/panel";
import { PowerTimeline, type Track } from "../../parts/power_timeline";
import { Table } from "../../parts/table";
import { mainSources, sourceName, type TimelineOf } from "./run";

interface Side {
  name: string;
  run: Run;
  timelineOf: TimelineOf;
}

interface Row {
  what: string;
  cell(run: Run): preact.ComponentChildren;
  value(run: Run): number | null | undefined;
}

const rows: Row[] = [
  { what: "energy", cell: (run) => <EnergyText energy={run.total} />, value: (run) => run.total.joules },
  { what: "energy per unit of work", cell: (run) => (run.unit?.energy ? <><EnergyText energy={run.unit.energy} /> per {run.unit.name}</> : <span class="faint">no units counted</span>), value: (run) => run.unit?.energy?.joules },
  { what: "idle part", cell: (run) => (run.static ? <EnergyText energy={run.static} /> : <span class="faint">no baseline</span>), value: (run) => run.static?.joules },
  { what: "work's part", cell: (run) => (run.dynamic ? <EnergyText energy={run.dynamic} /> : <span class="faint">no baseline</span>), value: (run) => run.dynamic?.joules },
  { what: "took", cell: (run) => duration(run.duration_s), value: (run) => run.duration_s },
  { what: "mean power", cell: (run) => quantity(run.mean_power_w, "W"), value: (run) => run.mean_power_w },
  { what: "units of work", cell: (run) => (run.unit ? `${count(run.unit.count)} ${run.unit.name}` : <span class="faint">none counted</span>), value: (run) => run.unit?.count },
  { what: "kind of figure", cell: (run) => <StatusChips status={run.total.status} />, value: () => null },
];

export function Pair({ first, second }: { first: Side; second: Side }) {
  return (
    <>
      <Panel title="Figures">
        <Table
          caption="The two runs" rows={rows}
          columns={[
            { title: "What", cell: (row) => row.what },
            { title: first.name, number: true, cell: (row) => row.cell(first.run) },
            { title: second.name, number: true, cell: (row) => row.cell(second.run) },
            { title: "Second over first", number: true, cell: (row) => ratio(row.value(first.run), row.value(second.run)) },
          ]}
        />
        <p class="faint">
          Ratios of the two figures as they stand. Whether the runs differ, with the errors that both share cancelled, is told by <code>perjoule compare {first.name} {second.name}</code>.
        </p>
      </Panel>
      <Panel title="Course of power, from each one's beginning" wide>
        <PowerTimeline
          label={`Power of ${first.name} and ${second.name}`} seconds={Math.max(first.run.duration_s, second.run.duration_s)}
          tracks={[...tracks(first), ...tracks(second)]}
        />
      </Panel>
    </>
  );
}

/** The source of each run that took most. */
function tracks({ name, run, timelineOf }: Side): Track[] {
  const id = mainSources(run)[0]?.id;
  const source = id ? timelineOf(id) : null;
  return id && source ? [{ name: `${name}, ${sourceName(run, id)}`, source, begin: run.begin_unix_ns / 1e6 }] : [];
}

function ratio(first: number | null | undefined, second: number | null | undefined) {
  return known(first) && known(second) && first !== 0 ? (second / first).toPrecision(4) : <span class="faint">–</span>;
}

interface Compared extends Document {
  first: string;
  second: string;
  per_unit: string | null;
  change: Energy;
  relative: number | null;
  relative_half_width: number | null;
  time_ratio: number | null;
  verdict: string;
  reason?: string;
  static_change: Energy | null;
  dynamic_change: Energy | null;
  notes: string[];
}

const verdicts: Record<string, string> = {
  same: "No difference can be told", less: "The second takes less", more: "The second takes more", unknown: "It cannot be told",
};

export function ComparedDocument({ document }: { document: Document }) {
  const told = document as Compared;
  const per = told.per_unit ? ` per ${told.per_unit}` : "";
  return (
    <>
      <p class="verdict"><strong>{verdicts[told.verdict] ?? told.verdict}.</strong> {told.reason ?? ""} {told.second} held against {told.first}{per}.</p>
      <Figures>
        <EnergyCard label={`Change${per}`} energy={told.change} />
        <FigureCard label="Relative" value={percent(told.relative)} note={known(told.relative_half_width) ? `± ${percent(told.relative_half_width)}` : undefined} />
        <FigureCard label="Time" value={known(told.time_ratio) ? told.time_ratio.toPrecision(4) : "missing"} note="second over first" />
        {told.static_change && <EnergyCard label="Change of waiting" energy={told.static_change} />}
        {told.dynamic_change && <EnergyCard label="Change of work" energy={told.dynamic_change} />}
      </Figures>
      <Notes notes={told.notes} />
    </>
  );
}
