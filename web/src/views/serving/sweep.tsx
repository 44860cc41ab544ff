import type { Shown } from "../../data/documents";
import type { Document, Group } from "../../data/schemas";
import { FigureCard, Figures } from "../../parts/figure";
import { FrontierExplorer } from "../../parts/frontier_explorer";
import { Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import { settingWords } from "../../data/frontier";

interface Answer extends Document {
  points: number;
  measured_now: number;
  there: number;
  left_out: { point: string; why: string }[];
  failed: { point: string; why: string }[];
  frontier: Group | Group[];
}

export function Sweep({ document }: Shown) {
  const told = document as Answer;
  const groups = Array.isArray(told.frontier) ? told.frontier : told.frontier ? [told.frontier] : [];
  return (
    <>
      <Figures>
        <FigureCard label="Points" value={told.there} note={`of ${told.points}, ${told.measured_now} measured in this sweep`} />
        <FigureCard label="Left out" value={told.left_out.length} note="void, or below the goodput asked for" />
        <FigureCard label="Failed" value={told.failed.length} note={told.failed.length ? "see below" : "none"} />
      </Figures>
      {groups.map((group) => (
        <FrontierExplorer group={group} unit={(group.ranked_by ?? "energy per token").replace(/^energy per /, "")} timeName={group.metric ?? "latency"} />
      ))}
      <Why title="Left out, and why" rows={told.left_out} />
      <Why title="Failed, and why" rows={told.failed} />
    </>
  );
}

function Why({ title, rows }: { title: string; rows: { point: string; why: string }[] }) {
  if (rows.length === 0) return null;
  return (
    <Panel title={title}>
      <Table caption={title} rows={rows} columns={[{ title: "Point", cell: (row) => row.point, by: (row) => row.point }, { title: "Why", cell: (row) => row.why }]} />
    </Panel>
  );
}

interface IndexDocument extends Document {
  points: { settings: Record<string, string>; file: string; done: boolean }[];
}

export function Index({ document }: Shown) {
  const { points } = document as IndexDocument;
  return (
    <Panel title={`${points.filter((one) => one.done).length} of ${points.length} points are measured`}>
      <Table
        caption="Points of the sweep" rows={points}
        columns={[
          { title: "Settings", cell: (one) => settingWords(one.settings), by: (one) => settingWords(one.settings) },
          { title: "State", cell: (one) => (one.done ? "✓ measured" : "○ to be measured"), by: (one) => (one.done ? 0 : 1) },
          { title: "File", cell: (one) => <span class="id">{one.file}</span> },
        ]}
      />
    </Panel>
  );
}
