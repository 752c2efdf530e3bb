import {
  DURATION_SECONDS_ANNOTATION, EXTERNAL_ID_ANNOTATION, RESOLVER_PREFIX, SESSION_NAME_ANNOTATION,
  SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION, SESSION_TAGS_ANNOTATION,
  SOURCE_IDENTITY_ANNOTATION,
} from "./annotation-keys.ts";
import { accountOfARN } from "../formats/arn.ts";
import type { JsonObject } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { NameIndex } from "../formats/nearest.ts";
import { compareText, countOf, quote } from "../formats/text.ts";
import { LIMITS } from "./limits.ts";
import type { SelectorSpec } from "./iamroleselector.ts";
import { policyTemplates, readPolicyARNs, writtenPolicy } from "./session-policy.ts";
import {
  MAX_TAGS, NO_EXTRAS, RESERVED_PREFIX, scopeNamed, SESSION_NAME_LIMITS, type SessionExtras, type SessionTag,
  TAG_KEY_LIMITS, TAG_VALUE_LIMITS, type TextLimits,
} from "./session.ts";

/**
 * Reads the session settings of an IAMRoleSelector. Fills in every template except those that depend on the grant:
 * `{group}`, and `{namespace}` unless the selector names exactly one. Does not validate values, because the checks
 * report invalid values and the sidecar then does not grant the role.
 */
export function readExtras(object: JsonObject, spec: SelectorSpec): SessionExtras {
  const read = (annotation: string): string | null => annotationAt(object, annotation);
  if (FIELDS.every(({ annotation }) => read(annotation) === null)) return NO_EXTRAS;
  const tags = read(SESSION_TAGS_ANNOTATION);
  const policy = read(SESSION_POLICY_ANNOTATION);
  return {
    externalID: read(EXTERNAL_ID_ANNOTATION),
    sessionName: read(SESSION_NAME_ANNOTATION),
    sourceIdentity: read(SOURCE_IDENTITY_ANNOTATION),
    tags: tags === null ? [] : readTags(tags, (value) => fillIn(value, spec)),
    durationSeconds: readDuration(read(DURATION_SECONDS_ANNOTATION) ?? ""),
    policy: policy === null ? null : policyOf(policy, spec),
    policyARNs: readPolicyARNs(read(SESSION_POLICY_ARNS_ANNOTATION) ?? ""),
    scope: scopeNamed(read(SESSION_SCOPE_ANNOTATION)),
  };
}

/** Returns the policy of a selector with the templates filled in that the selector determines. */
export function policyOf(text: string, spec: SelectorSpec): string {
  return writtenPolicy(text, (name) => TEMPLATES.get(name)?.valueOf(spec) ?? null);
}

interface ExtrasField {
  readonly annotation: string;
  /** Returns the text of the annotation; null if it is not set. */
  readonly textOf: (extras: SessionExtras) => string | null;
  readonly isSame: (a: SessionExtras, b: SessionExtras) => boolean;
}

const FIELDS: readonly ExtrasField[] = [
  {
    annotation: EXTERNAL_ID_ANNOTATION, textOf: ({ externalID }) => externalID,
    isSame: (a, b) => a.externalID === b.externalID,
  },
  {
    annotation: SESSION_NAME_ANNOTATION, textOf: ({ sessionName }) => sessionName,
    isSame: (a, b) => a.sessionName === b.sessionName,
  },
  {
    annotation: SOURCE_IDENTITY_ANNOTATION, textOf: ({ sourceIdentity }) => sourceIdentity,
    isSame: (a, b) => a.sourceIdentity === b.sourceIdentity,
  },
  {
    annotation: SESSION_TAGS_ANNOTATION,
    textOf: ({ tags }) => (tags.length === 0 ? null : tags.map(({ key, value }) => `${key}=${value}`).join(",")),
    isSame: (a, b) => areSameTags(a.tags, b.tags),
  },
  {
    annotation: DURATION_SECONDS_ANNOTATION,
    textOf: ({ durationSeconds }) => (durationSeconds === null ? null : String(durationSeconds)),
    isSame: (a, b) => a.durationSeconds === b.durationSeconds,
  },
  { annotation: SESSION_POLICY_ANNOTATION, textOf: ({ policy }) => policy, isSame: (a, b) => a.policy === b.policy },
  {
    annotation: SESSION_POLICY_ARNS_ANNOTATION,
    textOf: ({ policyARNs }) => (policyARNs.length === 0 ? null : policyARNs.join(",")),
    isSame: (a, b) => a.policyARNs.join() === b.policyARNs.join(),
  },
  { annotation: SESSION_SCOPE_ANNOTATION, textOf: ({ scope }) => scope, isSame: (a, b) => a.scope === b.scope },
];

/** Returns the text of an annotation with a session setting; null if it is not set. */
export function annotationOf(annotation: string, extras: SessionExtras): string | null {
  return FIELDS.find((one) => one.annotation === annotation)?.textOf(extras) ?? null;
}

/** Whether two lists of tags are equal. Each list must be sorted by key. */
function areSameTags(a: readonly SessionTag[], b: readonly SessionTag[]): boolean {
  return a.length === b.length && a.every(({ key, value }, i) => key === b[i]?.key && value === b[i].value);
}

const NONE: readonly string[] = [];

/** Returns the annotations whose values differ between two selectors. */
export function differingExtras(a: SessionExtras, b: SessionExtras): readonly string[] {
  const isSame = a === b || FIELDS.every((field) => field.isSame(a, b)); // usually true
  return isSame ? NONE : FIELDS.filter((field) => !field.isSame(a, b)).map(({ annotation }) => annotation);
}

/** Returns the name of an annotation without its prefix, such as `external-id`. */
export function shortName(annotation: string): string {
  return annotation.slice(RESOLVER_PREFIX.length);
}

/** Whether a tag or the policy contains the template, such as `namespace`. */
export function usesTemplate({ tags, policy }: SessionExtras, name: string): boolean {
  return tags.some(({ value }) => value.includes(`{${name}}`)) || policyTemplates(policy ?? "").includes(name);
}

/** The values of the templates that depend on the grant; null if the grant does not determine the value. */
export type GrantTemplates = Readonly<Record<"selector" | "account" | "group" | "namespace", string | null>>;

/** Replaces the templates that depend on the grant. A template without a value remains. */
export function fillInGrant(extras: SessionExtras, templates: GrantTemplates): SessionExtras {
  const { tags, policy } = extras;
  if (policy === null && !tags.some(({ value }) => value.includes("{"))) return extras;
  const values = new Map<string, string | null>(Object.entries(templates));
  const fill = (text: string): string => text.replaceAll(TEMPLATE, (template, name: string) =>
    values.get(name) ?? template);
  return {
    ...extras, tags: tags.map(({ key, value }) => ({ key, value: fill(value) })),
    policy: policy === null ? null : writtenPolicy(policy, (name) => values.get(name) ?? null),
  };
}

export const DURATION_SECONDS = /^[0-9]{1,9}$/;

/** Parses a number of seconds. Returns null if the text is not a whole number of up to 9 digits. */
export function readDuration(text: string): number | null {
  return DURATION_SECONDS.test(text) ? Number(text) : null;
}

/** Returns each fault as a verb phrase. A phrase does not contain the checked text, which may be confidential. */
export function textFaults(text: string, { min, max, pattern, characters }: TextLimits): string[] {
  const faults: string[] = [];
  if (text.length < min || text.length > max) {
    faults.push(`has ${countOf(text.length, "character")}, not ${min} to ${max}`);
  }
  if (!pattern.test(text)) faults.push(`contains characters other than ${characters}`);
  return faults;
}

/** Returns the faults of a source identity, as `textFaults` does. */
export function sourceIdentityFaults(text: string): string[] {
  const faults = textFaults(text, SESSION_NAME_LIMITS);
  return RESERVED_PREFIX.test(text) ? [...faults, "starts with aws:, which is reserved for AWS"] : faults;
}

/** A session tag in a text. The value is null if the tag has no `=`. */
interface TagSpec {
  readonly key: string;
  readonly value: string | null;
}

function tagSpecsOf(text: string): TagSpec[] {
  return text.split(",").map((part) => {
    const [key = "", ...rest] = part.split("=");
    return { key: key.trim(), value: rest.length === 0 ? null : rest.join("=").trim() };
  });
}

/** Returns the tags of `KEY=VALUE,...`, sorted by key, so that their order does not matter, and at most 100 tags. */
export function readTags(text: string, fill: (value: string) => string): SessionTag[] {
  const tags = tagSpecsOf(text).slice(0, LIMITS.listedEntries.value)
    .map(({ key, value }) => ({ key, value: fill(value ?? "") }));
  return sortTags(tags);
}

export function sortTags(tags: readonly SessionTag[]): SessionTag[] {
  return tags.toSorted((a, b) => compareText(a.key, b.key));
}

/** Returns the faults of a list of session tags (`KEY=VALUE,...`) of a selector, except faults of templates. */
export function tagFaults(text: string, spec: SelectorSpec): string[] {
  return tagListFaults(text, (value) => fillIn(value, spec).replaceAll(GROUP, "").replaceAll(NAMESPACE, ""));
}

/** Returns the faults of a list of session tags. `fill` fills in the templates of a value, as far as they are known. */
export function tagListFaults(text: string, fill: (value: string) => string): string[] {
  const all = tagSpecsOf(text);
  const tags = all.slice(0, LIMITS.listedEntries.value);
  const faults = tags.flatMap((tag) => faultsOfTag(tag, fill));
  if (all.length > MAX_TAGS) faults.push(`${all.length} tags exceed the limit of ${MAX_TAGS} for a session`);
  const seen = new Set<string>();
  const repeated = tags.filter(({ key }) => {
    const isRepeated = seen.has(key.toLowerCase());
    seen.add(key.toLowerCase());
    return isRepeated;
  });
  return [
    ...faults,
    ...repeated.map(({ key }) => `the key ${quote(key)} is repeated; tag keys are not case-sensitive`),
  ];
}

/** Returns the tags of the list that have no fault, or a fault of characters or length that can be corrected. */
export function validTags(text: string, spec: SelectorSpec): string {
  const tags = new Map<string, string>();
  for (const { key, value } of tagSpecsOf(text).slice(0, LIMITS.listedEntries.value)) {
    const name = allowedText(key.replace(RESERVED_PREFIX, ""), TAG_KEY_LIMITS);
    const tag = { key: name, value: value === null ? null : allowedText(value, TAG_VALUE_LIMITS) };
    const isFree = tags.size < MAX_TAGS && ![...tags.keys()].some((one) => one.toLowerCase() === name.toLowerCase());
    if (tag.value !== null && isFree && tagFaults(`${name}=${tag.value}`, spec).length === 0) tags.set(name, tag.value);
  }
  return Array.from(tags, ([key, value]) => `${key}=${value}`).join(",");
}

/** Returns the start of the text, with a hyphen for each character that is not allowed. Templates remain. */
function allowedText(text: string, { max, pattern }: TextLimits): string {
  const characters = Array.from(text, (one) => (pattern.test(one) || "{}".includes(one) ? one : "-"));
  return characters.join("").slice(0, max);
}

function faultsOfTag({ key, value }: TagSpec, fill: (value: string) => string): string[] {
  if (value === null) return [`${quote(key)} is not KEY=VALUE`];
  const faults = textFaults(key, TAG_KEY_LIMITS).map((fault) => `the key ${quote(key)} ${fault}`);
  if (RESERVED_PREFIX.test(key)) faults.push(`the key ${quote(key)} starts with aws:, which is reserved for AWS`);
  const valueFaults = textFaults(fill(value), TAG_VALUE_LIMITS);
  return [...faults, ...valueFaults.map((fault) => `the value of ${quote(key)} ${fault}`)];
}

const GROUP = "{group}";
const NAMESPACE = "{namespace}";
/** Matches one template, such as `{namespace}`. */
export const TEMPLATE = /\{([^{}]*)\}/g;

interface Template {
  readonly valueOf: (spec: SelectorSpec) => string | null;
  /** The reason why the template has no value. */
  readonly missing: string;
}

export const TEMPLATES: ReadonlyMap<string, Template> = new Map([
  ["selector", { valueOf: ({ name }) => name, missing: "the selector has no name" }],
  // Other checks deny an ARN without an account.
  ["account", { valueOf: ({ arn }) => accountOfARN(arn ?? "") ?? "", missing: "" }],
  ["group", { valueOf: () => GROUP, missing: "" }],
  ["namespace", { valueOf: (spec) => namespaceOf(spec) ?? NAMESPACE, missing: "" }],
  ["kind", { valueOf: kindOf, missing: "spec.resourceTypeSelector does not name exactly one kind" }],
]);

/** Returns the only namespace that the selector names, or null. */
function namespaceOf({ namespaceSelector }: SelectorSpec): string | null {
  const [only, ...others] = namespaceSelector?.names ?? [];
  return others.length === 0 ? (only ?? null) : null;
}

function kindOf({ resourceTypeSelector }: SelectorSpec): string | null {
  const [only = "", ...others] = new Set(resourceTypeSelector?.map(({ kind }) => kind));
  return others.length === 0 && only !== "" ? only : null;
}

/**
 * Replaces each template by its value, or removes the template if it has no value. Truncates a value that is too long
 * for a tag, because a tag can repeat a template thousands of times, and a name can have a million characters.
 */
function fillIn(text: string, spec: SelectorSpec): string {
  const length = TAG_VALUE_LIMITS.max + 1;
  return text.replaceAll(TEMPLATE, (_, name: string) => TEMPLATES.get(name)?.valueOf(spec)?.slice(0, length) ?? "");
}

/** Whether a tag contains the namespace, but only a request can name it. */
export function needsNamespace(text: string, spec: SelectorSpec): boolean {
  return text.includes(NAMESPACE) && namespaceOf(spec) === null;
}

interface TemplateFault {
  readonly message: string;
  /** The name of the template. */
  readonly name: string;
  /** The existing templates that are most similar to the unknown name. */
  readonly nearest: readonly string[];
}

/** Returns the names of the templates in tags, of which some may not exist. */
export function tagTemplates(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(TEMPLATE), ([, name = ""]) => name))];
}

/** Returns a fault for each template that is unknown or has no value. */
export function templateFaults(names: readonly string[], spec: SelectorSpec): TemplateFault[] {
  return names.flatMap((name) => {
    const template = TEMPLATES.get(name);
    if (template === undefined) {
      const nearest = new NameIndex(TEMPLATES.keys()).guesses(name);
      return [{ message: `template ${quote(`{${name}}`)} does not exist`, name, nearest }];
    }
    if (template.valueOf(spec) !== null) return [];
    return [{ message: `template {${name}} has no value: ${template.missing}`, name, nearest: [] }];
  });
}
