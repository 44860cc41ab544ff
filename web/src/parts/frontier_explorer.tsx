// One group of points: drag the deadline, see the choice and what it saves. Views of every document that holds such a
// group show it by this.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { chooseWithin, marked, partSettings, settingText, settingWords, type Marked } from "../data/frontier";
import type { Group } from "../data/schemas";
import { StatusChips } from "./chips";
import { EnergyText } from "./figure";
import { percent, plusMinus, prefixFor, quantity } from "./format";
import { Empty, Panel } from "./panel";
import { range } from "./scale";
import { Scatter } from "./scatter";
import { Table, type Column } from "./table";

export interface ExplorerProps {
  group: Group;
  /** The unit of work: a step, a request. */
  unit: string;
  timeName?: string;
  /** What a view knows of the chosen point besides. */
  more?(chosen: Marked): ComponentChildren;
}

export function FrontierExplorer({ group, unit, timeName = "time", more }: ExplorerProps) {
  const points = useMemo(() => marked(group), [group]);
  const span = useMemo(() => spanOf(points), [points]);
  const [wanted, setWanted] = useState<number | null>(null);
  if (points.length === 0) return <Empty>None of these points has an energy: there is nothing to choose from.</Empty>;

  const deadline = wanted ?? deadlineOf(group) ?? points.at(-1)!.time;
  const chosen = chooseWithin(points, deadline);
  const { differing, shared } = partSettings(points.map((one) => one.point));
  const name = (one: Marked) => settingWords(Object.fromEntries(differing.map((key) => [key, one.point.settings[key] ?? "none"])));
  const per = unit ? ` per ${unit}` : "";
  return (
    <div class="explorer">
      <div class="explorer-top">
        <Scatter
          label={`Time and energy${per} of ${points.length} points, with a deadline to drag`} points={points} chosen={chosen} deadline={deadline}
          onDeadline={setWanted} span={span} timeName={timeName} energyName={`energy${per}`} name={name}
        />
        <Chosen points={points} chosen={chosen} deadline={deadline} onDeadline={setWanted} differing={differing} per={per} group={group} />
      </div>
      {shared.length > 0 && (
        <p class="shared"><span>All points:</span> {shared.map(([key, value]) => <span class="pair">{key} <b title={value}>{settingText(value)}</b></span>)}</p>
      )}
      {chosen && more?.(chosen)}
      <Panel title="Points">
        <Table caption="All points of this group" columns={columns(differing, per)} rows={points} marked={(one) => one === chosen} />
      </Panel>
    </div>
  );
}

function Chosen(props: {
  points: Marked[]; chosen: Marked | null; deadline: number; onDeadline(deadline: number): void; differing: string[]; per: string; group: Group;
}) {
  const { points, chosen, deadline, per, group } = props;
  const fastest = points[0]!;
  const [factor, prefix] = prefixFor(points.at(-1)!.time);
  const saved = chosen ? 1 - chosen.joules / fastest.joules : 0;
  const slower = chosen ? chosen.time / fastest.time : 0;
  return (
    <div class="choice" data-time={chosen?.time ?? ""} data-joules={chosen?.joules ?? ""}>
      <label class="field">
        <span>Deadline, {prefix}s</span>
        <input
          type="number" step="any" min="0" value={+(deadline / factor).toPrecision(6)}
          onChange={(event) => event.currentTarget.value !== "" && props.onDeadline(Number(event.currentTarget.value) * factor)}
        />
      </label>
      <h2 class="title">Choice</h2>
      <div aria-live="polite" class="choice-words">
        {chosen === null ? (
          <p><strong>Nothing is in time.</strong> The fastest point takes {quantity(fastest.time, "s")}, {percent(fastest.time / deadline - 1)} over the deadline.</p>
        ) : (
          <>
            <p class="choice-saving">
              <span class="value">{chosen === fastest ? "Nothing saved" : `${percent(saved)} less`}</span>
              <span>
                {chosen === fastest
                  ? "the fastest point is the best that is in time"
                  : `energy${per} than the fastest point, at ${slower.toFixed(2)} times its time`}
              </span>
            </p>
            <dl class="pairs">
              {props.differing.map((key) => <><dt>{key}</dt><dd title={chosen.point.settings[key]}>{settingText(chosen.point.settings[key])}</dd></>)}
              <dt>time</dt><dd>{plusMinus(chosen.time, chosen.point.time_expanded_s, "s")}</dd>
              <dt>energy{per}</dt><dd><EnergyText energy={chosen.point.energy} /></dd>
              <dt>kind of figure</dt><dd><StatusChips status={chosen.point.energy.status} /></dd>
            </dl>
          </>
        )}
      </div>
      {group.rule && <p class="faint">The document's own rule: {group.rule}{group.chosen ? `; it chose ${quantity(group.chosen.time_s, "s")}, ${quantity(group.chosen.energy.joules, "J")}` : ""}.</p>}
      {group.note && <p class="faint">{group.note}</p>}
    </div>
  );
}

function columns(differing: string[], per: string): Column<Marked>[] {
  const numeric = (text: string | undefined) => (text !== undefined && Number.isFinite(parseFloat(text)) ? parseFloat(text) : (text ?? null));
  return [
    { title: "Frontier", cell: (one) => <span class="nowrap">{one.onFrontier ? "● on it" : "× dominated"}</span>, by: (one) => (one.onFrontier ? 0 : 1) },
    { title: "Time", number: true, cell: (one) => plusMinus(one.time, one.point.time_expanded_s, "s"), by: (one) => one.time },
    { title: `Energy${per}`, number: true, cell: (one) => <EnergyText energy={one.point.energy} />, by: (one) => one.joules },
    ...differing.map((key): Column<Marked> => ({
      title: key, cell: (one) => <span class="nowrap" title={one.point.settings[key]}>{settingText(one.point.settings[key])}</span>, by: (one) => numeric(one.point.settings[key]),
    })),
    { title: "Figure is", cell: (one) => <StatusChips status={one.point.energy.status} />, by: (one) => one.point.energy.status },
  ];
}

/** The deadline that the document was made with, read off its rule's words where it is one. */
function deadlineOf(group: Group): number | null {
  const factor = /^least energy, time at most ([\d.]+) x the fastest$/.exec(group.rule ?? "");
  if (factor && group.fastest) return Number(factor[1]) * group.fastest.time_s;
  const found = /^least energy, time at most ([\d.]+) (ns|us|µs|ms|s|min|h)$/.exec(group.rule ?? "");
  const units: Record<string, number> = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
  return found ? Number(found[1]) * (units[found[2]!] ?? 1) : (group.chosen?.time_s ?? null);
}

function spanOf(points: Marked[]): { from: number; to: number } {
  const { least, most } = range(points.map((one) => one.time));
  const room = (most - least) * 0.08 || most * 0.1;
  return { from: Math.max(0, least - room), to: most + room };
}
