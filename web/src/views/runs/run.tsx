// One run: its total, what of it was waiting, who took it, its course, and how well each source knows.
import { useState } from "preact/hooks";
import type { SeriesSource } from "../../data/series";
import type { Energy, Run, RunSource } from "../../data/schemas";
import { BoundaryChip, GradeChip, StatusChips } from "../../parts/chips";
import { Bar, EnergyCard, EnergyText, FigureCard, Figures, split } from "../../parts/figure";
import { count, duration, moment, percent, quantity } from "../../parts/format";
import { Notes, Panel } from "../../parts/panel";
import { PowerTimeline, type Track } from "../../parts/power_timeline";
import { Table } from "../../parts/table";

/** Where a source's samples are; null where there are none. */
export type TimelineOf = (source: string) => SeriesSource | null;

export function RunShown({ run, timelineOf }: { run: Run; timelineOf: TimelineOf | null }) {
  const unit = run.unit;
  return (
    <>
      <Figures>
        <EnergyCard label="Energy" energy={run.total} note={<BoundaryChip boundary={run.total.boundary} />} />
        {unit?.energy && <EnergyCard label={`Energy per ${unit.name}`} energy={unit.energy} note={`${count(unit.count)} of them`} />}
        <FigureCard label="Took" value={duration(run.duration_s)} note={run.begin_unix_ns ? `from ${moment(run.begin_unix_ns / 1e6)}` : undefined} />
        <FigureCard label="Mean power" {...split(quantity(run.mean_power_w, "W"))} note={run.host ? `on ${run.host}` : undefined} />
      </Figures>
      {run.static && run.dynamic && <Waiting waiting={run.static} work={run.dynamic} />}
      {timelineOf && <Course run={run} timelineOf={timelineOf} />}
      <Sources run={run} />
      {run.cpu_shares && run.cpu_shares.length > 0 && (
        <Panel title="Who took the CPU's share">
          <Table
            caption="Shares of the CPU" rows={run.cpu_shares}
            columns={[
              { title: "Who", cell: (one) => one.owner },
              { title: "Share", cell: (one) => <Bar share={one.share} text={percent(one.share)} />, by: (one) => one.share },
              { title: "Energy", number: true, cell: (one) => <EnergyText energy={one.energy} />, by: (one) => one.energy.joules },
              { title: "Figure is", cell: (one) => <StatusChips status={one.energy.status} /> },
            ]}
          />
        </Panel>
      )}
      <Notes notes={[...(run.notes ?? []), ...run.sources.flatMap((source) => source.notes ?? [])]} />
    </>
  );
}

function Waiting({ waiting, work }: { waiting: Energy; work: Energy }) {
  const sum = (waiting.joules ?? 0) + (work.joules ?? 0);
  const share = waiting.joules !== null && sum > 0 ? waiting.joules / sum : null;
  return (
    <Panel title="Waiting and work">
      {share !== null && (
        <div class="parted" role="img" aria-label={`${percent(share)} is what the machine draws idle, ${percent(1 - share)} is the work's`}>
          <span class="part-static" style={{ flexGrow: share }} /><span class="part-dynamic" style={{ flexGrow: 1 - share }} />
        </div>
      )}
      <dl class="pairs">
        <dt><span class="key key-static" aria-hidden="true" /> idle power over that time</dt><dd><EnergyText energy={waiting} /> {share !== null && `(${percent(share)})`}</dd>
        <dt><span class="key key-dynamic" aria-hidden="true" /> the work's own</dt><dd><EnergyText energy={work} /> {share !== null && `(${percent(1 - share)})`}</dd>
      </dl>
    </Panel>
  );
}

/** Sources of which none counts what another does, largest first; of a daemon's run, those whose samples it kept. */
export function mainSources(run: Run): RunSource[] {
  const kept = run.sources.filter((source) => run.timelines?.includes(source.id) ?? true);
  const apart = kept.filter((source) => source.overlaps === null);
  return (apart.length > 0 ? apart : kept).sort((one, other) => (other.energy.joules ?? -1) - (one.energy.joules ?? -1));
}

export function sourceName(run: Run, source: string): string {
  const devices = [...new Set(run.sources.map((one) => one.device))];
  const one = run.sources.find((candidate) => candidate.id === source);
  const device = one?.device ?? source;
  const kind = device.split(":")[0] ?? "";
  const number = devices.filter((other) => other.startsWith(`${kind}:`)).indexOf(device);
  const part = source.slice(device.length).replace(/^\//, "");
  return `${kind.toUpperCase()} ${number < 0 ? "" : number}${part ? ` ${part}` : ""}`.trim();
}

function Course({ run, timelineOf }: { run: Run; timelineOf: TimelineOf }) {
  const [chosen, setChosen] = useState(() => mainSources(run).slice(0, 3).map((source) => source.id));
  const [samples, setSamples] = useState(0);
  const begin = run.begin_unix_ns / 1e6;
  const tracks = chosen.flatMap((id): Track[] => {
    const source = timelineOf(id);
    return source ? [{ name: sourceName(run, id), source, begin }] : [];
  });
  const toggle = (id: string) => setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <Panel title="Course of power" wide aside={samples > 0 && <span class="faint">{count(samples)} samples; the band is from least to most</span>}>
      <PowerTimeline label={`Power over the run of ${tracks.map((track) => track.name).join(", ")}`} tracks={tracks} seconds={run.duration_s} onSamples={setSamples} />
      <fieldset class="picks">
        <legend>Sources shown</legend>
        {run.sources.map((source) => (
          <label><input type="checkbox" checked={chosen.includes(source.id)} onChange={() => toggle(source.id)} /> {sourceName(run, source.id)}</label>
        ))}
      </fieldset>
    </Panel>
  );
}

const partNames: Record<string, string> = {
  edge_j: "edges", quantum_j: "quantum", gain_j: "gain", offset_j: "offset", sampling_j: "sampling", model_j: "model", gap_j: "gaps",
};

function Sources({ run }: { run: Run }) {
  const { sources } = run;
  const total = run.total.joules;
  return (
    <Panel title="Sources">
      <Table
        caption="Sources of the run" rows={sources}
        columns={[
          { title: "Source", cell: (source) => <span class="model"><b>{sourceName(run, source.id)}</b><span class="id faint cut" title={source.id}>{source.id}</span></span>, by: (source) => sourceName(run, source.id) },
          { title: "Energy", number: true, cell: (source) => <EnergyText energy={source.energy} />, by: (source) => source.energy.joules },
          {
            title: "Of the total", by: (source) => (source.overlaps ? null : source.energy.joules),
            cell: (source) => (source.overlaps || source.energy.joules === null || !total ? <span class="faint">counted elsewhere</span> : <Bar share={source.energy.joules / total} text={percent(source.energy.joules / total)} />),
          },
          { title: "Figure is", cell: (source) => <StatusChips status={source.energy.status} />, by: (source) => source.energy.status },
          { title: "Grade", cell: (source) => <GradeChip grade={source.energy.grade} />, by: (source) => source.energy.grade },
          { title: "Read", cell: (source) => <span class="two-lines"><span>{source.backend}</span><span class="faint">every {quantity(source.tick_s, "s")}</span></span>, by: (source) => source.backend },
          { title: "Error from", cell: (source) => <span class="two-lines">{errorParts(source).map((part) => <span class="faint">{part}</span>)}</span> },
        ]}
      />
    </Panel>
  );
}

/** The parts of the uncertainty, largest first, one sigma each. */
function errorParts(source: RunSource): string[] {
  return Object.entries(source.uncertainty ?? {})
    .sort(([, one], [, other]) => other - one)
    .slice(0, 2)
    .map(([name, joules]) => `${partNames[name] ?? name.replace(/_j$/, "")} ${quantity(joules, "J")}`);
}
