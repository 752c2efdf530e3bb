import type { EditedFile } from "../input/texts.ts";
import { differingLines } from "./line-diff.ts";
import type { FileRepair } from "./repairs.ts";

/** A repair as a SARIF fix, before its text is escaped. Source: SARIF 2.1.0, section 3.55. */
export interface SarifFix {
  readonly text: string;
  readonly changes: readonly { readonly file: string; readonly replacements: readonly object[] }[];
}

/** Returns the replacements of a repair, instead of the texts of the files: many findings can be in a large file. */
export function sarifFix({ text, files }: FileRepair): SarifFix {
  return { text, changes: files.map((file) => ({ file: file.file, replacements: replacementsIn(file) })) };
}

function replacementsIn({ before, after }: EditedFile): object[] {
  const { first, before: lines, changes } = differingLines(before, after, 0);
  return changes.map(({ start, end, lines: inserted }) => {
    const [from, to] = [positionOf(lines, start), positionOf(lines, end)];
    const deletedRegion = {
      startLine: first + from.line, startColumn: from.column, endLine: first + to.line, endColumn: to.column,
    };
    return { deletedRegion, ...(inserted.length > 0 && { insertedContent: { text: inserted.join("") } }) };
  });
}

/** Returns where a line starts; for the number of lines, where the text ends. */
function positionOf(lines: readonly string[], index: number): { readonly line: number; readonly column: number } {
  const last = lines.at(-1) ?? "";
  const endsInLine = index === lines.length && last !== "" && !last.endsWith("\n");
  return endsInLine ? { line: index, column: last.length + 1 } : { line: index + 1, column: 1 };
}
