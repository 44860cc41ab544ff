// Light or dark: as the system says, unless the reader chose; the choice is kept for the next visit.
import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";
const key = "perjoule-theme";
const listeners = new Set<() => void>();
const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme = read();

function read(): Theme {
  try {
    const kept = localStorage.getItem(key);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system"; // A page from a file may have no storage.
  }
}

function apply(): void {
  document.documentElement.dataset.theme = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  dark.addEventListener("change", apply);
  apply();
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    if (theme === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // Then it holds for this page alone.
  }
  apply();
}

/** Calls `then` after each change, for what draws on a canvas; the answer ends that. */
export function onTheme(then: () => void): () => void {
  listeners.add(then);
  return () => listeners.delete(then);
}

export function useTheme(): Theme {
  const [, again] = useState(0);
  useEffect(() => onTheme(() => again((number) => number + 1)), []);
  return chosen;
}

/** The colour that a variable of the style sheet has now. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Series differ in colour and in dash, so that neither is needed. */
export function seriesColour(index: number): string {
  return `--series-${(index % 8) + 1}`;
}
const dashes: number[][] = [[], [8, 3], [3, 3], [10, 3, 2, 3]];
export function seriesDash(index: number): number[] {
  return dashes[index % dashes.length] ?? [];
}
