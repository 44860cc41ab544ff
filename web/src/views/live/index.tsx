import { useEffect, useState } from "preact/hooks";
import { Heading } from "../../app/frame";
import { useAsk } from "../../data/ask";
import { follow, type StreamState } from "../../data/stream";
import { Chip, StatusChips } from "../../parts/chips";
import { FigureCard, Figures } from "../../parts/figure";
import { moment, quantity, withUncertainty } from "../../parts/format";
import { TimeChart } from "../../parts/chart";
import { ErrorBox, Loading, Panel, Switches } from "../../parts/panel";
import { seriesColour } from "../../parts/theme";
import { Tree } from "../generic/tree";
import type { View } from "../view";
import { useCourse } from "./course";
import { DeviceCard } from "./device_card";
import { deviceName, type Node, type Picture } from "./node";

const spans = [
  { value: 120, title: "2 min" },
  { value: 600, title: "10 min" },
  { value: 3600, title: "1 h" },
  { value: 86400, title: "1 day" },
];

function Page() {
  const { data: node, error } = useAsk<Node>("node", 10);
  const [picture, setPicture] = useState<Picture | null>(null);
  const [state, setState] = useState<StreamState>({ kind: "connecting" });
  useEffect(() => follow("node/live", {
    event: (kind, data) => kind === "picture" && setPicture(JSON.parse(data) as Picture),
    state: setState,
  }), []);
  return (
    <>
      <Heading
        title={node ? node.node : "Live"}
        summary={node ? <>perjoule {node.version}, watching since {moment(node.began_unix_ms)} {node.simulated && <StatusChips status="simulated" />}</> : undefined}
        aside={<Connection state={state} />}
      />
      {error && <ErrorBox error={error} />}
      {state.kind === "waiting" && <ErrorBox error={state.error} />}
      {!node && !error && <Loading what="what this node has" />}
      {node && <Watched node={node} picture={picture} />}
    </>
  );
}

function Connection({ state }: { state: StreamState }) {
  const words = { connecting: "connecting", live: "live", waiting: "connection lost, trying again" }[state.kind];
  const signs = { connecting: "◌", live: "●", waiting: "✕" };
  return <span role="status"><Chip kind={`stream-${state.kind}`}><span aria-hidden="true">{signs[state.kind]}</span> {words}</Chip></span>;
}

function Watched({ node, picture }: { node: Node; picture: Picture | null }) {
  const [span, setSpan] = useState(600);
  const course = useCourse(node.devices, picture, span);
  const now = (picture?.unix_ms ?? Date.now()) / 1000;
  const names = new Map(node.devices.map((device) => [device.id, deviceName(device, node.devices)]));
  // A meter of the whole machine counts what its devices draw once more: it has its card, and no layer in the stack. And a
  // device that never told a power would leave all layers above it without one.
  const layers = node.devices.filter((device) => device.kind === "gpu" || device.kind === "cpu");
  const drawn = layers.filter((device) => course.watts.get(device.id)?.some((watts) => watts !== null));
  const silent = layers.filter((device) => !drawn.includes(device));
  const total = withUncertainty(picture?.total_w, picture?.total_uncertainty_w, "W");
  const [used = "", usedUnit] = quantity(picture?.total_so_far_j, "J").split("\u00a0");
  const hindered = picture?.devices.filter((one) => (one.throttle_reasons?.length ?? 0) > 0).length ?? 0;
  return (
    <>
      <Figures>
        <FigureCard label="Power now" value={total.value} unit={total.unit} spread={total.spread} note={<StatusChips status={picture?.status} />} />
        {picture?.total_so_far_j !== undefined && <FigureCard label="Energy since the start" value={used} unit={usedUnit} />}
        <FigureCard label="Devices" value={node.devices.length} note={`${node.devices.reduce((sum, one) => sum + one.sources.length, 0)} meters, ${node.devices.reduce((sum, one) => sum + one.knobs.length, 0)} knobs`} />
        <FigureCard label="Held back now" value={hindered} note={hindered ? "devices that a cap or the heat slows" : "no device is slowed"} />
      </Figures>
      <Panel title="Power by device" wide aside={<Switches label="Span of the chart" value={span} options={spans} onChange={(value) => setSpan(value)} />}>
        <TimeChart
          label={`Power of ${drawn.length} devices, stacked: ${picture ? [...names].map(([id, name]) => `${name} ${quantity(picture.devices.find((one) => one.id === id)?.power_w, "W")}`).join(", ") : "not known yet"}`}
          stacked clock unit="W" height={300} extent={{ from: now - span, to: now }}
          curves={drawn.map((device) => ({
            name: names.get(device.id) ?? device.id, colour: seriesColour(node.devices.indexOf(device)),
            times: course.times, mean: course.watts.get(device.id) ?? [],
          }))}
        />
        {silent.length > 0 && picture && <p class="faint">Without a power, and so not in the chart: {silent.map((device) => names.get(device.id)).join(", ")}.</p>}
      </Panel>
      <div class="cards">
        {node.devices.map((device, index) => (
          <DeviceCard device={device} name={names.get(device.id) ?? device.id} colour={seriesColour(index)} picture={picture?.devices.find((one) => one.id === device.id) ?? null} />
        ))}
      </div>
    </>
  );
}

export const view: View = {
  name: "live",
  title: "Live",
  summary: "What this machine draws now.",
  schemas: ["perjoule.node.v1"],
  Page,
  Show: ({ document }) => <Tree value={document} />,
};

