import { secondsOf } from "./date-value.ts";
import { isInRange } from "./ip-range.ts";
import { known, type Match, unknown } from "./three-values.ts";

/** How the values of a condition are compared. Texts and ARNs can have policy variables. */
export type Comparison = "text" | "text-ignore-case" | "wildcard" | "arn" | "null" | Compare;
/** Compares the value of a request with a value of a policy. */
type Compare = (value: string, expected: string) => Match;

/** A parsed operator, such as `ForAllValues:StringNotEqualsIfExists`. */
export interface Operator {
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
