// The documents as far as views read them; docs/formats.md says what they mean. Whatever may be absent is marked so.

export interface Document {
  schema: string;
  [member: string]: unknown;
}

export interface Energy {
  joules: number | null;
  expanded_j: number | null;
  status: string;
  grade?: string;
  boundary?: string;
  source?: string;
  lower_bound?: boolean;
  upper_bound?: boolean;
}

export interface Point {
  settings: Record<string, string>;
  time_s: number;
  time_expanded_s?: number | null;
  energy: Energy;
  rate_per_s?: number | null;
  file?: string;
  on_frontier?: boolean;
}

export interface Group {
  group: Record<string, string>;
  points?: Point[];
  frontier?: Point[];
  left_out?: unknown[];
  rule?: string;
  note?: string;
  chosen?: Point | null;
  fastest?: Point;
  model?: string;
  metric?: string;
  ranked_by?: string;
}

export interface Series {
  from_unix_ms: number;
  step_s: number;
  samples?: number;
  mean_w: (number | null)[];
  least_w: (number | null)[];
  most_w: (number | null)[];
}

export interface RunSource {
  id: string;
  device: string;
  scope: string;
  backend: string;
  kind: string;
  overlaps: string | null;
  tick_s: number;
  energy: Energy;
  uncertainty?: Record<string, number>;
  notes?: string[];
}

export interface Run extends Document {
  /** Of a daemon's run: the sources whose samples it kept. */
  timelines?: string[];
  name: string;
  begin_unix_ns: number;
  duration_s: number;
  total: Energy;
  mean_power_w: number | null;
  sources: RunSource[];
  notes?: string[];
  host?: string;
  command?: string[] | string;
  project?: string;
  tags?: string[];
  exit_status?: number;
  unit?: { name: string; count: number; energy?: Energy; time_s?: number };
  static?: Energy | null;
  dynamic?: Energy | null;
  totals_by_status?: Energy[];
  cpu_shares?: { owner: string; share: number; energy: Energy }[];
}

export interface Timeline {
  source: string;
  t0_unix_ns: number;
  dt_s: number;
  watts: (number | null)[];
}

export interface StoredRun {
  id: string;
  started_unix_ns: number;
  duration_s: number;
  host: string;
  command: string;
  project?: string;
  tags?: string[];
  unit?: string;
  document: Run;
  timelines?: Timeline[];
}

export interface DocumentEntry {
  name: string;
  schema: string;
  title: string;
  modified_unix_ms: number;
  bytes: number;
}
