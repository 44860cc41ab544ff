// Questions to the server. An error of its own is told in its words, and what to do about it.
import { useEffect, useState } from "preact/hooks";

const key = "perjoule-token";
let refused: (() => void) | null = null;

export class Refusal extends Error {
  constructor(message: string, readonly code: string, readonly remedy = "") {
    super(message);
  }
}

/** Who is told that the server wants a token, or another one. */
export function onTokenWanted(then: () => void): void {
  refused = then;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(key, token);
}

export function headers(): Record<string, string> {
  const token = sessionStorage.getItem(key);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

export type Parameters = Record<string, string | number>;

export function address(path: string, parameters: Parameters = {}): string {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, String(value));
  return url.href;
}

/** What an answer that is no success says, as an error to throw. */
export async function refusal(answer: Response): Promise<Refusal> {
  if (answer.status === 401) refused?.();
  try {
    const { error } = (await answer.json()) as { error: { code: string; message: string; remedy?: string } };
    return new Refusal(error.message, error.code, error.remedy);
  } catch {
    return new Refusal(`the server answered ${answer.status}`, "internal");
  }
}

export async function ask<T>(path: string, parameters?: Parameters, signal?: AbortSignal): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(address(path, parameters), { headers: headers(), signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal("the server does not answer", "unavailable", "see whether `perjoule serve` still runs there");
  }
  if (!answer.ok) throw await refusal(answer);
  return (await answer.json()) as T;
}

export interface Asked<T> {
  data: T | null;
  error: Refusal | null;
}

/** Asks when shown and when `path` changes; a null path asks nothing. `every` seconds it asks again. */
export function useAsk<T>(path: string | null, every = 0): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ data: null, error: null });
  useEffect(() => {
    setAsked({ data: null, error: null });
    if (path === null) return;
    const stop = new AbortController();
    const once = () =>
      ask<T>(path, {}, stop.signal).then(
        (data) => setAsked({ data, error: null }),
        (error: unknown) => {
          // What was shown stays: a server that is away for a moment is no reason to show nothing.
          if (!stop.signal.aborted) setAsked((before) => ({ data: before.data, error: asRefusal(error) }));
        },
      );
    void once();
    const timer = every > 0 ? setInterval(() => void once(), every * 1000) : undefined;
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [path, every]);
  return asked;
}

export function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(error instanceof Error ? error.message : String(error), "internal");
}
