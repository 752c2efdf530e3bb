import { type FieldPath, type FieldStep, isJsonObject, type JsonObject } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { type Condition, conditionOf } from "./condition.ts";
import { type Principal, parsePrincipal } from "./policy-principal.ts";
import { type PolicyFault, readPolicyJSON } from "./policy-text.ts";
import { parseTemplate, type Template } from "./policy-variables.ts";
import { unresolvedName } from "./unresolved-values.ts";
import { type Pattern, wildcards } from "./wildcard-pattern.ts";

/** A trust policy has principals and no resources. Every other policy of IAM has resources and no principals. */
export type PolicyKind = "trust" | "identity";

/** A policy document in normal form: every element is a list. */
export interface Policy {
  readonly statements: readonly Statement[];
}

export interface Statement {
  /** The 1-based position. */
  readonly index: number;
  readonly sid: string | null;
  readonly effect: "Allow" | "Deny";
  /** Empty, except in a trust policy. */
  readonly principals: ListElement<Principal>;
  readonly actions: ListElement<Pattern>;
  /** Empty in a trust policy. A null entry never matches. */
  readonly resources: ListElement<Template | null>;
  readonly conditions: readonly Condition[];
}

/** An element such as `Action`, or its negation, such as `NotAction`. */
export interface ListElement<Item> {
  readonly isNegated: boolean;
  readonly items: readonly Item[];
}

export type ParsedPolicy =
  | { readonly policy: Policy; readonly fault: null }
  | { readonly policy: null; readonly fault: PolicyFault };

/** Why a document has no normal form. */
class DocumentError extends Error {
  readonly path: FieldPath;
  constructor(path: FieldPath, message: string) {
    super(message);
    this.path = path;
  }
}

/** Parses a document, which is a JSON value, a JSON text or a URL-encoded JSON text. Reports the first fault. */
export function parsePolicy(document: unknown, kind: PolicyKind): ParsedPolicy {
  const json = readPolicyJSON(document);
  if ("fault" in json) return { policy: null, fault: json.fault };
  try {
    return { policy: policyOf(json.value, kind), fault: null };
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    return { policy: null, fault: { path: error.path, message: error.message } };
  }
}

const POLICY_FIELDS = ["Version", "Id", "Statement"];
const STATEMENT_FIELDS = [
  "Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition",
];

function policyOf(value: unknown, kind: PolicyKind): Policy {
  const unknown = unresolvedName(value);
  if (unknown !== null) throw new DocumentError([], `not known: ${unknown}`);
  const policy = objectOf(value, [], POLICY_FIELDS);
  const { Version: version = "2008-10-17" } = policy;
  if (version !== "2008-10-17" && version !== "2012-10-17") {
    throw new DocumentError(["Version"], "Version is not 2012-10-17 or 2008-10-17");
  }
  const { Statement: list } = policy;
  const statements = Array.isArray(list) ? list as unknown[] : [list];
  const hasVariables = version === "2012-10-17";
  return {
    statements: statements.map((statement, i) => {
      const path = Array.isArray(list) ? ["Statement", i] : ["Statement"];
      return statementOf(statement, { path, kind, hasVariables, index: i + 1 });
    }),
  };
}

interface StatementContext {
  readonly path: FieldPath;
  readonly kind: PolicyKind;
  readonly hasVariables: boolean;
  readonly index: number;
}

function statementOf(value: unknown, { path, kind, hasVariables, index }: StatementContext): Statement {
  const object = objectOf(value, path, STATEMENT_FIELDS);
  rejectElementsOfOthers(object, path, kind);
  const { Sid: sid = "", Effect: effect, Condition: conditions = {} } = object;
  return {
    index, sid: sidOf(sid, path), effect: effectOf(effect, path),
    principals: kind === "trust" ? listElement(object, "Principal", path, principalsOf) : NONE,
    actions: listElement(object, "Action", path, actionsOf),
    resources: kind === "trust" ? NONE : listElement(object, "Resource", path, (resource, at) => (
      textsOf(resource, at).map(([text]) => resourceOf(text, hasVariables))
    )),
    conditions: conditionsOf(conditions, [...path, "Condition"], hasVariables),
  };
}

function sidOf(sid: unknown, path: FieldPath): string | null {
  if (typeof sid !== "string") throw new DocumentError([...path, "Sid"], "Sid is not a text");
  return sid === "" ? null : sid;
}

function effectOf(effect: unknown, path: FieldPath): Statement["effect"] {
  if (effect === "Allow" || effect === "Deny") return effect;
  throw new DocumentError([...path, "Effect"], "Effect is not Allow or Deny");
}

/** IAM rejects a trust policy as a permissions policy, and the other way round. */
function rejectElementsOfOthers(object: JsonObject, path: FieldPath, kind: PolicyKind): void {
  const names = kind === "trust" ? ["Resource", "NotResource"] : ["Principal", "NotPrincipal"];
  const found = names.find((name) => Object.hasOwn(object, name));
  if (found === undefined) return;
  const reason = kind === "trust" ? "a trust policy has no resources" : "only a trust policy has principals";
  throw new DocumentError([...path, found], `${found} is not allowed, because ${reason}`);
}

const NONE: ListElement<never> = { isNegated: false, items: [] };

type ReadItems<Item> = (value: unknown, path: FieldPath) => Item[];

/** Reads an element that is given as `NAME` or `NotNAME`. */
function listElement<Item>(
  object: JsonObject, name: string, path: FieldPath, read: ReadItems<Item>,
): ListElement<Item> {
  const present = [name, `Not${name}`].filter((one) => Object.hasOwn(object, one));
  const [found, ...others] = present;
  if (found === undefined || others.length > 0) {
    throw new DocumentError(path, `the statement does not have one of ${name} and Not${name}`);
  }
  const items = read(object[found], [...path, found]);
  if (found !== name && items.length === 0) throw new DocumentError([...path, found], `${found} is empty`);
  return { isNegated: found !== name, items };
}

function principalsOf(value: unknown, path: FieldPath): Principal[] {
  if (value === "*") return [{ kind: "any" }];
  const types = objectOf(value, path, ["AWS", "Service", "Federated", "CanonicalUser"]);
  return Object.entries(types).flatMap(([type, texts]) => (
    textsOf(texts, [...path, type]).map(([text]) => parsePrincipal(type, text))
  ));
}

/** An action with its service. Only the whole service can be a wildcard. */
const ACTION = /^(\*|\*:\*|[a-z0-9-]+:.+)$/i;

function actionsOf(value: unknown, path: FieldPath): Pattern[] {
  return textsOf(value, path).map((one) => actionOf(...one));
}

function actionOf(text: string, path: FieldPath): Pattern {
  if (!ACTION.test(text)) throw new DocumentError(path, `the action ${quote(text)} is not SERVICE:ACTION`);
  return wildcards(text.toLowerCase());
}

/** Returns null for a resource with a variable before the fifth colon, which matches nothing. */
function resourceOf(text: string, hasVariables: boolean): Template | null {
  const template = parseTemplate(text, { hasVariables, hasWildcards: true });
  let colons = 0;
  for (const part of template) {
    if (!("key" in part)) colons += part.filter((unit) => unit === 0x3A).length;
    else if (colons < 5) return null;
  }
  return template;
}

/** A condition key. Only the key of a tag, after a slash, can have any character. */
const CONDITION_KEY = /^[!-9;-~]+:[!-~]+(\/.*)?$/s;

function conditionsOf(value: unknown, path: FieldPath, hasVariables: boolean): Condition[] {
  const seen = new Set<string>();
  return Object.entries(objectOf(value, path)).flatMap(([operator, keys]) => (
    Object.entries(objectOf(keys, [...path, operator])).map(([key, values]) => {
      const at = [...path, operator, { key }];
      const name = `${operator} ${key}`.toLowerCase();
      if (!CONDITION_KEY.test(key)) throw new DocumentError(at, `${quote(key)} is not a condition key`);
      // AWS does not document how it combines keys that differ only in case.
      if (seen.has(name)) throw new DocumentError(at, `${quote(key)} is stated twice, apart from case; remove one`);
      seen.add(name);
      return conditionOf(operator, key, textsOf(values, at).map(([text]) => text), hasVariables);
    })
  ));
}

/** A number that IAM certainly reads as this text. */
const NUMBER = /^[-.0-9]{1,15}$/;

/** Returns the texts of a value that is one text or a list. Numbers and booleans may be unquoted. */
function textsOf(value: unknown, path: FieldPath): (readonly [text: string, path: FieldPath])[] {
  const list = Array.isArray(value) ? value as unknown[] : [value];
  return list.map((item, i) => {
    const at: FieldPath = Array.isArray(value) ? [...path, i] : path;
    if (typeof item === "string") return [item, at];
    const isExact = typeof item === "boolean" || (typeof item === "number" && NUMBER.test(String(item)));
    if (isExact) return [String(item), at];
    throw new DocumentError(at, `${nameOf(at)} is not a text`);
  });
}

function objectOf(value: unknown, path: FieldPath, fields: readonly string[] | null = null): JsonObject {
  if (!isJsonObject(value)) throw new DocumentError(path, `${nameOf(path)} is not an object`);
  const unknown = fields === null ? undefined : Object.keys(value).find((key) => !fields.includes(key));
  if (unknown === undefined) return value;
  throw new DocumentError([...path, unknown], `${quote(unknown)} is not an element of a policy`);
}

function nameOf(path: FieldPath): string {
  const step = path.findLast(isName) ?? "the policy";
  return typeof step === "object" ? quote(step.key) : step;
}

function isName(step: FieldStep): step is Exclude<FieldStep, number> {
  return typeof step !== "number";
}
