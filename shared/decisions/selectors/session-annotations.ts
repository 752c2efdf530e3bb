import {
  DURATION_SECONDS_ANNOTATION, EXTERNAL_ID_ANNOTATION, RESOLVER_PREFIX, SESSION_NAME_ANNOTATION,
  SESSION_TAGS_ANNOTATION, SOURCE_IDENTITY_ANNOTATION,
} from "../annotation-keys.ts";
import { accountOfARN } from "../kubernetes/arn.ts";
import { type JsonObject, stringAt } from "../kubernetes/json.ts";
import { closest, compareText, quote } from "../kubernetes/text.ts";
import type { SelectorSpec } from "./iamroleselector.ts";
import {
  MOST_TAGS, NO_EXTRAS, type SessionExtras, type SessionTag, TAG_KEY_LIMITS, TAG_VALUE_LIMITS, type TextLimits,
} from "./session.ts";

/** A selector's annotation, or null where it has none. */
export function annotationOf(object: JsonObject, key: string): string | null {
  return stringAt(object, "metadata", "annotations", key);
}

/**
 * What an IAMRoleSelector asks of its sessions, with every template filled in but `{group}`, which is the asker's. What breaks a
 * limit is read as it stands: that nothing is granted on it is for the checks to see to.
 */
export function readExtras(object: JsonObject, written: SelectorSpec): SessionExtras {
  const read = (annotation: string): string | null => annotationOf(object, annotation);
  if (FIELDS.every(({ annotation }) => read(annotation) === null)) return NO_EXTRAS;
  const tags = read(SESSION_TAGS_ANNOTATION);
  return {
    externalID: read(EXTERNAL_ID_ANNOTATION),
    sessionName: read(SESSION_NAME_ANNOTATION),
    sourceIdentity: read(SOURCE_IDENTITY_ANNOTATION),
    tags: tags === null ? [] : readTags(tags, written),
    durationSeconds: readDuration(read(DURATION_SECONDS_ANNOTATION) ?? ""),
  };
}

const FIELDS: readonly { readonly annotation: string; readonly isSame: (a: SessionExtras, b: SessionExtras) => boolean }[] = [
  { annotation: EXTERNAL_ID_ANNOTATION, isSame: (a, b) => a.externalID === b.externalID },
  { annotation: SESSION_NAME_ANNOTATION, isSame: (a, b) => a.sessionName === b.sessionName },
  { annotation: SOURCE_IDENTITY_ANNOTATION, isSame: (a, b) => a.sourceIdentity === b.sourceIdentity },
  { annotation: SESSION_TAGS_ANNOTATION, isSame: (a, b) => sameTags(a.tags, b.tags) },
  { annotation: DURATION_SECONDS_ANNOTATION, isSame: (a, b) => a.durationSeconds === b.durationSeconds },
];

/** Both are in the order of their keys. */
function sameTags(a: readonly SessionTag[], b: readonly SessionTag[]): boolean {
  return a.length === b.length && a.every(({ key, value }, i) => key === b[i]?.key && value === b[i].value);
}

const NONE: readonly string[] = [];

/** The annotations by which the sessions that two selectors ask for differ. */
export function differingExtras(a: SessionExtras, b: SessionExtras): readonly string[] {
  const isSame = a === b || FIELDS.every((field) => field.isSame(a, b)); // as nearly always
  return isSame ? NONE : FIELDS.filter((field) => !field.isSame(a, b)).map(({ annotation }) => annotation);
}

/** `external-id` of `ack-role-resolver.io/external-id`, which is enough where it can be nothing else. */
export function shortName(annotation: string): string {
  return annotation.slice(RESOLVER_PREFIX.length);
}

/** The extras for an asker that is given the role for these groups. */
export function fillInGroups(extras: SessionExtras, groups: readonly string[]): SessionExtras {
  if (!extras.tags.some(({ value }) => value.includes(GROUP))) return extras;
  const named = groups.toSorted(compareText).join(" ");
  return { ...extras, tags: extras.tags.map(({ key, value }) => ({ key, value: value.replaceAll(GROUP, named) })) };
}

/** The tags that break a limit now that the groups are filled in, which no check could know. */
export function tagsTooLong({ tags }: SessionExtras): string[] {
  return tags.filter(({ value }) => value.length > TAG_VALUE_LIMITS.most).map(({ key }) => key);
}

/** Whole seconds, or null where the text is no number of them. */
export function readDuration(text: string): number | null {
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : null;
}

/** Each fault as a phrase that does not hold the text itself, which may be nobody's business. */
export function textFaults(text: string, { least, most, pattern, characters }: TextLimits): string[] {
  const faults: string[] = [];
  if (text.length < least || text.length > most) faults.push(`has ${text.length} character${text.length === 1 ? "" : "s"}, not ${least} to ${most}`);
  if (!pattern.test(text)) faults.push(`has other characters than ${characters}`);
  return faults;
}

/** A tag as it is written; `value` null where there is no `=`. */
interface WrittenTag {
  readonly key: string;
  readonly value: string | null;
}

function writtenTags(text: string): WrittenTag[] {
  return text.split(",").map((part) => {
    const [key = "", ...rest] = part.split("=");
    return { key: key.trim(), value: rest.length === 0 ? null : rest.join("=").trim() };
  });
}

/** In the order of their keys, so that the order of writing them makes no difference. */
function readTags(text: string, written: SelectorSpec): SessionTag[] {
  const tags = writtenTags(text).map(({ key, value }) => ({ key, value: fillIn(value ?? "", written) }));
  return tags.toSorted((a, b) => compareText(a.key, b.key));
}

/** What keeps `KEY=VALUE,...` from being session tags, a sentence a fault; templates that cannot be filled in aside. */
export function tagFaults(text: string, written: SelectorSpec): string[] {
  const tags = writtenTags(text);
  const faults = tags.flatMap((tag) => faultsOfTag(tag, written));
  if (tags.length > MOST_TAGS) faults.push(`there are ${tags.length} tags, and a session has at most ${MOST_TAGS}`);
  const keys = tags.map(({ key }) => key.toLowerCase());
  const repeated = tags.filter(({ key }, i) => keys.indexOf(key.toLowerCase()) < i);
  return [...faults, ...repeated.map(({ key }) => `the key ${quote(key)} stands there before, and keys that differ in case alone are the same`)];
}

function faultsOfTag({ key, value }: WrittenTag, written: SelectorSpec): string[] {
  if (value === null) return [`${quote(key)} is not KEY=VALUE`];
  const faults = textFaults(key, TAG_KEY_LIMITS).map((fault) => `the key ${quote(key)} ${fault}`);
  if (/^aws:/i.test(key)) faults.push(`the key ${quote(key)} starts with aws:, which is kept for AWS`);
  const filled = fillIn(value, written).replaceAll(GROUP, "");
  return [...faults, ...textFaults(filled, TAG_VALUE_LIMITS).map((fault) => `the value of ${quote(key)} ${fault}`)];
}

const GROUP = "{group}";
const TEMPLATE = /\{([^{}]*)\}/g;

interface Template {
  readonly valueOf: (written: SelectorSpec) => string | null;
  /** Why there is no value. */
  readonly lacks: string;
}

const TEMPLATES: ReadonlyMap<string, Template> = new Map([
  ["selector", { valueOf: ({ name }) => name, lacks: "the selector has no name" }],
  ["account", { valueOf: ({ arn }) => accountOfARN(arn ?? ""), lacks: "spec.arn names no account" }],
  ["group", { valueOf: () => GROUP, lacks: "" }],
  ["namespace", { valueOf: namespaceOf, lacks: "spec.namespaceSelector.names does not name exactly one namespace" }],
  ["kind", { valueOf: kindOf, lacks: "spec.resourceTypeSelector does not name exactly one kind" }],
]);

function namespaceOf({ namespaceSelector }: SelectorSpec): string | null {
  const [only, ...others] = namespaceSelector?.names ?? [];
  return others.length === 0 ? (only ?? null) : null;
}

function kindOf({ resourceTypeSelector }: SelectorSpec): string | null {
  const [only = "", ...others] = new Set(resourceTypeSelector?.map(({ kind }) => kind));
  return others.length === 0 && only !== "" ? only : null;
}

/** With nothing in place of a template that has no value. */
function fillIn(text: string, written: SelectorSpec): string {
  return text.replaceAll(TEMPLATE, (_, name: string) => TEMPLATES.get(name)?.valueOf(written) ?? "");
}

/** Each template that cannot be filled in, with the name that was probably meant where there is none of that name. */
export function templateFaults(text: string, written: SelectorSpec): { readonly message: string; readonly meant: string | null }[] {
  const names = new Set(Array.from(text.matchAll(TEMPLATE), ([, name = ""]) => name));
  return [...names].flatMap((name) => {
    const template = TEMPLATES.get(name);
    if (template === undefined) return [{ message: `there is no template ${quote(`{${name}}`)}`, meant: closest(name, TEMPLATES.keys()) }];
    return template.valueOf(written) === null ? [{ message: `{${name}} cannot be filled in: ${template.lacks}`, meant: null }] : [];
  });
}
