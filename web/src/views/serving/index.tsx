import type { Shown } from "../../data/documents";
import type { View } from "../view";
import { Index, Sweep } from "./sweep";
import { Result, Results } from "./result";

function Show(shown: Shown) {
  switch (shown.document.schema) {
    case "perjoule.bench-sweep-answer.v1": return <Sweep {...shown} />;
    case "perjoule.bench-sweep.v1": return <Index {...shown} />;
    case "perjoule.bench-results.v1": return <Results {...shown} />;
    default: return <Result {...shown} />;
  }
}

export const view: View = {
  name: "serving",
  title: "Serving",
  summary: "Energy of a token against its latency: which settings of a server meet the deadline at the least energy.",
  schemas: ["perjoule.bench-sweep-answer.v1", "perjoule.bench-sweep.v1", "perjoule.bench-result.v1", "perjoule.bench-results.v1"],
  Show,
  how: "perjoule bench sweep sweep.toml --output results --metric p90-itl --deadline 50ms --json > sweep.json",
};
