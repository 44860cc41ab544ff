import type { ComponentType } from "preact";
import type { Shown } from "../data/documents";

/** What a folder of views exports as `view`. */
export interface View {
  name: string;
  title: string;
  /** One sentence under the title. */
  summary: string;
  /** The documents it shows. */
  schemas: string[];
  Show: ComponentType<Shown>;
  /** A page of its own on the dashboard, in place of the list of its documents; `rest` is the address behind its name. */
  Page?: ComponentType<{ rest: string }>;
  /** What stands where there is no document yet: how to make one. */
  how?: string;
}
