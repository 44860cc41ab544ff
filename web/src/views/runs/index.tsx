import { useState } from "preact/hooks";
import { link } from "../../app/address";
import { Heading } from "../../app/frame";
import { useAsk } from "../../data/ask";
import { fromServer, fromTimeline } from "../../data/series";
import type { Shown } from "../../data/documents";
import type { Run, StoredRun } from "../../data/schemas";
import { StatusChips } from "../../parts/chips";
import { EnergyText } from "../../parts/figure";
import { duration, moment, quantity } from "../../parts/format";
import { Empty, ErrorBox, Loading } from "../../parts/panel";
import { Table } from "../../parts/table";
import type { View } from "../view";
import { ComparedDocument, Pair } from "./compare";
import { RunShown, type TimelineOf } from "./run";

/** "ID" is a run, "ID and ID" are two side by side. */
const beside = " and ";

function Page({ rest }: { rest: string }) {
  const ids = rest ? rest.split(beside) : [];
  if (ids.length === 2) return <Two first={ids[0]!} second={ids[1]!} />;
  if (ids.length === 1) return <One id={ids[0]!} />;
  return <List />;
}

export function timelineOnServer(id: string): TimelineOf {
  return (source) => fromServer(`runs/${encodeURIComponent(id)}/timeline`, source);
}

const back = <a class="button quiet" href={link("runs")}>← All runs</a>;

function One({ id }: { id: string }) {
  const { data, error } = useAsk<Run>(`runs/${encodeURIComponent(id)}`);
  return (
    <>
      <Heading title={data ? `Run ${id}` : "Run"} summary={data ? commandOf(data) : undefined} aside={back} />
      {error && <ErrorBox error={error} />}
      {!data && !error && <Loading what={`run ${id}`} />}
      {data && <RunShown run={data} timelineOf={timelineOnServer(id)} />}
    </>
  );
}

function Two({ first, second }: { first: string; second: string }) {
  const one = useAsk<Run>(`runs/${encodeURIComponent(first)}`);
  const other = useAsk<Run>(`runs/${encodeURIComponent(second)}`);
  const error = one.error ?? other.error;
  return (
    <>
      <Heading title="Two runs" summary={`${first} beside ${second}`} aside={back} />
      {error && <ErrorBox error={error} />}
      {one.data && other.data && (
        <Pair
          first={{ name: first, run: one.data, timelineOf: timelineOnServer(first) }}
          second={{ name: second, run: other.data, timelineOf: timelineOnServer(second) }}
        />
      )}
    </>
  );
}

function List() {
  const { data, error } = useAsk<{ runs: StoredRun[] }>("runs", 15);
  return (
    <>
      <Heading title="Runs" summary="What programs took, newest first. Choose two to see them side by side." />
      {error && <ErrorBox error={error} />}
      {!data && !error && <Loading what="the runs" />}
      {data && data.runs.length === 0 && <Empty>No run is kept yet. <code>perjoule run -- COMMAND</code> makes one.</Empty>}
      {data && data.runs.length > 0 && <RunTable runs={data.runs} />}
    </>
  );
}

function RunTable({ runs }: { runs: StoredRun[] }) {
  const [sought, setSought] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const found = runs.filter((run) => [run.id, run.command, run.host, run.project ?? "", ...(run.tags ?? [])].join(" ").toLowerCase().includes(sought.toLowerCase()));
  const choose = (id: string) => setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(-2));
  const energy = (run: StoredRun) => run.document.total;
  return (
    <section class="panel">
      <div class="tools">
        <label class="field"><span>Search</span><input type="search" value={sought} placeholder="command, project, tag, host" onInput={(event) => setSought(event.currentTarget.value)} /></label>
        {chosen.length === 2
          ? <a class="button primary" href={link("runs", chosen.join(beside))}>Compare the two</a>
          : <span class="faint" role="status">{chosen.length === 1 ? "one more to compare" : ""}</span>}
      </div>
      <Table
        caption="Runs" rows={found} marked={(run) => chosen.includes(run.id)}
        columns={[
          { title: "Compare", cell: (run) => <input type="checkbox" aria-label={`Compare run ${run.id}`} checked={chosen.includes(run.id)} onChange={() => choose(run.id)} /> },
          { title: "Run", cell: (run) => <span class="two-lines"><a href={link("runs", run.id)}>{run.id}</a><span class="command faint" title={run.command}>{shortCommand(run.command)}</span></span>, by: (run) => run.command },
          { title: "Begun", cell: (run) => <span class="nowrap">{moment(run.started_unix_ns / 1e6)}</span>, by: (run) => run.started_unix_ns },
          { title: "Project", cell: (run) => [run.project, ...(run.tags ?? [])].filter(Boolean).join(", ") || <span class="faint">none</span>, by: (run) => run.project },
          { title: "Took", number: true, cell: (run) => <span class="nowrap">{duration(run.duration_s)}</span>, by: (run) => run.duration_s },
          { title: "Energy", number: true, cell: (run) => <EnergyText energy={energy(run)} />, by: (run) => energy(run).joules },
          { title: "Mean power", number: true, cell: (run) => <span class="nowrap">{quantity(run.document.mean_power_w, "W")}</span>, by: (run) => run.document.mean_power_w },
          { title: "Figure is", cell: (run) => <StatusChips status={energy(run).status} />, by: (run) => energy(run).status },
        ]}
      />
    </section>
  );
}

/** Paths are cut to their last part: that is what tells commands apart. */
export function shortCommand(command: string): string {
  return command.split(" ").map((word) => (word.startsWith("/") ? word.slice(word.lastIndexOf("/") + 1) : word)).join(" ");
}

export function commandOf(run: Run): string {
  return Array.isArray(run.command) ? run.command.join(" ") : (run.command ?? run.name);
}

function Show({ document }: Shown) {
  if (document.schema === "perjoule.compare.v1") return <ComparedDocument document={document} />;
  if (document.schema === "perjoule.runs.v1") return <Exported runs={document["runs"] as StoredRun[]} />;
  return <RunShown run={document as Run} timelineOf={null} />;
}

/** Runs of an export bring their samples along. */
function Exported({ runs }: { runs: StoredRun[] }) {
  return (
    <>
      {runs.map((run) => {
        const timelines = run.timelines ?? [];
        const timelineOf: TimelineOf = (source) => {
          const timeline = timelines.find((one) => one.source === source);
          return timeline ? fromTimeline(timeline) : null;
        };
        return (
          <section>
            {runs.length > 1 && <h2>Run {run.id}</h2>}
            <RunShown run={run.document} timelineOf={timelines.length > 0 ? timelineOf : null} />
          </section>
        );
      })}
    </>
  );
}

export const view: View = {
  name: "runs",
  title: "Runs",
  summary: "What runs took, by source, their course, and whether they differ.",
  schemas: ["perjoule.run.v1", "perjoule.runs.v1", "perjoule.compare.v1"],
  Page,
  Show,
  how: "perjoule run --json --output run.json -- COMMAND",
};
