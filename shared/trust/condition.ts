import { type LookUp, parseTemplate, type Resolved, resolveTemplate, type Template } from "./policy-variables.ts";
import { agreed, allOf, anyOf, known, type Match, NO, not, unknown } from "./three-values.ts";
import { matches, matchesARN, type Pattern, type Value } from "./wildcard-pattern.ts";
import { secondsOf } from "./date-value.ts";

/** One key of one operator in the element `Condition`. */
export interface Condition {
  /** As the policy has it. */
  readonly operatorText: string;
  /** Null if this program does not know the operator. */
  readonly operator: Operator | null;
  readonly key: string;
  readonly values: readonly string[];
  /** The values as templates, for texts and ARNs. */
  readonly templates: readonly Template[];
}

export function conditionOf(
  operatorText: string, key: string, values: readonly string[], hasVariables: boolean,
): Condition {
  const operator = parseOperator(operatorText);
  const comparison = operator?.comparison ?? "null";
  const isText = typeof comparison === "string" && comparison !== "null";
  const hasWildcards = comparison === "wildcard" || comparison === "arn";
  const templates = isText ? values.map((value) => parseTemplate(value, { hasVariables, hasWildcards })) : [];
  return { operatorText, operator, key, values, templates };
}

/** Whether a condition is true for every state that its key can have. */
export function evaluateCondition(condition: Condition, lookUp: LookUp): Match {
  const { operator, key, templates } = condition;
  if (operator === null) return unknown(`operator ${condition.operatorText}`);
  // IAM stores an empty list, and AWS documents only that it does not affect the policy.
  if (condition.values.length === 0) return unknown(`values of ${key}`);
  const states = lookUp(key.toLowerCase());
  const test: Test = { ...condition, operator, resolved: templates.map((one) => resolveTemplate(one, lookUp)) };
  return agreed(states.map((values) => withoutInvalid(evaluateState(test, values), test)), key);
}

/** A condition in which the variables have values. */
interface Test extends Condition {
  readonly operator: Operator;
  readonly resolved: readonly Resolved[];
}

/**
 * A variable without a value matches nothing, and AWS documents both that a negated operator is true then and that the
 * statement is invalid. So a condition with such a variable is never certainly true.
 */
function withoutInvalid(match: Match, { resolved }: Test): Match {
  if (match.answer !== "yes") return match;
  const invalid = resolved.flatMap((one) => (one.state === "pattern" || one.isPresent ? [] : `\${${one.variable}}`));
  return invalid.length === 0 ? match : unknown(...invalid);
}

/**
 * AWS documents that the operators of sets treat an empty text like an absent key, and does not say whether that
 * includes a tag with an empty value.
 */
function evaluateState(test: Test, values: readonly Value[] | null): Match {
  const { operator, key } = test;
  if (operator.comparison === "null") return isNullAs(test.values, values === null);
  if (values === null) return absent(operator);
  const match = evaluateValues(test, values);
  const isEmpty = operator.set !== null && values.every(({ text, isPrefix }) => text === "" && !isPrefix);
  return isEmpty ? agreed([match, absent(operator)], key) : match;
}

function evaluateValues(test: Test, values: readonly Value[]): Match {
  const { operator } = test;
  const results = values.map((value) => {
    const match = matchesValue(test, value);
    return operator.isNegated ? not(match) : match;
  });
  if (operator.set === "all") return allOf(results);
  if (operator.set === "any") return anyOf(results);
  // AWS does not document an operator for one value with several values.
  return agreed(results, test.key);
}

function isNullAs(expected: readonly string[], isAbsent: boolean): Match {
  return anyOf(expected.map((text) => {
    const value = text.toLowerCase();
    return value === "true" || value === "false" ? known((value === "true") === isAbsent) : unknown();
  }));
}

function absent({ set, ifExists, isNegated }: Operator): Match {
  // AWS does not document this combination.
  if (set === "any" && ifExists) return unknown();
  if (set === "any") return NO;
  return known(set === "all" || ifExists || isNegated);
}

function matchesValue({ operator, values, resolved }: Test, value: Value): Match {
  const { comparison } = operator;
  if (typeof comparison !== "function") return anyOf(resolved.map((one) => matchesResolved(comparison, one, value)));
  return value.isPrefix ? unknown() : anyOf(values.map((expected) => comparison(value.text, expected)));
}

function matchesResolved(comparison: string, resolved: Resolved, value: Value): Match {
  if (resolved.state !== "pattern") return resolved.state === "no value" ? NO : unknown(`\${${resolved.variable}}`);
  const { pattern } = resolved;
  if (comparison === "arn") return matchesARN(pattern, value);
  return comparison === "text-ignore-case" ? matchesIgnoringCase(pattern, value) : matches(pattern, value);
}

function matchesIgnoringCase(pattern: Pattern, value: Value): Match {
  const exact = matches(pattern, value);
  if (exact.answer === "yes") return exact;
  // Programming languages differ in the case of other characters.
  const isASCII = !NOT_ASCII.test(value.text) && pattern.every((unit) => unit <= MAX_ASCII);
  if (!isASCII) return unknown("case of letters beyond ASCII");
  const lower = pattern.map((unit) => String.fromCharCode(unit).toLowerCase().charCodeAt(0));
  return matches(lower, { ...value, text: value.text.toLowerCase() });
}

const MAX_ASCII = 0x7F;
const NOT_ASCII = /\P{ASCII}/u;

/** How the values of a condition are compared. Texts and ARNs can have policy variables. */
type Comparison = "text" | "text-ignore-case" | "wildcard" | "arn" | "null" | Compare;
/** Compares the value of a request with a value of a policy. */
type Compare = (value: string, expected: string) => Match;

/** A parsed operator, such as `ForAllValues:StringNotEqualsIfExists`. */
interface Operator {
  readonly comparison: Comparison;
  readonly isNegated: boolean;
  readonly set: "all" | "any" | null;
  readonly ifExists: boolean;
}

const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/;

function numberOf(text: string): number | null {
  return NUMBER.test(text) ? Number(text) : null;
}

/** Returns a comparison of two parsed values. Its answer is unknown if one of the texts is invalid. */
function comparing(parse: (text: string) => number | null, holds: (a: number, b: number) => boolean): Compare {
  return (value, expected) => {
    const [a, b] = [parse(value), parse(expected)];
    return a === null || b === null ? unknown() : known(holds(a, b));
  };
}

const isEqual = (a: number, b: number): boolean => a === b;
const ORDERS = {
  LessThan: (a: number, b: number) => a < b,
  LessThanEquals: (a: number, b: number) => a <= b,
  GreaterThan: (a: number, b: number) => a > b,
  GreaterThanEquals: (a: number, b: number) => a >= b,
} as const;

const compareBool: Compare = (value, expected) => {
  const texts = [value.toLowerCase(), expected.toLowerCase()];
  return texts.every((text) => text === "true" || text === "false") ? known(texts[0] === texts[1]) : unknown();
};

const compareIP: Compare = (value, expected) => {
  const isInside = isInRange(value, expected);
  return isInside === null ? unknown() : known(isInside);
};

type Row = readonly [name: string, comparison: Comparison, isNegated?: boolean];

/** Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html */
const ROWS: readonly Row[] = [
  ["StringEquals", "text"], ["StringNotEquals", "text", true],
  ["StringEqualsIgnoreCase", "text-ignore-case"], ["StringNotEqualsIgnoreCase", "text-ignore-case", true],
  ["StringLike", "wildcard"], ["StringNotLike", "wildcard", true],
  ["ArnEquals", "arn"], ["ArnLike", "arn"], ["ArnNotEquals", "arn", true], ["ArnNotLike", "arn", true],
  ["Bool", compareBool], ["IpAddress", compareIP], ["NotIpAddress", compareIP, true], ["Null", "null"],
  ...([["Numeric", numberOf], ["Date", secondsOf]] as const).flatMap(([kind, parse]): Row[] => [
    [`${kind}Equals`, comparing(parse, isEqual)],
    [`${kind}NotEquals`, comparing(parse, isEqual), true],
    ...Object.entries(ORDERS).map(([order, holds]): Row => [`${kind}${order}`, comparing(parse, holds)]),
  ]),
];
const OPERATORS = new Map(ROWS.map(([name, comparison, isNegated = false]) => (
  [name.toLowerCase(), { comparison, isNegated }] as const
)));
const OPERATOR_TEXT = /^(?:(forallvalues|foranyvalue):)?([a-z]+?)(ifexists)?$/;

/** Parses an operator, regardless of case. Returns null for an unknown one, and for BinaryEquals. */
export function parseOperator(text: string): Operator | null {
  const [, set, name = "", ifExists] = OPERATOR_TEXT.exec(text.toLowerCase()) ?? [];
  const found = OPERATORS.get(name);
  if (found === undefined) return null;
  const isSpecial = set !== undefined || ifExists !== undefined;
  if (found.comparison === "null" && isSpecial) return null;
  const kind = set === undefined ? null : set === "forallvalues" ? "all" : "any";
  return { ...found, set: kind, ifExists: ifExists !== undefined };
}

// oxlint-disable-next-line no-restricted-imports -- compares addresses, and opens no connection
import { BlockList, isIP } from "node:net";

const PREFIX = /^\d{1,3}$/;
/** The forms of IPv6 that end in an IPv4 address or in a zone. AWS does not document that it reads them. */
const UNCERTAIN = /:.*[.%]/;

/** Whether an address is in a range, such as `10.0.0.0/8` or one address; null if one of the texts is invalid. */
export function isInRange(address: string, range: string): boolean | null {
  const [network = "", prefix, ...others] = range.split("/");
  const [version, ofRange] = [versionOf(address), versionOf(network)];
  if (version === null || ofRange === null || others.length > 0) return null;
  const width = ofRange === "ipv4" ? 32 : 128;
  const bits = prefix === undefined ? width : PREFIX.test(prefix) ? Number(prefix) : Infinity;
  if (bits > width) return null;
  const list = new BlockList();
  list.addSubnet(network, bits, ofRange);
  // A list also compares `::ffff:a00:1` with the ranges of IPv4.
  return version === ofRange && list.check(address, version);
}

function versionOf(address: string): "ipv4" | "ipv6" | null {
  const version = isIP(address);
  if (version === 0 || UNCERTAIN.test(address)) return null;
  return version === 4 ? "ipv4" : "ipv6";
}
