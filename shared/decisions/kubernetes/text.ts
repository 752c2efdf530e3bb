const LENGTH = 200;

/** What cannot be seen, breaks a line or turns the direction of text: control and format characters, lone surrogates, line and paragraph separators. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** A user's value inside a message: in double quotes, control characters escaped, cut where it is too long to read. */
export function quote(value: string): string {
  const cut = value.length > LENGTH ? value.slice(0, LENGTH) : value;
  const quoted = printable(JSON.stringify(cut));
  return cut === value ? quoted : `${quoted}… (${value.length} characters)`;
}

/** The same text where nothing in it can write to a terminal or hide, for values that stand without quotes. */
export function printable(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE, (characters) => characters.split("").map(escaped).join(""));
}

/** Of one UTF-16 code unit, as JSON writes it. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** By UTF-16 code unit, so that no order depends on a locale. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}/** The one of `candidates` that `text` was probably meant to be (at most a third of it differs), or null. */
export function closest(text: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, Math.floor(text.length / 3)) + 1;
  for (const candidate of candidates) {
    // Lengths alone differ by too much: nothing to compute, however long a stranger's text is.
    if (Math.abs(candidate.length - text.length) >= bestDistance) continue;
    const distance = editDistance(text.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Levenshtein's distance, a row of its table at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  let left = b.length;
  for (let i = 1; i <= a.length; i++) {
    let diagonal = i - 1;
    row = row.map((above, j) => {
      left = j === 0 ? i : Math.min(above + 1, left + 1, diagonal + (a[i - 1] === b[j - 1] ? 0 : 1));
      diagonal = above;
      return left;
    });
  }
  return left;
}

/** A message names no more than these; who wants them all asks `impact`. */
export const NAMED = 3;

/** `1 resource`, `7 resources`, `at least 20 resources`: the last where nobody looked for more. */
export function countOf(number: number, noun: string, enough = Infinity): string {
  return number >= enough ? `at least ${enough} ${noun}s` : `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `a`, `a and b`, `a, b, c and 4 more`; of at least so many `a, b, c and others`. */
export function listOf(names: readonly string[], number = names.length, enough = Infinity): string {
  const shown = names.slice(0, NAMED);
  const more = number - shown.length;
  const rest = number >= enough ? "others" : `${more} more`;
  const parts = more > 0 ? [...shown, rest] : shown;
  return printable([parts.slice(0, -1).join(", "), ...parts.slice(-1)].filter((part) => part !== "").join(" and "));
}

/** As many as are told; the rest are counted, without sorting what may be all namespaces of a cluster. */
const KEPT = 3;

/** `a, b, c and 40 more`, the first in order. */
export function someNames(names: Iterable<string>): string {
  let first: string[] = [];
  let number = 0;
  for (const name of names) {
    number++;
    const last = first[KEPT - 1];
    if (last === undefined || compareText(name, last) < 0) first = [...first, name].toSorted(compareText).slice(0, KEPT);
  }
  return listOf(first, number);
}
