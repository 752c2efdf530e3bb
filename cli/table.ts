import { printable } from "../shared/decisions/quote.ts";

/**
 * Rows as columns two spaces apart, the first row being the heads. Columns are left-aligned but those that `alignment` says otherwise
 * of. What cannot be seen in a cell is escaped, so cells are painted afterwards.
 */
export function formatTable(cells: readonly (readonly string[])[], alignment: readonly ("left" | "right")[] = []): string[] {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), 0));
  const align = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return alignment[column] === "right" ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(align).join("  ").trimEnd());
}
