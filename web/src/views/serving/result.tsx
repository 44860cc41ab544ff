// What one benchmark of a server found, and many of them beside each other.
import type { Shown } from "../../data/documents";
import { Chip, StatusChips } from "../../parts/chips";
import { EnergyCard, EnergyText, FigureCard, Figures, Lost, split } from "../../parts/figure";
import { count, duration, known, percent, quantity } from "../../parts/format";
import { Notes, Panel } from "../../parts/panel";
import { Table } from "../../parts/table";
import { gpuWords, latencyWords, unitWords, type BenchResult, type Latency } from "./bench";

export function Result({ document }: Shown) {
  const result = document as BenchResult;
  const { run } = result;
  const latencies = Object.entries(result.latency ?? {}).filter((entry): entry is [string, Latency] => typeof entry[1] === "object");
  return (
    <>
      <p class="summary">{result.model.nickname ?? result.model.id} on {gpuWords(result)}{result.engine?.name ? `, ${[result.engine.name, result.engine.version].filter(Boolean).join(" ")}` : ""}; task {result.task}</p>
      {result.validity && result.validity.length > 0 && (
        <div class="notice notice-error"><strong><span aria-hidden="true">✕</span> This result is void and is not ranked</strong><ul>{result.validity.map((reason) => <li>{reason}</li>)}</ul></div>
      )}
      <Figures>
        {Object.entries(result.energy).map(([unit, energy]) => <EnergyCard label={`Energy per ${unitWords[unit] ?? unit}`} energy={energy} />)}
        <FigureCard label="Power of the GPUs" {...split(quantity(result.power_w, "W"))} note={gpuWords(result)} />
        {Object.entries(result.rates_per_s ?? {}).slice(0, 1).map(([name, rate]) => <FigureCard label={`Rate of ${name.replaceAll("_", " ")}`} value={count(Math.round(rate))} unit="/s" />)}
        {known(result.batch?.mean) && <FigureCard label="Running requests" value={count(result.batch.mean)} note={known(result.batch.max_num_seqs) ? `of at most ${result.batch.max_num_seqs}` : undefined} />}
        {known(result.goodput?.share) && <FigureCard label="Within their limits" value={percent(result.goodput.share)} note="of the requests" />}
      </Figures>
      {latencies.length > 0 && (
        <Panel title="Latency">
          <Table
            caption="Latencies" rows={latencies}
            columns={[
              { title: "Latency", cell: ([name]) => latencyWords[name] ?? name, by: ([name]) => name },
              ...(["mean_s", "p50_s", "p90_s", "p95_s", "p99_s"] as const).map((key) => ({
                title: key === "mean_s" ? "mean" : key.replace("_s", "").toUpperCase(), number: true,
                cell: ([, latency]: [string, Latency]) => (known(latency[key]) ? quantity(latency[key], "s") : <Lost />), by: ([, latency]: [string, Latency]) => latency[key],
              })),
            ]}
          />
        </Panel>
      )}
      {run?.windows && (
        <Panel title="Windows of the run">
          <Table
            caption="Windows of the run" rows={run.windows} marked={(one) => one.rule === run.window}
            columns={[
              { title: "Rule", cell: (one) => <>{one.rule} {one.rule === run.window && <Chip kind="good">these figures</Chip>}</> },
              { title: "From", number: true, cell: (one) => duration(one.from_s) },
              { title: "Until", number: true, cell: (one) => duration(one.until_s) },
              { title: "Output tokens", number: true, cell: (one) => count(one.output_tokens) },
              { title: "Running", number: true, cell: (one) => count(one.mean_running) },
              { title: "Energy per output token", number: true, cell: (one) => (one.absent ? <span class="lost">{one.absent}</span> : <EnergyText energy={one.output_token} />) },
              { title: "Warning", cell: (one) => one.warning ?? <span class="faint">none</span> },
            ]}
          />
        </Panel>
      )}
      <Notes notes={run?.notes} />
    </>
  );
}

export function Results({ document }: Shown) {
  const results = document["results"] as BenchResult[];
  return (
    <Panel title={`${results.length} results`}>
      <Table
        caption="Results" rows={results}
        columns={[
          { title: "Model", cell: (one) => one.model.nickname ?? one.model.id, by: (one) => one.model.id },
          { title: "On", cell: gpuWords, by: gpuWords },
          { title: "Most at once", number: true, cell: (one) => count(one.batch?.max_num_seqs), by: (one) => one.batch?.max_num_seqs },
          { title: "Energy per output token", number: true, cell: (one) => <EnergyText energy={one.energy["output_token"]} />, by: (one) => one.energy["output_token"]?.joules },
          { title: "Energy per response", number: true, cell: (one) => <EnergyText energy={one.energy["response"]} />, by: (one) => one.energy["response"]?.joules },
          { title: "ITL, P90", number: true, cell: (one) => quantity(one.latency?.["itl"]?.p90_s, "s"), by: (one) => one.latency?.["itl"]?.p90_s },
          { title: "TTFT, P90", number: true, cell: (one) => quantity(one.latency?.["ttft"]?.p90_s, "s"), by: (one) => one.latency?.["ttft"]?.p90_s },
          { title: "Valid", cell: (one) => (one.validity?.length ? <Chip kind="warn" title={one.validity.join("; ")}>✕ void</Chip> : <Chip kind="good">✓ valid</Chip>), by: (one) => one.validity?.length ?? 0 },
          { title: "Figure is", cell: (one) => <StatusChips status={one.energy["output_token"]?.status ?? one.energy["response"]?.status} /> },
        ]}
      />
    </Panel>
  );
}
