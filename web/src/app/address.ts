// Where the reader is: the part of the address behind #, so that a page from anywhere needs no routes of a server.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  view: string;
  rest: string;
}

export function read(): Place {
  const [, view = "", rest = ""] = /^#\/([^/]*)\/?(.*)$/.exec(location.hash) ?? [];
  return { view, rest: decode(rest) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function link(view: string, rest = ""): string {
  return rest ? `#/${view}/${encodeURIComponent(rest)}` : `#/${view}`;
}

export function usePlace(): Place {
  const [place, setPlace] = useState(read);
  useEffect(() => {
    const moved = () => setPlace(read());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}
