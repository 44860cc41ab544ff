import type { Shown } from "../../data/documents";
import { Panel } from "../../parts/panel";
import type { View } from "../view";
import { Tree } from "./tree";

function Show({ document }: Shown) {
  const { schema, ...members } = document;
  return (
    <Panel title={String(schema)}>
      <Tree value={members} />
    </Panel>
  );
}

export const view: View = {
  name: "generic",
  title: "Document",
  summary: "No view is made for this kind of document yet: here is all that it holds.",
  schemas: [],
  Show,
};
