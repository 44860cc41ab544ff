import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Dashboard } from "./app/dashboard";
import { Report } from "./app/report";
import { inlined } from "./data/documents";
import { startTheme } from "./parts/theme";

startTheme();
const documents = inlined();
render(documents ? <Report documents={documents} /> : <Dashboard />, document.getElementById("page")!);
