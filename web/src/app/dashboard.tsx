// The page that a daemon serves: every view, live or of the documents that the daemon has.
import { useEffect, useState } from "preact/hooks";
import { keepToken, onTokenWanted, useAsk } from "../data/ask";
import { othersFromServer } from "../data/documents";
import type { Document, DocumentEntry } from "../data/schemas";
import { bytes, moment } from "../parts/format";
import { Empty, ErrorBox, Loading } from "../parts/panel";
import { Table } from "../parts/table";
import { generic, viewOf, views } from "../views";
import type { View } from "../views/view";
import { link, usePlace } from "./address";
import { Frame, Heading } from "./frame";
import { ShownDocument } from "./shown";

const all = "documents";

export function Dashboard() {
  const place = usePlace();
  const [locked, setLocked] = useState(false);
  // A new number shows the views anew, and they ask again.
  const [unlocked, setUnlocked] = useState(0);
  useEffect(() => onTokenWanted(() => setLocked(true)), []);
  const name = place.view || views[0]!.name;
  const view = views.find((one) => one.name === name);
  const ways = [...views, { name: all, title: "All documents" }].map((one) => ({ href: link(one.name), title: one.title, here: one.name === name }));
  return (
    <Frame ways={ways} label="Views">
      {locked ? (
        <TokenForm onToken={(token) => { keepToken(token); setLocked(false); setUnlocked(unlocked + 1); }} />
      ) : view?.Page ? (
        <view.Page key={`${view.name}${unlocked}`} rest={place.rest} />
      ) : view || name === all ? (
        <Documents key={`${name}${unlocked}`} view={view ?? null} chosen={place.rest} />
      ) : (
        <Empty>There is no view of the name “{name}”.</Empty>
      )}
    </Frame>
  );
}

function TokenForm({ onToken }: { onToken(token: string): void }) {
  const [token, setToken] = useState("");
  return (
    <form class="panel token" onSubmit={(event) => { event.preventDefault(); onToken(token.trim()); }}>
      <Heading title="A token is needed" summary="This daemon answers those alone who have a token of it. It is kept until this tab is closed." />
      <label class="field"><span>Token</span><input type="password" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>
      <button class="button primary" type="submit">Go on</button>
    </form>
  );
}

/** The documents of a view, or of all: a list, and the one that was chosen. One alone is shown at once. */
function Documents({ view, chosen }: { view: View | null; chosen: string }) {
  const { data, error } = useAsk<{ documents: DocumentEntry[] }>("documents", 15);
  const entries = data?.documents ?? [];
  const known = view ? entries.filter((entry) => view.schemas.includes(entry.schema)) : entries;
  const only = view && known.length === 1 ? known[0]!.name : "";
  const name = chosen || only;
  if (name) return <OneDocument name={name} entries={entries} back={chosen && view ? link(view.name) : chosen ? link(all) : null} view={view} />;
  return (
    <>
      <Heading title={view?.title ?? "All documents"} summary={view?.summary ?? "What the daemon has in its folder of documents: everything that a verb wrote with --json."} />
      {error && <ErrorBox error={error} />}
      {!data && !error && <Loading what="the list of documents" />}
      {data && known.length === 0 && (
        <Empty>
          <p>There is no document for this view yet.</p>
          {view?.how && <p>One is made by <code>{view.how}</code>, in the daemon's folder of documents.</p>}
        </Empty>
      )}
      {known.length > 0 && <List entries={known} view={view} />}
    </>
  );
}

function List({ entries, view }: { entries: DocumentEntry[]; view: View | null }) {
  return (
    <section class="panel">
      <Table
        caption="Documents" rows={entries}
        columns={[
          { title: "Document", cell: (entry) => <a href={link(view?.name ?? all, entry.name)}>{entry.title || entry.name}</a>, by: (entry) => entry.title || entry.name },
          { title: "What it is", cell: (entry) => schemaWords(entry.schema), by: (entry) => entry.schema },
          { title: "Shown by", cell: (entry) => viewOf(entry.schema).title, by: (entry) => viewOf(entry.schema).title },
          { title: "Written", cell: (entry) => <span class="nowrap">{moment(entry.modified_unix_ms)}</span>, by: (entry) => entry.modified_unix_ms },
          { title: "Size", number: true, cell: (entry) => bytes(entry.bytes), by: (entry) => entry.bytes },
        ]}
      />
    </section>
  );
}

function OneDocument({ name, entries, back, view }: { name: string; entries: DocumentEntry[]; back: string | null; view: View | null }) {
  const { data, error } = useAsk<Document>(`documents/${encodeURIComponent(name)}`);
  const entry = entries.find((one) => one.name === name);
  const shower = data ? viewOf(data.schema) : (view ?? generic);
  return (
    <>
      <Heading
        title={entry?.title || name} summary={data ? <>{schemaWords(data.schema)} · {view?.summary ?? shower.summary}</> : undefined}
        aside={back ? <a class="button quiet" href={back}>← All of these</a> : null}
      />
      {error && <ErrorBox error={error} />}
      {!data && !error && <Loading what={name} />}
      {data && <ShownDocument name={name} document={data} others={othersFromServer(entries, name)} />}
    </>
  );
}

/** "perjoule.fleet-plan.v1" in words. */
export function schemaWords(schema: string): string {
  const words = schema.replace(/^perjoule\./, "").replace(/\.v\d+$/, "").replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
