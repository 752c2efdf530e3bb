import { PARTS_BEFORE_RESOURCE, parseARN } from "../formats/arn.ts";
import { allOf, known, type Match, NO, unknown, YES } from "./three-values.ts";

/** A value of a condition key. `isPrefix` states that only the start of the value, and perhaps its end, is known. */
export interface Value {
  readonly text: string;
  readonly isPrefix: boolean;
  /** The end of the value after what is not known. */
  readonly end?: string;
}

/** A pattern: UTF-16 code units, `MANY` for `*`, and `ONE` for `?`. */
export type Pattern = readonly number[];
export const MANY = -1;
export const ONE = -2;
const COLON = 0x3A;

export function unitsOf(text: string): number[] {
  const units: number[] = [];
  for (let i = 0; i < text.length; i++) units.push(text.charCodeAt(i));
  return units;
}

/** Parses `*` and `?`. Policy variables are text here: see `parseTemplate`. `**` means the same as `*`. */
export function wildcards(text: string): Pattern {
  return unitsOf(text.replaceAll(/\*+/g, "*")).map((unit) => (unit === 0x2A ? MANY : unit === 0x3F ? ONE : unit));
}

/**
 * Whether the whole value matches. For a prefix, the answer is unknown if it depends on the rest of the value. Takes
 * time in proportion to the square of the value's length, because other people write the pattern.
 */
export function matches(pattern: Pattern, { text, isPrefix, end = "" }: Value): Match {
  const first = pattern.findIndex((token) => token < 0);
  const literals = first < 0 ? pattern.length : first;
  if (!startsWith(text, pattern, literals)) return NO;
  if (text.length < literals && !isPrefix) return NO;
  // Most patterns with a wildcard end in their only `*`.
  if (text.length >= literals && literals === pattern.length - 1 && pattern[literals] === MANY) return YES;
  if (isPrefix) return matchesEnds(pattern, text, end);
  return known(matchesWhole(pattern.slice(literals), text.slice(literals)));
}

/** Whether the text is equal to the first tokens of the pattern, as far as it goes. */
function startsWith(text: string, pattern: Pattern, literals: number): boolean {
  const common = Math.min(literals, text.length);
  for (let i = 0; i < common; i++) if (pattern[i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Whether the whole text matches. Extends the last `*` when the pattern after it fails. */
function matchesWhole(pattern: Pattern, text: string): boolean {
  // A pattern can be much longer than any text that it could match.
  if (pattern.filter((token) => token !== MANY).length > text.length) return false;
  let [at, last, end] = [0, -1, 0];
  for (let i = 0; i < text.length;) {
    const token = pattern[at];
    if (token === MANY) {
      last = at++;
      end = i;
    } else if (token === ONE || token === text.charCodeAt(i)) {
      at++;
      i++;
    } else if (last < 0) return false;
    else {
      at = last + 1;
      i = ++end;
    }
  }
  while (pattern[at] === MANY) at++;
  return at === pattern.length;
}

/** Whether each, no or some text with this start and this end matches. */
function matchesEnds(pattern: Pattern, start: string, end: string): Match {
  const after = positionsAfter(pattern, unitsOf(start));
  const [first] = after;
  const [fromEnd] = positionsAfter(pattern.toReversed(), unitsOf(end).toReversed());
  // The end must match after the start, with anything between them.
  if (first === undefined || fromEnd === undefined || first > pattern.length - fromEnd) return NO;
  // At a final `*`, every rest matches.
  const last = pattern.length - 1;
  return pattern[last] === MANY && after.includes(last) ? YES : unknown();
}

/** Returns the positions of the pattern at which a text can end, in ascending order. */
function positionsAfter(pattern: Pattern, units: readonly number[]): number[] {
  let positions = reachable(pattern, [0]);
  for (const unit of units) {
    const next = positions.flatMap((at) => (
      pattern[at] === MANY ? [at] : pattern[at] === ONE || pattern[at] === unit ? [at + 1] : []
    ));
    positions = reachable(pattern, next);
  }
  return positions;
}

/** Adds the positions after each `*`, because it also matches nothing. The positions are in ascending order. */
function reachable(pattern: Pattern, positions: readonly number[]): number[] {
  const all: number[] = [];
  let last = -1;
  for (const position of positions) {
    for (let at = position; ; at++) {
      if (at > last) all.push(at);
      last = Math.max(at, last);
      if (pattern[at] !== MANY) break;
    }
  }
  return all;
}

/** Whether each of the six parts of an ARN matches. Unknown if one of the texts is not an ARN. */
export function matchesARN(pattern: Pattern, value: Value): Match {
  const patterns = partsOf(pattern);
  const arn = parseARN(value.text);
  if (patterns.length === 0 || arn === null) return unknown();
  const texts = ["arn", arn.partition, arn.service, arn.region, arn.accountID];
  const parts = [...texts.map((text) => ({ text, isPrefix: false })), { ...value, text: arn.resource }];
  return allOf(parts.flatMap((part, i) => patterns.slice(i, i + 1).map((one) => matches(one, part))));
}

/** Splits the pattern of an ARN into its six parts. Returns [] if it has fewer parts. */
function partsOf(pattern: Pattern): Pattern[] {
  const parts: Pattern[] = [];
  let start = 0;
  while (parts.length < PARTS_BEFORE_RESOURCE) {
    const end = pattern.indexOf(COLON, start);
    if (end < 0) return [];
    parts.push(pattern.slice(start, end));
    start = end + 1;
  }
  return [...parts, pattern.slice(start)];
}

/**
 * Whether a pattern of `Resource` matches an ARN. Only a `*` that ends a part of the ARN can match a colon. Unknown if
 * another wildcard has to, because STS accepts some of these patterns:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html
 */
export function matchesResource(pattern: Pattern, arn: string): Match {
  const value = { text: arn, isPrefix: false };
  const whole = matches(pattern, value);
  if (whole.answer === "no" && matches(completed(pattern), value).answer === "yes") {
    return unknown("whether IAM completes a Resource with fewer than six parts");
  }
  if (whole.answer === "no" || pattern.every((token, i) => token >= 0 || endsPart(pattern, i))) return whole;
  return matchesARN(pattern, value).answer === "yes" ? YES : unknown("whether a wildcard of Resource matches a colon");
}

/** Returns the pattern of an ARN with `*` for each part that it lacks. */
function completed(pattern: Pattern): Pattern {
  const parts = pattern.filter((token) => token === COLON).length;
  const isARN = ARN_START.every((unit, i) => pattern[i] === unit) && (pattern[ARN_START.length] ?? COLON) === COLON;
  const lacking = isARN ? Math.max(0, PARTS_BEFORE_RESOURCE - parts) : 0;
  return [...pattern, ...Array.from({ length: lacking }, () => [COLON, MANY]).flat()];
}

const ARN_START = unitsOf("arn");

function endsPart(pattern: Pattern, i: number): boolean {
  const next = pattern[i + 1] ?? COLON;
  return pattern[i] === MANY && next === COLON;
}

/** Whether an action matches, regardless of case. */
export function matchesAction(pattern: Pattern, action: string): boolean {
  return matches(pattern, { text: action.toLowerCase(), isPrefix: false }).answer === "yes";
}
