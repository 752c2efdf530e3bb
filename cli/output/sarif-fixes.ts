import type { EditedFile } from "../input/texts.ts";
import { differingLines } from "./line-diff.ts";
import type { FileRepair } from "./repairs.ts";

/** Returns repairs as SARIF fixes. Source: SARIF 2.1.0, section 3.55. `uriOf` returns the URI of a file. */
export function sarifFixes(fixes: readonly FileRepair[], uriOf: (file: string) => string): object[] {
  return fixes.map(({ text, files }) => ({
    description: { text },
    artifactChanges: files.map((file) => ({
      artifactLocation: { uri: uriOf(file.file) }, replacements: replacementsIn(file),
    })),
  }));
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
