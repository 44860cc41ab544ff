import type { Shown } from "../../data/documents";
import type { View } from "../view";
import { FleetPlan } from "./plan";
import { Simulation } from "./simulation";

function Show(shown: Shown) {
  return shown.document.schema === "perjoule.fleet-plan.v1" ? <FleetPlan {...shown} /> : <Simulation {...shown} />;
}

export const view: View = {
  name: "fleet",
  title: "Fleet",
  summary: "What each policy of a fleet takes over the same load, and how its pools grow and shrink.",
  schemas: ["perjoule.fleet-simulation.v1", "perjoule.fleet-plan.v1"],
  Show,
  how: "perjoule fleet simulate requests.csv --json > fleet.json",
};
