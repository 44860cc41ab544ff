// A table that sorts by any column, scrolls within itself where a screen is narrow, and can be used by keys alone.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Column<Row> {
  title: string;
  cell(row: Row, index: number): ComponentChildren;
  /** What the column sorts by; without it, it does not. A value that is not known comes last. */
  by?(row: Row): number | string | null | undefined;
  number?: boolean;
}

export interface TableProps<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  marked?(row: Row): boolean;
  most?: number;
}

export function Table<Row>({ caption, columns, rows, marked, most = 50 }: TableProps<Row>) {
  const [order, setOrder] = useState<{ column: number; down: boolean } | null>(null);
  const [all, setAll] = useState(false);
  const by = order ? columns[order.column]?.by : undefined;
  const sorted = by ? [...rows].sort((one, other) => compare(by(one), by(other), order?.down ?? false)) : rows;
  const shown = all ? sorted : sorted.slice(0, most);
  return (
    <div class="table-room" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, index) => {
              const here = order?.column === index;
              return (
                <th scope="col" class={column.number ? "number" : ""} aria-sort={here ? (order.down ? "descending" : "ascending") : undefined}>
                  {column.by ? (
                    <button type="button" class="sort" onClick={() => setOrder({ column: index, down: here ? !order.down : false })}>
                      {column.title}
                      <span aria-hidden="true" class="sort-sign">{here ? (order.down ? "▾" : "▴") : "▵"}</span>
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, index) => (
            <tr class={marked?.(row) ? "marked" : ""}>
              {columns.map((column) => (
                <td class={column.number ? "number" : ""}>{column.cell(row, index)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setAll(true)}>Show all {rows.length}</button>
      )}
    </div>
  );
}

function compare(one: number | string | null | undefined, other: number | string | null | undefined, down: boolean): number {
  if (one === null || one === undefined) return other === null || other === undefined ? 0 : 1;
  if (other === null || other === undefined) return -1;
  const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
  return down ? -order : order;
}
