import { type Operator, parseOperator } from "./condition-operators.ts";
import { type LookUp, parseTemplate, type Resolved, resolveTemplate, type Template } from "./policy-variables.ts";
import { agreed, allOf, anyOf, known, type Match, NO, not, unknown } from "./three-values.ts";
import { matches, matchesARN, type Pattern, type Value } from "./wildcard-pattern.ts";

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
