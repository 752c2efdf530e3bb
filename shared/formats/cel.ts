// Functions that build CEL expressions (https://kubernetes.io/docs/reference/using-api/cel/). The expressions use only
// features of Kubernetes 1.30, the first version with ValidatingAdmissionPolicy in v1.

/** Returns a CEL string. A JSON string has the same escapes. */
export function text(value: string): string {
  return JSON.stringify(value);
}

/** Returns a CEL list of strings. */
export function texts(values: Iterable<string>): string {
  return `[${Array.from(values, text).join(", ")}]`;
}

/** Returns the pattern as a CEL string. CEL uses RE2, which reads the patterns of this project like JavaScript. */
export function regexp({ source, flags }: RegExp): string {
  const inline = flags.replaceAll(/[^is]/g, "");
  return text((inline === "" ? "" : `(?${inline})`) + source.replaceAll("\\/", "/"));
}

/** Returns the source of a pattern without its anchors, as a part of a larger pattern. */
export function body({ source }: RegExp): string {
  return source.replace(/^\^/, "").replace(/\$$/, "").replaceAll("\\/", "/");
}

/** Returns a pattern that matches only the text, as a part of a larger pattern. */
export function quoted(value: string): string {
  return value.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/**
 * Returns a pattern that matches ASCII letters in both cases. `(?i:s)` of RE2 also matches "ſ", unlike the flag `i` of
 * JavaScript.
 */
export function anyCase(letters: string): string {
  return letters.replaceAll(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);
}

/**
 * Removes white space like JavaScript's `trim`. Also removes each U+FEFF, which `trim` of CEL does not remove at the
 * ends.
 */
export function trimmed(expression: string): string {
  return `${expression}.replace("\\ufeff", "").trim()`;
}

/** Negates an expression. */
export function not(expression: string): string {
  return `!(${expression})`;
}

/** A variable of a policy, which is evaluated at most once, and only if an expression reads it. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** The prefix of a variable: `""` for the object of the request, `old` for the stored object. */
export type State = "" | "old";

/** Returns an expression that reads a variable, such as `variables.oldNames`. */
export function read(name: string, state: State = ""): string {
  return `variables.${state === "" ? name : state + name.charAt(0).toUpperCase() + name.slice(1)}`;
}

/**
 * Returns a variable for the field of the object, and one for the field of the stored object. `empty` is the value of a
 * missing field. At CREATE, no stored object exists.
 */
export function fieldVariables(name: string, path: string, empty: string): readonly Variable[] {
  const steps = path.split(".").map((step) => `.?${step}`).join("");
  return [
    { name, expression: `object${steps}.orValue(${empty})` },
    variable(name, "old", `oldObject == null ? ${empty} : oldObject${steps}.orValue(${empty})`),
  ];
}

/** Returns a variable for the object, and one for the stored object, from an expression for each. */
export function derivedVariables(name: string, expression: (state: State) => string): readonly Variable[] {
  return [variable(name, "", expression("")), variable(name, "old", expression("old"))];
}

function variable(name: string, state: State, expression: string): Variable {
  return { name: read(name, state).slice("variables.".length), expression };
}

/**
 * Returns an expression that is true if the object is valid, or if the stored object already had a fault of the same
 * kind. The webhook only warns of a fault that the stored object has.
 */
export function unlessStored(isValid: (state: State) => string): string {
  return `${grouped(isValid(""))} || oldObject != null && ${not(isValid("old"))}`;
}

function grouped(expression: string): string {
  return / (\|\||&&|\?) /.test(expression) ? `(${expression})` : expression;
}
