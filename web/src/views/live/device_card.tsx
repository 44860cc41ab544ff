// One device: what it draws of what it may, how fast and how warm it is, what holds it back, and how good its meters are.
import type { ComponentChildren } from "preact";
import { Chip, GradeChip, StatusChips } from "../../parts/chips";
import { Bar, Lost } from "../../parts/figure";
import { bytes, count, known, moment, percent, quantity, withUncertainty, type Figure } from "../../parts/format";
import { Table } from "../../parts/table";
import type { Device, DevicePicture, Knob } from "./node";

export function DeviceCard({ device, name, colour, picture }: { device: Device; name: string; colour: string; picture: DevicePicture | null }) {
  const power = withUncertainty(picture?.power_w, picture?.uncertainty_w, "W");
  const limit = picture?.power_limit_w;
  return (
    <article class="panel card" aria-label={`${name}, ${device.name}`}>
      <header class="card-head">
        <svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" rx="4" fill={`var(${colour})`} /></svg>
        <div>
          <h2 class="title">{name}</h2>
          <p class="faint">{device.name || device.id}</p>
        </div>
        <StatusChips status={picture?.status} />
      </header>
      <p class="card-power">
        <span class={power.value === "missing" ? "value lost" : "value"}>{power.value}<span class="unit">{"\u00a0"}{power.unit}</span></span>
        {power.spread && <span class="spread">± {power.spread} {power.unit}</span>}
      </p>
      {known(limit) && known(picture?.power_w) && <Bar share={picture.power_w / limit} text={`${percent(picture.power_w / limit)} of the ${quantity(limit, "W")} cap`} />}
      {picture && <Reasons reasons={picture.throttle_reasons ?? []} told={device.kind === "gpu"} />}
      <dl class="pairs tight">
        <Pair name="clock" value={picture?.clock_mhz} text={(mhz) => `${count(mhz)}\u00a0MHz`} />
        <Pair name="memory clock" value={picture?.memory_clock_mhz} text={(mhz) => `${count(mhz)}\u00a0MHz`} />
        <Pair name="temperature" value={picture?.temperature_c} text={(degrees) => `${count(Math.round(degrees))}\u00a0°C`} />
        <Pair name="busy" value={picture?.utilisation} text={percent} />
        <dt>memory</dt>
        <dd>{known(picture?.memory_used_bytes) ? `${bytes(picture?.memory_used_bytes)} of ${bytes(picture?.memory_total_bytes)}` : <Lost />}</dd>
        <Pair name="energy so far" value={picture?.so_far_j} text={(joules) => quantity(joules, "J")} />
      </dl>
      <details>
        <summary>{device.sources.length} {device.sources.length === 1 ? "meter" : "meters"} {bestGrade(device)}</summary>
        <Table
          caption={`Meters of ${name}`} rows={device.sources}
          columns={[
            { title: "Meter", cell: (source) => <Two first={<span title={source.id}>{source.id.slice(device.id.length).replace(/^\//, "") || "main"}</span>} second={`${source.kind}, ${source.scope}, ${source.boundary}`} /> },
            { title: "Grade", cell: (source) => <GradeChip grade={source.grade} /> },
            { title: "Read", cell: (source) => <Two first={source.backend} second={known(source.tick_s) ? `every ${quantity(source.tick_s, "s")}` : "tick not known"} /> },
            { title: "Gain", number: true, cell: (source) => (known(source.gain) ? `± ${percent(source.gain)}` : <Lost />) },
            { title: "Figure is", cell: (source) => <StatusChips status={source.status} /> },
          ]}
        />
      </details>
      {device.knobs.length > 0 && (
        <details>
          <summary>{device.knobs.length} {device.knobs.length === 1 ? "knob" : "knobs"}{device.knobs.some((knob) => knob.lease) ? ", some leased" : ""}</summary>
          <Table
            caption={`Knobs of ${name}`} rows={device.knobs}
            columns={[
              { title: "Knob", cell: (knob) => knob.name },
              { title: "Stands at", number: true, cell: (knob) => setting(knob, knob.value) },
              { title: "Otherwise", number: true, cell: (knob) => setting(knob, knob.default) },
              { title: "Range", cell: (knob) => <span class="range">{range(knob)}</span> },
              { title: "Lease", cell: (knob) => (knob.lease ? <Two first={knob.lease.owner} second={`until ${moment(knob.lease.expires_unix_ms).slice(11)}`} /> : <span class="faint">none</span>) },
            ]}
          />
        </details>
      )}
      {device.note && <p class="faint">{device.note}</p>}
    </article>
  );
}

function Two({ first, second }: { first: ComponentChildren; second: string }) {
  return <span class="two-lines"><span>{first}</span><span class="faint">{second}</span></span>;
}

function Pair({ name, value, text }: { name: string; value: Figure; text(value: number): string }) {
  return <><dt>{name}</dt><dd>{known(value) ? text(value) : <Lost />}</dd></>;
}

function Reasons({ reasons, told }: { reasons: string[]; told: boolean }) {
  if (reasons.length === 0) return told ? <p class="reasons"><Chip kind="good"><span aria-hidden="true">✓</span> not held back</Chip></p> : null;
  return <p class="reasons">held back by {reasons.map((reason) => <Chip kind="warn"><span aria-hidden="true">▼</span> {reason}</Chip>)}</p>;
}

function bestGrade(device: Device) {
  const grade = device.sources.map((source) => source.grade).sort()[0];
  return grade ? <GradeChip grade={grade} /> : null;
}

function setting(knob: Knob, value: number | string | null) {
  if (value === null) return <Lost />;
  return typeof value === "number" ? `${count(value)}\u00a0${knob.unit}` : value;
}

function range(knob: Knob) {
  if (knob.choices && knob.choices.length > 0) return knob.choices.join(", ");
  return known(knob.minimum) && known(knob.maximum) ? `${count(knob.minimum)} to ${count(knob.maximum)} ${knob.unit}` : <Lost />;
}
