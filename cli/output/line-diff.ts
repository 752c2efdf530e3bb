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

/** The lines in which two texts differ, and those next to them. */
interface DifferingLines {
  /** The number of lines before them. */
  readonly first: number;
  readonly before: readonly string[];
  readonly changes: readonly LineChange[];
}

/** Compares two texts. Most of both is equal, and is not split into lines. */
export function differingLines(before: string, after: string, context: number): DifferingLines {
  const prefix = commonStart(before, after);
  let start = lineStart(before, prefix);
  for (let i = 0; i < context && start > 0; i += 1) start = lineStart(before, start - 1);
  const suffix = commonEnd(before, after, Math.min(before.length, after.length) - prefix);
  // Ends are measured from the end of both texts.
  let end = before.length - suffix;
  for (let i = 0; i <= context && end < before.length; i += 1) end = nextLine(before, end);
  const old = linesOf(before.slice(start, end));
  const changed = linesOf(after.slice(start, after.length - (before.length - end)));
  return { first: linesBefore(before, start), before: old, changes: lineChanges(old, changed) };
}

function linesBefore(text: string, offset: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

function commonStart(one: string, other: string): number {
  return largest(Math.min(one.length, other.length), (length) => one.slice(0, length) === other.slice(0, length));
}

function commonEnd(one: string, other: string, limit: number): number {
  return largest(limit, (length) => (
    one.slice(one.length - length) === other.slice(other.length - length)
  ));
}

/** Returns the largest number up to a limit for which a condition holds that holds for each smaller one. */
function largest(limit: number, holds: (number: number) => boolean): number {
  let [low, high] = [0, limit];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}

function nextLine(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return end === -1 ? text.length : end + 1;
}

/**
 * Returns the hunks of a unified diff between two texts, with as many lines of context as given. Returns "" for equal
 * texts. Source: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
 */
export function unifiedHunks(before: string, after: string, context: number): string {
  const { first, before: old, changes } = differingLines(before, after, context);
  let shift = 0;
  return hunksOf(changes, 2 * context).map((hunk) => {
    const [start, end] = [Math.max(0, (hunk[0]?.start ?? 0) - context), Math.min(old.length, endOf(hunk) + context)];
    const added = hunk.reduce((sum, change) => sum + change.lines.length - (change.end - change.start), 0);
    const body = hunkLines(old, hunk, start, end).map(asLine).join("");
    const [from, to] = [first + start, first + start + shift];
    shift += added;
    return `@@ -${rangeText(from, end - start)} +${rangeText(to, end - start + added)} @@\n${body}`;
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
