import { type Pattern, unitsOf, type Value, wildcards } from "./wildcard-pattern.ts";

/** A text with policy variables. Each part is a fixed pattern or a variable. */
export type Template = readonly (Pattern | Variable)[];

interface Variable {
  /** The condition key in lowercase, or "" if the text between the braces is not a variable. */
  readonly key: string;
  readonly fallback: string | null;
}

/** The states in which a condition key can be in the request: absent, or with one or more values. */
export type Possibilities = readonly (readonly Value[] | null)[];
/** Returns the states of a condition key. The key is in lowercase. */
export type LookUp = (key: string) => Possibilities;

/** `key` or `key, 'default'`: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html */
const VARIABLE_TEXT = /^([^\s',{$]+)(?:,\s*'([^']*)')?$/;
const SPECIAL: ReadonlySet<string> = new Set(["*", "?", "$"]);

/** How a text of a policy is read. */
interface TextRules {
  readonly hasVariables: boolean;
  readonly hasWildcards: boolean;
}

export function parseTemplate(text: string, { hasVariables, hasWildcards }: TextRules): Template {
  const fixed = hasWildcards ? wildcards : unitsOf;
  if (!hasVariables) return [fixed(text)];
  const parts: (Pattern | Variable)[] = [];
  let end = 0;
  for (let start = text.indexOf("${"); start >= 0; start = text.indexOf("${", end)) {
    const close = text.indexOf("}", start);
    // Without a bracket, the rest is not a variable.
    const last = close < 0 ? text.length : close;
    parts.push(fixed(text.slice(end, start)), parseVariable(close < 0 ? "" : text.slice(start + 2, last)));
    end = last + 1;
  }
  return [...parts, fixed(text.slice(end))];
}

function parseVariable(text: string): Pattern | Variable {
  if (SPECIAL.has(text)) return unitsOf(text);
  const [, key = "", fallback = null] = VARIABLE_TEXT.exec(text) ?? [];
  return { key: key.toLowerCase(), fallback };
}

/**
 * A template with the values of a request. A variable without a value matches nothing, and may make the statement
 * invalid. A variable whose value is unknown is missing, and may have no value unless `isPresent`.
 */
export type Resolved =
  | { readonly state: "pattern"; readonly pattern: Pattern }
  | { readonly state: "no value" | "unknown"; readonly variable: string; readonly isPresent: boolean };

export function resolveTemplate(template: Template, lookUp: LookUp): Resolved {
  const pattern: number[] = [];
  for (const part of template) {
    if (!("key" in part)) {
      for (const token of part) pattern.push(token);
      continue;
    }
    const value = valueOf(part, lookUp);
    if (value.state !== "text") return { ...value, variable: part.key };
    for (const unit of unitsOf(value.text)) pattern.push(unit);
  }
  return { state: "pattern", pattern };
}

type VariableValue =
  | { readonly state: "text"; readonly text: string }
  | { readonly state: "no value" | "unknown"; readonly isPresent: boolean };

function valueOf({ key, fallback }: Variable, lookUp: LookUp): VariableValue {
  const [only, ...others] = key === "" ? [] : lookUp(key);
  if (only === undefined || others.length > 0) return { state: "unknown", isPresent: false };
  const noValue = { state: "no value", isPresent: false } as const;
  if (only === null) return fallback === null ? noValue : { state: "text", text: fallback };
  const [value, ...more] = only;
  // A key with several values cannot be a variable.
  if (value === undefined || more.length > 0) return noValue;
  return value.isPrefix ? { state: "unknown", isPresent: true } : { state: "text", text: value.text };
}
