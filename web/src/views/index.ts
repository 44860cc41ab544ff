// All views, in the order of the navigation. A new one is a folder beside this file and a line here.
import type { View } from "./view";

const folders = import.meta.glob<{ view: View }>("./*/index.tsx", { eager: true });

export const views: View[] = [
  "live",
  "runs",
  "frontier",
  "pipeline",
  "serving",
  "leaderboard",
  "fleet",
  "training",
].map((name) => folders[`./${name}/index.tsx`]!.view);

/** Shows whatever no other view knows. */
export const generic = folders["./generic/index.tsx"]!.view;

export function viewOf(schema: string): View {
  return views.find((view) => view.schemas.includes(schema)) ?? generic;
}
