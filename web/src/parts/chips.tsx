// Small labels: what kind of figure it is, how good, and what hinders. Each has a sign and a word, so that no colour is
// needed to read it.
import type { ComponentChildren } from "preact";

const signs: Record<string, string> = {
  measured: "●", simulated: "◆", estimated: "◐", reconstructed: "◑", missing: "✕", zero: "○",
};
const meanings: Record<string, string> = {
  measured: "read from a meter",
  simulated: "made by the twin, not by hardware",
  estimated: "reckoned from a model",
  reconstructed: "put together from others' figures",
  missing: "nobody knows it",
  zero: "known to be nothing",
};
const grades: Record<string, string> = {
  A: "calibrated", B: "a good counter", C: "a fair meter", D: "at best a hint",
};

export function Chip(props: { kind?: string; title?: string; children: ComponentChildren }) {
  return <span class={`chip ${props.kind ? `chip-${props.kind}` : ""}`} title={props.title}>{props.children}</span>;
}

/** "simulated + estimated" is two chips: a sum has the kinds of all its parts. */
export function StatusChips({ status }: { status: string | null | undefined }) {
  if (!status) return null;
  return (
    <span class="chips">
      {status.split(" + ").map((word) => (
        <Chip key={word} kind={word in signs ? word : undefined} title={meanings[word]}>
          <span aria-hidden="true">{signs[word] ?? "·"}</span> {word}
        </Chip>
      ))}
    </span>
  );
}

export function GradeChip({ grade }: { grade: string | null | undefined }) {
  return grade ? <Chip kind="grade" title={grades[grade]}>grade {grade}</Chip> : null;
}

export function BoundaryChip({ boundary }: { boundary: string | null | undefined }) {
  const names: Record<string, string> = { B0: "device", B1: "node", B2: "cluster", B3: "facility", B4: "life cycle" };
  return boundary ? <Chip title={`what is counted in: ${names[boundary] ?? boundary}`}>{boundary} {names[boundary] ?? ""}</Chip> : null;
}
