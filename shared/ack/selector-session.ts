import {
  DURATION_SECONDS_ANNOTATION, EXTERNAL_ID_ANNOTATION, RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SESSION_NAME_ANNOTATION,
  SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION, SESSION_TAGS_ANNOTATION,
  SOURCE_IDENTITY_ANNOTATION,
} from "../core/annotation-keys.ts";
import { annotationPath, field, type FieldPath, type JsonObject, stringMap } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { NameIndex } from "../formats/nearest.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import { by, meant, remove, rename, type Repair, safely, set } from "../core/repair.ts";
import {
  needsNamespace, readDuration, shortName, tagFaults, tagTemplates, templateFaults, validTags,
} from "../core/session-annotations.ts";
import { DURATION_LIMITS, MAX_CHAINED_SECONDS, RESERVED_PREFIX, SESSION_NAME_LIMITS } from "../core/session.ts";
import type { Fault } from "../core/check.ts";
import { checkOf } from "../core/field-rule.ts";
import { EXTERNAL_ID, SESSION_NAME, SESSION_SECONDS, SOURCE_IDENTITY } from "../core/value-types.ts";
import type { SelectorCheck } from "./selector.ts";

const TAGS_PATH = annotationPath(SESSION_TAGS_ANNOTATION);

export const IRS_42 = checkOf({
  id: "IRS-42",
  severity: "deny",
  reason: "STS rejects an invalid external ID, so the role cannot be assumed.",
  fix: "use the external ID that the role's trust policy requires",
  example: `metadata: {annotations: {${EXTERNAL_ID_ANNOTATION}: 'no spaces here'}}`,
  at: [annotationPath(EXTERNAL_ID_ANNOTATION)],
  type: EXTERNAL_ID,
  // Does not quote the value, because an external ID is confidential.
  says: (_, fault) => `the external ID ${fault}`,
  eachFault: true,
  policySays: "the external ID is not valid",
});

const NONE: readonly never[] = [];

/** Returns the repair that writes the text with allowed characters only. */
function textRepairs(text: string, written: string, path: FieldPath): readonly Repair[] {
  const { min, max } = SESSION_NAME_LIMITS;
  const allowed = text.replaceAll(/[^\w+=,.@-]+/g, "-").slice(0, max);
  if (allowed.length < min || RESERVED_PREFIX.test(allowed)) return NONE;
  return allowed === written.trim() ? safely(set(path, allowed)) : by(set(path, allowed));
}

export const IRS_43 = checkOf({
  id: "IRS-43",
  severity: "deny",
  reason: "STS rejects an invalid session name, so the role cannot be assumed.",
  fix: "use 2 to 64 letters, digits or _+=,.@-, such as ack-team-a",
  example: `metadata: {annotations: {${SESSION_NAME_ANNOTATION}: 'team a'}}`,
  at: [annotationPath(SESSION_NAME_ANNOTATION)],
  type: SESSION_NAME,
  says: (value, fault) => `the session name ${value} ${fault}`,
  eachFault: true,
  policySays: "the session name is not valid",
  repairs: (value, path) => textRepairs(value.trim(), value, path),
});

export const IRS_44 = checkOf({
  id: "IRS-44",
  severity: "deny",
  reason: "STS rejects an invalid source identity, so the role cannot be assumed.",
  fix: "use 2 to 64 letters, digits or _+=,.@-, such as ack-team-a, without the prefix aws:",
  example: `metadata: {annotations: {${SOURCE_IDENTITY_ANNOTATION}: 'aws:ack'}}`,
  at: [annotationPath(SOURCE_IDENTITY_ANNOTATION)],
  type: SOURCE_IDENTITY,
  says: (value, fault) => `the source identity ${value} ${fault}`,
  eachFault: true,
  policySays: "the source identity is not valid",
  repairs: (value, path) => textRepairs(value.trim().replace(RESERVED_PREFIX, ""), value, path),
});

export const IRS_45: SelectorCheck = {
  id: "IRS-45",
  severity: "deny",
  reason: "STS rejects a session with invalid tags, so the role cannot be assumed. If a template leaves a tag empty, "
    + "an IAM policy that grants access by tag can grant access to the wrong sessions.",
  fix: "write KEY=VALUE,... with at most 50 distinct keys of 1 to 128 characters, and values of at most 256 characters",
  example: `metadata: {annotations: {${SESSION_TAGS_ANNOTATION}: 'team=a,Team=b,aws:owner=c'}}`,
  *find({ object, spec }): Iterable<Fault> {
    const text = annotationAt(object, SESSION_TAGS_ANNOTATION);
    if (text === null) return;
    const faults = tagFaults(text, spec);
    const repairs = faults.length === 0 ? NONE : tagRepairs(text, spec);
    for (const message of faults) yield { path: TAGS_PATH, message, repairs, fix: IRS_45.fix };
    yield* templateFaultsAt(TAGS_PATH, text, { names: tagTemplates(text), spec });
    if (needsNamespace(text, spec)) {
      yield { path: TAGS_PATH, message: NO_NAMESPACE, fix: NAMESPACE_FIX, severity: "warn" };
    }
  },
};

interface Templates {
  /** The templates in the text. */
  readonly names: readonly string[];
  readonly spec: SelectorSpec;
}

/** Returns the faults of the templates in the text of an annotation. */
export function* templateFaultsAt(path: FieldPath, text: string, { names, spec }: Templates): Iterable<Fault> {
  for (const { message, name, nearest } of templateFaults(names, spec)) {
    const texts = nearest.map((one) => text.replaceAll(`{${name}}`, `{${one}}`));
    const fix = nearest.length === 0 && { fix: TEMPLATE_FIX };
    yield { path, message, repairs: meant(path, texts), ...fix };
  }
}

/** Returns the repair that writes the tags which STS accepts, or else removes the annotation. */
function tagRepairs(text: string, spec: SelectorSpec): readonly Repair[] {
  const tags = validTags(text, spec);
  return by(tags === "" ? remove(TAGS_PATH) : set(TAGS_PATH, tags));
}

const TEMPLATE_FIX = "use {selector}, {account}, {group} or {namespace}; {kind} if resourceTypeSelector names exactly "
  + "one kind";
export const NO_NAMESPACE = "{namespace} has no value at /sts, so the sidecar rejects ACK controllers that serve "
  + "several namespaces";
export const NAMESPACE_FIX = "write a selector for each namespace, with one entry in names, unless all clients request "
  + "/v1/credentials/namespaces/NS or use --scope-namespace";

const SECONDS_PATH = annotationPath(DURATION_SECONDS_ANNOTATION);

/** Matches a duration such as `1h`, which STS does not accept. */
const DURATION = /^([0-9]{1,5}) ?(s|m|h)?$/;
const SECONDS = new Map([["h", 3600], ["m", 60]]);

/** Returns the repair that writes a duration as seconds, or else the limit that is near a number of seconds. */
function secondsRepairs(value: string, path: FieldPath): readonly Repair[] {
  const [, number, unit = "s"] = DURATION.exec(value.trim().toLowerCase()) ?? [];
  const seconds = number === undefined ? readDuration(value) : Number(number) * (SECONDS.get(unit) ?? 1);
  if (seconds === null) return NONE;
  const { min, max } = DURATION_LIMITS;
  const allowed = Math.min(Math.max(seconds, min), max);
  if (allowed === seconds) return safely(set(path, String(seconds)));
  const when = allowed === min ? "for the shortest session" : "for the longest session";
  return [{ when, edits: [set(path, String(allowed))] }];
}

export const IRS_46 = checkOf({
  id: "IRS-46",
  severity: "deny",
  reason: "STS rejects a session duration outside its limits, so the role cannot be assumed. Above 1 hour, the check "
    + "only warns: the sidecar's own identity is nearly always a session, and a session that is created from another "
    + "session lasts at most 1 hour.",
  fix: `use a number of seconds from ${DURATION_LIMITS.min} to ${DURATION_LIMITS.max}, in quotes`,
  example: `metadata: {annotations: {${DURATION_SECONDS_ANNOTATION}: 1h}}`,
  at: [annotationPath(DURATION_SECONDS_ANNOTATION)],
  type: SESSION_SECONDS,
  says: (value, faults) => `${value} ${faults}`,
  policySays: "the duration is not valid",
  repairs: secondsRepairs,
}, function* chainedFaults(text) {
  if (Number(text) <= MAX_CHAINED_SECONDS) return;
  const message = `${Number(text)} s exceeds the ${MAX_CHAINED_SECONDS} s limit for chained sessions`;
  const when = "unless the sidecar runs with a long-lived access key";
  const edits = [set(SECONDS_PATH, String(MAX_CHAINED_SECONDS))];
  yield { message, repairs: [{ when, edits }], severity: "warn" };
});

export const IRS_47: SelectorCheck = {
  id: "IRS-47",
  severity: "deny",
  reason: "An unknown annotation has no effect. "
    + "If an annotation key is misspelled, the role is assumed without the intended setting. It denies only what may "
    + "be meant to limit the sessions.",
  fix: "correct the key, or remove the annotation",
  example: `metadata: {annotations: {${RESOLVER_PREFIX}sessionScope: 'service'}}`,
  *find({ object }): Iterable<Fault> {
    for (const key of stringMap(field(field(object, "metadata"), "annotations")).keys()) {
      if (!key.startsWith(RESOLVER_PREFIX) || SELECTOR_ANNOTATIONS.has(key)) continue;
      const message = "IAMRoleSelectors do not support this annotation";
      const isLimit = SHORT_NAMES.guesses(shortName(key)).some((name) => LIMITS.has(RESOLVER_PREFIX + name));
      yield { path: annotationPath(key), message, ...keyRepairs(object, key), ...(!isLimit && { severity: "warn" }) };
    }
  },
};

/** Without these, the sessions of a role may do all that the role may. */
const LIMITS: ReadonlySet<string> = new Set([
  SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION, SESSION_SCOPE_ANNOTATION,
]);
const SHORT_NAMES = new NameIndex(Array.from(SELECTOR_ANNOTATIONS, shortName));

/** Returns the repair that gives the annotation the key that is probably meant, or else removes it. */
function keyRepairs(object: JsonObject, key: string): Pick<Fault, "repairs" | "fix"> {
  const path = annotationPath(key);
  const [name, ...others] = SHORT_NAMES.guesses(shortName(key));
  if (name === undefined) return { repairs: by(remove(path)), fix: IRS_47.fix };
  const right = RESOLVER_PREFIX + name;
  // An edit contains the value, and an external ID is confidential.
  if (right === EXTERNAL_ID_ANNOTATION || annotationAt(object, right) !== null) {
    return { fix: `use ${right} if that was meant, or remove the annotation` };
  }
  const edits = rename(path, { key: right }, annotationAt(object, key));
  const isSafe = others.length === 0 && SHORT_NAMES.misspelled(shortName(key)).length > 0;
  return { repairs: isSafe ? safely(...edits) : by(...edits) };
}
