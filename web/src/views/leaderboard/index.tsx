import type { Shown } from "../../data/documents";
import type { Document, Group } from "../../data/schemas";
import { StatusChips } from "../../parts/chips";
import { Bar, Lost } from "../../parts/figure";
import { count, known, percent, plusMinus, quantity } from "../../parts/format";
import { FrontierExplorer } from "../../parts/frontier_explorer";
import { Empty, Notes, Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import { gpuWords, type BenchResult } from "../serving/bench";
import type { View } from "../view";

interface Row {
  place: number;
  model: string;
  energy_j: number;
  latency_s: number;
  candidates: number;
  feasible: number;
  saved_per_unit: number | null;
  saved_per_response: number | null;
  stars_by_range: number;
  tdp: { per_unit_j: number; ratio: number } | null;
  result: BenchResult;
}

interface Board {
  benchmark: string;
  task: string;
  ranked_by: string;
  metric: string;
  deadline_s: number;
  configurations: number;
  rows: Row[];
  misses: { model: string; quantity: string; limit: number; reached: number; over: number }[];
  notes: string[];
}

interface Leaderboard extends Document {
  results: number;
  selected: number;
  left_out: number;
  notes: string[];
  boards?: Board[];
  frontiers?: Group[];
}

function Show({ document }: Shown) {
  const told = document as Leaderboard;
  return (
    <>
      <p class="faint">{told.selected} of {told.results} results{told.left_out ? `, ${told.left_out} left out` : ""}.</p>
      {(told.boards ?? []).map((board) => <BoardShown board={board} />)}
      {(told.frontiers ?? []).map((group) => (
        <section>
          <h2>{group.model}</h2>
          <FrontierExplorer group={group} unit={(group.ranked_by ?? "").replace(/^energy per /, "")} timeName={group.metric ?? "latency"} />
        </section>
      ))}
      {!told.boards?.length && !told.frontiers?.length && <Empty>Nothing is ranked here.</Empty>}
      <Notes notes={told.notes} />
    </>
  );
}

function BoardShown({ board }: { board: Board }) {
  const most = Math.max(...board.rows.map((row) => row.energy_j));
  const unit = board.ranked_by.replace(/^energy per /, "");
  return (
    <Panel
      title={`${board.task}${board.benchmark ? `, ${board.benchmark}` : ""}`} wide
      aside={<span class="faint">{board.ranked_by}, {board.metric} at most {quantity(board.deadline_s, "s")}, {board.configurations} configurations</span>}
    >
      <Table
        caption={`Ranking of ${board.task}`} rows={board.rows}
        columns={[
          { title: "Place", number: true, cell: (row) => row.place, by: (row) => row.place },
          { title: "Model", cell: (row) => <Model id={row.model} />, by: (row) => row.model },
          { title: `Energy per ${unit}`, cell: (row) => <Bar share={row.energy_j / most} text={energyText(row, unit)} />, by: (row) => row.energy_j },
          { title: "Stars", cell: (row) => <span role="img" aria-label={`${row.stars_by_range} of 5 stars`} class="stars">{"★".repeat(row.stars_by_range)}{"☆".repeat(5 - row.stars_by_range)}</span>, by: (row) => row.stars_by_range },
          { title: board.metric, number: true, cell: (row) => <span class="nowrap">{quantity(row.latency_s, "s")}</span>, by: (row) => row.latency_s },
          { title: "Saves", number: true, cell: (row) => percent(row.saved_per_response ?? row.saved_per_unit), by: (row) => row.saved_per_response ?? row.saved_per_unit },
          { title: "On", cell: (row) => <span class="two-lines"><span>{gpuWords(row.result)}</span><span class="faint">{known(row.result.batch?.max_num_seqs) ? `${count(row.result.batch.max_num_seqs)} at once` : ""}</span></span>, by: (row) => gpuWords(row.result) },
          { title: "By TDP", number: true, cell: (row) => (row.tdp ? `× ${row.tdp.ratio.toFixed(2)}` : <Lost />), by: (row) => row.tdp?.ratio },
          { title: "Figure is", cell: (row) => <StatusChips status={energyOf(row, unit)?.status} /> },
        ]}
      />
      <p class="faint">Saves: energy against the model's own fastest configuration. By TDP: what an estimate from the thermal design power would say, as a multiple.</p>
      {board.misses.length > 0 && (
        <>
          <h3>Out of reach</h3>
          <ul>{board.misses.map((miss) => <li>{miss.model}: {miss.quantity} of {quantity(miss.reached, miss.quantity === "energy" ? "J" : "s")} at best, {percent(miss.over)} over.</li>)}</ul>
        </>
      )}
      <Notes notes={board.notes} />
    </Panel>
  );
}

/** "meta-llama/Llama-3.1-8B": whose it is stands above what it is. */
function Model({ id }: { id: string }) {
  const [maker, name] = id.includes("/") ? [id.slice(0, id.indexOf("/")), id.slice(id.indexOf("/") + 1)] : ["", id];
  return <span class="model"><span class="faint">{maker}</span><b>{name}</b></span>;
}

function energyOf(row: Row, unit: string) {
  return row.result.energy[unit === "token" ? "output_token" : unit];
}

function energyText(row: Row, unit: string): string {
  const energy = energyOf(row, unit);
  return energy && known(energy.joules) ? plusMinus(row.energy_j, energy.expanded_j, "J") : quantity(row.energy_j, "J");
}

export const view: View = {
  name: "leaderboard",
  title: "Leaderboard",
  summary: "Models by the energy of their answers, each at its best configuration within the deadline.",
  schemas: ["perjoule.leaderboard.v1"],
  Show,
  how: "perjoule leaderboard results/ --deadline 100ms --json > leaderboard.json",
};
