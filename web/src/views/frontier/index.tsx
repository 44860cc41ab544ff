import { useState } from "preact/hooks";
import { settingWords } from "../../data/frontier";
import type { Shown } from "../../data/documents";
import type { Document, Group } from "../../data/schemas";
import { FrontierExplorer } from "../../parts/frontier_explorer";
import { Choice, Empty, Notes } from "../../parts/panel";
import type { View } from "../view";

/** The groups of each kind of document that holds points. */
function groupsOf(document: Document): { groups: Group[]; unit: string; timeName?: string } {
  const own = document as Document & { groups?: Group[]; unit?: string; time_column?: string; points?: unknown; choice?: Group };
  switch (document.schema) {
    case "perjoule.sweep.v1": {
      const table = own.points as { unit: string; points: Group["points"] };
      return { groups: [own.choice ?? { group: {}, points: table.points }], unit: table.unit };
    }
    case "perjoule.points.v1":
      return { groups: [{ group: {}, points: own.points as Group["points"] }], unit: own.unit ?? "" };
    default:
      return { groups: own.groups ?? [], unit: own.unit ?? "", timeName: own.time_column };
  }
}

function Show({ document }: Shown) {
  const { groups, unit, timeName } = groupsOf(document);
  const [number, setNumber] = useState("0");
  const group = groups[Number(number)];
  if (!group) return <Empty>This document holds no points.</Empty>;
  return (
    <>
      {document["interrupted"] === true && <Empty>This sweep ended before its time: points are missing.</Empty>}
      {document["restored"] === false && <Empty>Not every knob is back where it was: see <code>perjoule doctor --fix</code>.</Empty>}
      {groups.length > 1 && (
        <Choice
          label="Group" value={number} onChange={setNumber}
          options={groups.map((one, index) => ({ value: String(index), title: settingWords(one.group) || `group ${index + 1}` }))}
        />
      )}
      <FrontierExplorer key={number} group={group} unit={unit} timeName={timeName ? `time (${timeName})` : "time"} />
      <Notes notes={document["notes"] as string[] | undefined} />
    </>
  );
}

export const view: View = {
  name: "frontier",
  title: "Frontier",
  summary: "Time against energy: drag the deadline, see which point takes the least energy within it and what that saves.",
  schemas: ["perjoule.frontier.v1", "perjoule.sweep.v1", "perjoule.points.v1"],
  Show,
  how: "perjoule frontier points.csv --all --json > frontier.json",
};
