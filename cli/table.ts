/**
 * Rows as columns two spaces apart, the first row being the heads. Columns are left-aligned but those that `alignment` says otherwise
 * of. Widths count characters, not escapes.
 */
export function formatTable(rows: readonly (readonly string[])[], alignment: readonly ("left" | "right")[] = []): string[] {
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), 0));
  const align = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return alignment[column] === "right" ? cell.padStart(width) : cell.padEnd(width);
  };
  return rows.map((row) => row.map(align).join("  ").trimEnd());
}
