import type { Shown } from "../../data/documents";
import type { View } from "../view";
import { Comparison } from "./comparison";
import { IterationShown } from "./iteration";
import { Plans } from "./plans";
import { PipelineRun } from "./run";

function Show(shown: Shown) {
  switch (shown.document.schema) {
    case "perjoule.pipeline-iteration.v1": return <IterationShown {...shown} />;
    case "perjoule.pipeline-plans.v1": return <Plans {...shown} />;
    case "perjoule.pipeline-comparison.v1": return <Comparison {...shown} />;
    default: return <PipelineRun {...shown} />;
  }
}

export const view: View = {
  name: "pipeline",
  title: "Pipelines",
  summary: "Which stage works and which waits, before and after the plan, and what the slack is worth.",
  schemas: ["perjoule.pipeline-iteration.v1", "perjoule.pipeline-plans.v1", "perjoule.pipeline-comparison.v1", "perjoule.pipeline-run.v1"],
  Show,
  how: "perjoule pipeline simulate profile.csv --microbatches 12 --blocking-power 84W --json > iteration.json",
};
