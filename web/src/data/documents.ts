// Documents that the page itself carries: a report. A served page carries none and asks the server.
import { useEffect, useState } from "preact/hooks";
import { ask, asRefusal, type Asked } from "./ask";
import type { Document, DocumentEntry } from "./schemas";

/** What one view is given: its document, and the others there are to hold beside it. */
export interface Shown {
  name: string;
  document: Document;
  others: OtherDocument[];
}

export interface OtherDocument {
  name: string;
  title: string;
  schema: string;
  load(): Promise<Document>;
}

/** Null where this page is no report. */
export function inlined(): Document[] | null {
  const place = document.getElementById("documents");
  return place ? (JSON.parse(place.textContent || "[]") as Document[]) : null;
}

export function othersFromServer(entries: DocumentEntry[], but: string): OtherDocument[] {
  return entries
    .filter((entry) => entry.name !== but)
    .map(({ name, title, schema }) => ({ name, title: title || name, schema, load: () => ask<Document>(`documents/${encodeURIComponent(name)}`) }));
}

/** The other document of that name, once it is there. */
export function useOther(others: OtherDocument[], name: string | null): Asked<Document> {
  const [asked, setAsked] = useState<Asked<Document>>({ data: null, error: null });
  useEffect(() => {
    setAsked({ data: null, error: null });
    const other = others.find((one) => one.name === name);
    if (!other) return;
    let wanted = true;
    other.load().then(
      (data) => wanted && setAsked({ data, error: null }),
      (error: unknown) => wanted && setAsked({ data: null, error: asRefusal(error) }),
    );
    return () => {
      wanted = false;
    };
    // The list is made anew with each drawing; the name tells which is meant.
  }, [name]);
  return asked;
}
