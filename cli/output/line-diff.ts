/** A change of a text: the lines from `start` up to `end`, from 0, are replaced. The lines have their line breaks. */
export interface LineChange {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
}

/** Returns the lines of a text with their line breaks. */
export function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The maximum number of comparisons. Texts that differ in more are changed in one part. */
const MAX_CELLS = 4_000_000;

/** Returns the changes of lines between two texts, in their order. Meant for texts with few differences. */
export function lineChanges(before: readonly string[], after: readonly string[]): readonly LineChange[] {
  const shorter = Math.min(before.length, after.length);
  let first = 0;
  while (first < shorter && before[first] === after[first]) first += 1;
  let last = 0;
  while (last < shorter - first && before.at(-1 - last) === after.at(-1 - last)) last += 1;
  const [old, lines] = [before.slice(first, before.length - last), after.slice(first, after.length - last)];
  if (old.length + lines.length === 0) return [];
  if (old.length * lines.length > MAX_CELLS) return [{ start: first, end: first + old.length, lines }];
  return changesBetween(old, lines, first);
}

/** Returns the changes between two lists of lines. */
function changesBetween(old: readonly string[], lines: readonly string[], offset: number): LineChange[] {
  const changes: LineChange[] = [];
  let [start, from] = [0, 0];
  for (const [i, j] of [...commonLines(old, lines), [old.length, lines.length] as const]) {
    if (i > start || j > from) changes.push({ start: offset + start, end: offset + i, lines: lines.slice(from, j) });
    [start, from] = [i + 1, j + 1];
  }
  return changes;
}

/** Returns the indexes of the longest common list of lines. Source: Hunt and McIlroy, 1976. */
function commonLines(old: readonly string[], lines: readonly string[]): (readonly [i: number, j: number])[] {
  const width = lines.length + 1;
  /** The number of lines that the rest of both lists has in common. */
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = lines.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === lines[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: (readonly [i: number, j: number])[] = [];
  for (let [i, j] = [0, 0]; i < old.length && j < lines.length;) {
    if (old[i] === lines[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/**
 * Returns the hunks of a unified diff between two texts, with as many lines of context as given. Returns "" for equal
 * texts. Source: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
 */
export function unifiedHunks(before: string, after: string, context: number): string {
  const old = linesOf(before);
  const changes = lineChanges(old, linesOf(after));
  let shift = 0;
  return hunksOf(changes, 2 * context).map((hunk) => {
    const [start, end] = [Math.max(0, (hunk[0]?.start ?? 0) - context), Math.min(old.length, endOf(hunk) + context)];
    const added = hunk.reduce((sum, change) => sum + change.lines.length - (change.end - change.start), 0);
    const body = hunkLines(old, hunk, start, end).map(asLine).join("");
    const header = `@@ -${rangeText(start, end - start)} +${rangeText(start + shift, end - start + added)} @@\n`;
    shift += added;
    return header + body;
  }).join("");
}

/** Groups the changes whose context would overlap. */
function hunksOf(changes: readonly LineChange[], distance: number): LineChange[][] {
  const hunks: LineChange[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1);
    if (last === undefined || change.start - endOf(last) > distance) hunks.push([change]);
    else last.push(change);
  }
  return hunks;
}

function endOf(hunk: readonly LineChange[]): number {
  return hunk.at(-1)?.end ?? 0;
}

function hunkLines(old: readonly string[], hunk: readonly LineChange[], start: number, end: number): string[] {
  const lines: string[] = [];
  const marked = (mark: string, part: readonly string[]): void => {
    for (const line of part) lines.push(mark + line);
  };
  let at = start;
  for (const change of hunk) {
    marked(" ", old.slice(at, change.start));
    marked("-", old.slice(change.start, change.end));
    marked("+", change.lines);
    at = change.end;
  }
  marked(" ", old.slice(at, end));
  return lines;
}

function asLine(line: string): string {
  return line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`;
}

/** Returns `FIRST,COUNT`. An empty range has the number of the line before it. */
function rangeText(start: number, count: number): string {
  return count === 1 ? String(start + 1) : `${count === 0 ? start : start + 1},${count}`;
}
