// Server-sent events over fetch, for EventSource cannot send a token. Comes back by itself, telling the last number it had.
import { address, asRefusal, headers, refusal, type Refusal } from "./ask";

export type StreamState = { kind: "connecting" } | { kind: "live" } | { kind: "waiting"; error: Refusal };

export interface Events {
  event(kind: string, data: string): void;
  state(state: StreamState): void;
}

/** The parts of a stream of events; pieces may end anywhere. */
export class EventParser {
  private rest = "";
  private kind = "";
  private data: string[] = [];
  lastId = "";

  constructor(private readonly emit: (kind: string, data: string) => void) {}

  push(piece: string): void {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  private line(line: string): void {
    if (line === "") {
      if (this.data.length > 0) this.emit(this.kind || "message", this.data.join("\n"));
      this.kind = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // A comment keeps the connection alive.
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.kind = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.lastId = value;
  }
}

const shortest = 500;
const longest = 10_000;

/** Follows the stream until the answer is called. */
export function follow(path: string, events: Events): () => void {
  const stop = new AbortController();
  void keepFollowing(path, events, stop.signal);
  return () => stop.abort();
}

async function keepFollowing(path: string, events: Events, signal: AbortSignal): Promise<void> {
  let lastId = "";
  let wait = shortest;
  while (!signal.aborted) {
    events.state({ kind: "connecting" });
    const parser = new EventParser((kind, data) => events.event(kind, data));
    parser.lastId = lastId;
    let error: Refusal;
    try {
      const resume: Record<string, string> = lastId ? { "Last-Event-ID": lastId } : {};
      const answer = await fetch(address(path), { headers: { ...headers(), ...resume, Accept: "text/event-stream" }, signal });
      if (!answer.ok || !answer.body) throw await refusal(answer);
      events.state({ kind: "live" });
      wait = shortest;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        parser.push(value);
        lastId = parser.lastId;
      }
      error = asRefusal("the server ended the stream");
    } catch (thrown) {
      error = asRefusal(thrown);
    }
    if (signal.aborted) return;
    events.state({ kind: "waiting", error });
    // Some wait longer than others, so that a server that comes back is not asked by all at once.
    await new Promise((done) => setTimeout(done, wait * (0.75 + Math.random() / 2)));
    wait = Math.min(longest, wait * 2);
  }
}
