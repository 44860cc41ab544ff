// The page that is one file: the documents that it carries, a section each. It asks nobody.
import type { OtherDocument } from "../data/documents";
import type { Document } from "../data/schemas";
import { Empty } from "../parts/panel";
import { viewOf } from "../views";
import { schemaWords } from "./dashboard";
import { Frame, Heading } from "./frame";
import { ShownDocument } from "./shown";

interface Section {
  id: string;
  title: string;
  document: Document;
}

export function Report({ documents }: { documents: Document[] }) {
  const sections = documents.map((document, index): Section => ({ id: `document-${index + 1}`, title: titleOf(document), document }));
  const ways = sections.map((section, index) => ({ href: `#${section.id}`, title: sections.length > 1 ? `${index + 1}. ${section.title}` : section.title, here: false }));
  return (
    <Frame ways={ways} label="Contents">
      <Heading title={sections.length === 1 ? sections[0]!.title : "Report"} summary={documents.length > 1 ? `${documents.length} documents of Perjoule, as they were written.` : undefined} />
      {sections.length === 0 && <Empty>This report carries no document.</Empty>}
      {sections.map((section, index) => {
        const view = viewOf(section.document.schema);
        return (
          <section class="report-section" id={section.id} aria-label={section.title}>
            {sections.length > 1 && <h2>{index + 1}. {section.title}</h2>}
            <p class="summary">{view.summary}</p>
            <ShownDocument name={section.id} document={section.document} others={sections.filter((one) => one !== section).map(other)} />
          </section>
        );
      })}
    </Frame>
  );
}

function other({ id, title, document }: Section): OtherDocument {
  return { name: id, title, schema: document.schema, load: () => Promise.resolve(document) };
}

function titleOf(document: Document): string {
  const given = document["title"];
  return typeof given === "string" && given ? given : schemaWords(String(document.schema ?? "document without a schema"));
}
