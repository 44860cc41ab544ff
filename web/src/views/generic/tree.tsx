// Any JSON so that it can be read: members as pairs, lists of like objects as tables, energies as energies.
import type { ComponentChildren } from "preact";
import { GradeChip, StatusChips } from "../../parts/chips";
import { EnergyText, Lost } from "../../parts/figure";
import { bytes, count, duration, moment, percent, quantity } from "../../parts/format";
import { Table, type Column } from "../../parts/table";
import type { Energy } from "../../data/schemas";

type Members = Record<string, unknown>;

export function isEnergy(value: unknown): value is Energy {
  return isObject(value) && "joules" in value && "status" in value;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSimple(value: unknown): boolean {
  return !(typeof value === "object" && value !== null) || isEnergy(value) || (Array.isArray(value) && value.length < 6 && value.every((one) => typeof one !== "object"));
}

export function Tree({ value, name = "", depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  if (isSimple(value)) return <Simple name={name} value={value} />;
  if (Array.isArray(value)) return <List name={name} values={value} />;
  const members = Object.entries(value as Members);
  const simple = members.filter(([, one]) => isSimple(one));
  const rest = members.filter(([, one]) => !isSimple(one));
  return (
    <>
      {simple.length > 0 && <dl class="pairs">{simple.map(([key, one]) => <><dt>{words(key)}</dt><dd><Simple name={key} value={one} /></dd></>)}</dl>}
      {rest.map(([key, one]) => (
        <details class="branch" open={depth === 0 || size(one) < 40}>
          <summary>{words(key)} <span class="faint">{Array.isArray(one) ? `${one.length} entries` : ""}</span></summary>
          <Tree name={key} value={one} depth={depth + 1} />
        </details>
      ))}
    </>
  );
}

function List({ name, values }: { name: string; values: unknown[] }) {
  if (values.length === 0) return <span class="faint">none</span>;
  const rows = values.filter(isObject);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (rows.length === values.length && names.length <= 14 && rows.every((row) => Object.values(row).every(isSimple))) {
    const columns = names.map((key): Column<Members> => ({
      title: words(key), number: rows.some((row) => typeof row[key] === "number"),
      cell: (row) => (key in row ? <Simple name={key} value={row[key]} /> : <span class="faint">–</span>), by: (row) => sortable(row[key]),
    }));
    return <Table caption={words(name)} columns={columns} rows={rows} most={20} />;
  }
  if (values.every((one) => typeof one === "number")) return <p class="numbers">{values.slice(0, 200).map(count).join(", ")}{values.length > 200 ? ` … ${values.length - 200} more` : ""}</p>;
  return (
    <ol class="branches">
      {values.slice(0, 100).map((one, index) => (
        <li><details open={values.length === 1}><summary>{label(one, index)}</summary><Tree value={one} depth={1} /></details></li>
      ))}
    </ol>
  );
}

function label(value: unknown, index: number): ComponentChildren {
  const named = isObject(value) ? (value["name"] ?? value["id"] ?? value["policy"] ?? value["model"]) : undefined;
  return typeof named === "string" ? named : `entry ${index + 1}`;
}

/** A number is written in the unit that its name ends in, as everywhere in these documents. */
function Simple({ name, value }: { name: string; value: unknown }) {
  if (value === null || value === undefined) return <Lost />;
  if (isEnergy(value)) return <><EnergyText energy={value} /> <StatusChips status={value.status} /> <GradeChip grade={value.grade} /></>;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  if (Array.isArray(value)) return <>{value.length ? value.map((one) => (typeof one === "number" ? count(one) : String(one))).join(", ") : <span class="faint">none</span>}</>;
  if (typeof value !== "number") return name === "status" ? <StatusChips status={String(value)} /> : <>{String(value) || <span class="faint">empty</span>}</>;
  return <>{withUnit(name, value)}</>;
}

function withUnit(name: string, value: number): string {
  if (/_unix_ns$/.test(name)) return moment(value / 1e6);
  if (/_unix_ms$/.test(name)) return moment(value);
  if (/(^|_)bytes$/.test(name)) return bytes(value);
  if (/_per_s$/.test(name)) return `${count(value)}\u00a0/s`;
  if (/_s$/.test(name)) return duration(value);
  if (/_j$|^joules$/.test(name)) return quantity(value, "J");
  if (/_w$/.test(name)) return quantity(value, "W");
  if (/_mhz$/.test(name)) return `${count(value)}\u00a0MHz`;
  if (/_kwh$/.test(name)) return quantity(value * 1000, "Wh");
  if (/(^|_)(share|saving|attainment|saved)$/.test(name)) return percent(value);
  return count(value);
}

function words(name: string): string {
  return name.replace(/_(s|j|w|mhz|kwh|unix_ns|unix_ms)$/, "").replaceAll("_", " ");
}

function size(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let sum = 1;
  for (const one of Object.values(value)) sum += size(one);
  return sum;
}

function sortable(value: unknown): number | string | null {
  if (isEnergy(value)) return value.joules;
  return typeof value === "number" ? value : value === null || value === undefined ? null : String(value);
}
