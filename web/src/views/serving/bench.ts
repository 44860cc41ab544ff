// Results of benchmarks as far as views read them; whatever is not known is absent.
import type { Document, Energy } from "../../data/schemas";

export interface Latency {
  mean_s?: number;
  p50_s?: number;
  p90_s?: number;
  p95_s?: number;
  p99_s?: number;
}

export interface BenchResult extends Document {
  benchmark?: string;
  task: string;
  model: { id: string; nickname?: string; precision?: string };
  engine?: { name?: string; version?: string };
  gpus?: { model?: string; name?: string; count?: number };
  batch?: { max_num_seqs?: number; mean?: number };
  load?: Record<string, unknown>;
  settings?: Record<string, string>;
  energy: Record<string, Energy>;
  power_w?: number;
  rates_per_s?: Record<string, number>;
  latency?: Record<string, Latency>;
  goodput?: { share?: number; requests_per_s?: number; output_token?: Energy };
  validity?: string[];
  run?: { window?: string; windows?: Window[]; phases?: Record<string, unknown>; notes?: string[]; duration_s?: number };
}

export interface Window {
  rule: string;
  from_s?: number;
  until_s?: number;
  output_tokens?: number;
  responses?: number;
  failures?: number;
  mean_running?: number;
  output_token?: Energy;
  absent?: string;
  warning?: string;
}

export const unitWords: Record<string, string> = {
  output_token: "output token", total_token: "token", response: "response", image: "image", video: "video",
};

export const latencyWords: Record<string, string> = {
  ttft: "time to first token (TTFT)", itl: "between tokens (ITL)", tpot: "per output token (TPOT)", e2el: "whole request (E2EL)",
};

export function gpuWords(result: BenchResult): string {
  const { model, name, count = 1 } = result.gpus ?? {};
  return model || name ? `${count} × ${model ?? name}` : "GPU not told";
}
