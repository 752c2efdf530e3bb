/** A position in a grid: the row, and the column; -1 is the heading of the row. */
export interface GridPosition {
  readonly row: number;
  readonly column: number;
}

/** Where a grid has cells. */
interface GridCells {
  readonly rowCount: number;
  /** Returns the columns of the cells that a row has, ascending. */
  readonly cellsOf: (row: number) => readonly number[];
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 };

/** Returns where a key moves; null if it does not move. Up and down find the cell that is closest to the column. */
export function nextPosition(
  { rowCount, cellsOf }: GridCells, { row, column }: GridPosition, key: string,
): GridPosition | null {
  const inRow = (index: number): readonly number[] => [-1, ...cellsOf(index)];
  const step = STEPS[key];
  if (step !== undefined) {
    const next = Math.min(rowCount - 1, Math.max(0, row + step));
    const closest = inRow(next).toSorted((a, b) => Math.abs(a - column) - Math.abs(b - column));
    return { row: next, column: closest[0] ?? -1 };
  }
  if (key === "Home") return { row, column: -1 };
  if (key === "End") return { row, column: inRow(row).at(-1) ?? -1 };
  if (key === "ArrowRight") return { row, column: inRow(row).find((one) => one > column) ?? column };
  if (key === "ArrowLeft") return { row, column: inRow(row).findLast((one) => one < column) ?? column };
  return null;
}
