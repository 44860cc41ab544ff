// The fleet over time: servers of each pool, and the power of every policy.
import { useMemo, useState } from "preact/hooks";
import { TimeChart, type Curve, type Extent } from "../../parts/chart";
import { Choice, Panel } from "../../parts/panel";
import { seriesColour, seriesDash } from "../../parts/theme";
import type { Policy } from "./simulation";

export interface Bin {
  start_s: number;
  duration_s: number;
  power_w: number | null;
  servers: number;
  /** Servers of each pool; where it is absent the fleet is one pool. */
  pools?: Record<string, number>;
}

export function OverTime({ policies, name, onName }: { policies: Policy[]; name: string; onName(name: string): void }) {
  const timed = policies.filter((one) => one.bins?.length);
  const chosen = timed.find((one) => one.policy === name) ?? timed[0]!;
  const bins = chosen.bins!;
  const last = bins[bins.length - 1]!;
  const whole: Extent = { from: bins[0]!.start_s, to: last.start_s + last.duration_s };
  const [extent, setExtent] = useState(whole);
  const pools = useMemo(() => poolCurves(bins), [bins]);
  const power = useMemo(() => timed.map((one, index) => curve(one.policy, one.bins!, (bin) => bin.power_w, index)), [policies]);
  return (
    <>
      <Panel title="Servers by pool" wide aside={<Choice label="Policy" value={chosen.policy} onChange={onName} options={timed.map((one) => ({ value: one.policy, title: one.policy }))} />}>
        <TimeChart label={`Servers of ${chosen.policy} by pool over time`} stacked clock={false} unit="" curves={pools} extent={extent} whole={whole} onExtent={setExtent} height={220} />
      </Panel>
      <Panel title="Power by policy" wide>
        <TimeChart label="Power of each policy over time" clock={false} unit="W" curves={power} extent={extent} whole={whole} onExtent={setExtent} height={260} />
      </Panel>
    </>
  );
}

function poolCurves(bins: Bin[]): Curve[] {
  const names = [...new Set(bins.flatMap((bin) => Object.keys(bin.pools ?? {})))];
  if (names.length === 0) return [curve("servers", bins, (bin) => bin.servers, 0)];
  return names.map((name, index) => curve(name, bins, (bin) => bin.pools?.[name] ?? 0, index));
}

/** Each bin holds until its end: the last is told twice. */
function curve(name: string, bins: Bin[], figure: (bin: Bin) => number | null, index: number): Curve {
  const last = bins[bins.length - 1]!;
  return {
    name, colour: seriesColour(index), dash: seriesDash(index), steps: true,
    times: [...bins.map((bin) => bin.start_s), last.start_s + last.duration_s],
    mean: [...bins.map(figure), figure(last)],
  };
}
