import {
  DURATION_SECONDS_ANNOTATION, EXTERNAL_ID_ANNOTATION, RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SESSION_NAME_ANNOTATION,
  SESSION_TAGS_ANNOTATION, SOURCE_IDENTITY_ANNOTATION,
} from "../../annotation-keys.ts";
import { annotationPath, type FieldPath } from "../../kubernetes/field-path.ts";
import { field, type JsonObject, stringMap } from "../../kubernetes/json.ts";
import { closest, quote } from "../../kubernetes/text.ts";
import {
  annotationOf, readDuration, shortName, tagFaults, templateFaults, textFaults,
} from "../../selectors/session-annotations.ts";
import {
  CHAINED_SECONDS, DURATION_LIMITS, EXTERNAL_ID_LIMITS, SESSION_NAME_LIMITS, type TextLimits,
} from "../../selectors/session.ts";
import type { Fault, SelectorCheck } from "../check.ts";

const TAGS_PATH = annotationPath(SESSION_TAGS_ANNOTATION);
const DURATION_PATH = annotationPath(DURATION_SECONDS_ANNOTATION);

export const IRS_41: SelectorCheck = {
  id: "IRS-41",
  severity: "deny",
  waivable: false,
  reason: "A session tag that tells nothing, or something else than was meant, opens what a policy grants by tag to the wrong ones.",
  fix: "use {selector}, {account} or {group}; {namespace} where names has exactly one entry, {kind} where resourceTypeSelector names one kind",
  example: `metadata: {annotations: {${SESSION_TAGS_ANNOTATION}: 'team={namespace}'}} # with two namespaces in names`,
  *find({ object, spec }): Iterable<Fault> {
    for (const { message, meant } of templateFaults(annotationOf(object, SESSION_TAGS_ANNOTATION) ?? "", spec)) {
      yield { path: TAGS_PATH, message, ...(meant !== null && { fix: `write {${meant}}, if that was meant` }) };
    }
  },
};

/** The value is not repeated: whoever knows an external ID may be taken for its owner. */
export const IRS_42: SelectorCheck = {
  id: "IRS-42",
  severity: "deny",
  waivable: false,
  reason: "STS refuses an external ID outside its limits, so no session of the role could be had.",
  fix: "write the external ID that the role's trust policy asks for",
  example: `metadata: {annotations: {${EXTERNAL_ID_ANNOTATION}: 'no spaces here'}}`,
  *find({ object }): Iterable<Fault> {
    for (const fault of faultsOf(object, EXTERNAL_ID_ANNOTATION, EXTERNAL_ID_LIMITS)) yield { path: annotationPath(EXTERNAL_ID_ANNOTATION), message: `the external ID ${fault}` };
  },
};

function faultsOf(object: JsonObject, annotation: string, limits: TextLimits): string[] {
  const text = annotationOf(object, annotation);
  return text === null ? [] : textFaults(text, limits);
}

export const IRS_43: SelectorCheck = {
  id: "IRS-43",
  severity: "deny",
  waivable: false,
  reason: "STS refuses a session name outside its limits, so no session of the role could be had.",
  fix: "write 2 to 64 letters, digits or _+=,.@-, such as ack-team-a",
  example: `metadata: {annotations: {${SESSION_NAME_ANNOTATION}: 'team a'}}`,
  *find({ object }): Iterable<Fault> {
    yield* namedFaults(object, SESSION_NAME_ANNOTATION);
  },
};

export const IRS_44: SelectorCheck = {
  id: "IRS-44",
  severity: "deny",
  waivable: false,
  reason: "STS refuses a source identity outside its limits, so no session of the role could be had.",
  fix: "write 2 to 64 letters, digits or _+=,.@-, such as ack-team-a, not starting with aws:",
  example: `metadata: {annotations: {${SOURCE_IDENTITY_ANNOTATION}: 'aws:ack'}}`,
  *find({ object }): Iterable<Fault> {
    yield* namedFaults(object, SOURCE_IDENTITY_ANNOTATION);
    if (/^aws:/i.test(annotationOf(object, SOURCE_IDENTITY_ANNOTATION) ?? "")) {
      yield { path: annotationPath(SOURCE_IDENTITY_ANNOTATION), message: "the source identity starts with aws:, which is kept for AWS" };
    }
  },
};

function* namedFaults(object: JsonObject, annotation: string): Iterable<Fault> {
  const path: FieldPath = annotationPath(annotation);
  const text = annotationOf(object, annotation) ?? "";
  for (const fault of faultsOf(object, annotation, SESSION_NAME_LIMITS)) yield { path, message: `the ${shortName(annotation).replace("-", " ")} ${quote(text)} ${fault}` };
}

export const IRS_45: SelectorCheck = {
  id: "IRS-45",
  severity: "deny",
  waivable: false,
  reason: "STS refuses a session whose tags break its limits, so no session of the role could be had.",
  fix: "write KEY=VALUE,... with at most 50 different keys of 1 to 128 characters, and values of at most 256",
  example: `metadata: {annotations: {${SESSION_TAGS_ANNOTATION}: 'team=a,Team=b,aws:owner=c'}}`,
  *find({ object, spec }): Iterable<Fault> {
    const text = annotationOf(object, SESSION_TAGS_ANNOTATION);
    if (text !== null) for (const message of tagFaults(text, spec)) yield { path: TAGS_PATH, message };
  },
};

export const IRS_46: SelectorCheck = {
  id: "IRS-46",
  severity: "deny",
  waivable: false,
  reason: "STS refuses a session of another duration, so no session of the role could be had.",
  fix: `write a number of seconds from ${DURATION_LIMITS.least} to ${DURATION_LIMITS.most}, in quotes`,
  example: `metadata: {annotations: {${DURATION_SECONDS_ANNOTATION}: 1h}}`,
  *find({ object }): Iterable<Fault> {
    const text = annotationOf(object, DURATION_SECONDS_ANNOTATION);
    if (text === null) return;
    const seconds = readDuration(text);
    if (seconds === null) yield { path: DURATION_PATH, message: `${quote(text)} is not a number of seconds` };
    else if (seconds < DURATION_LIMITS.least || seconds > DURATION_LIMITS.most) yield { path: DURATION_PATH, message: `${text} s is not within ${DURATION_LIMITS.least} to ${DURATION_LIMITS.most} s` };
  },
};

export const IRS_46B: SelectorCheck = {
  id: "IRS-46b",
  severity: "warn",
  waivable: false,
  reason: "A session that is made from another session lasts an hour at most, and the sidecar's own identity is one nearly everywhere: the sidecar then asks for an hour.",
  fix: `write at most ${CHAINED_SECONDS}, unless the sidecar runs with a long-lived key`,
  example: `metadata: {annotations: {${DURATION_SECONDS_ANNOTATION}: '7200'}}`,
  *find({ object }): Iterable<Fault> {
    const seconds = readDuration(annotationOf(object, DURATION_SECONDS_ANNOTATION) ?? "");
    if (seconds === null || seconds <= CHAINED_SECONDS || seconds > DURATION_LIMITS.most) return;
    yield { path: DURATION_PATH, message: `${seconds} s is more than the ${CHAINED_SECONDS} s that a session which is made from another one may last` };
  },
};

export const IRS_47: SelectorCheck = {
  id: "IRS-47",
  severity: "warn",
  waivable: false,
  reason: "An annotation that nothing reads does nothing: with a typo in its key the role is assumed without what was asked for.",
  fix: "correct its key, or leave it out",
  example: `metadata: {annotations: {${RESOLVER_PREFIX}externalid: 'X'}}`,
  *find({ object }): Iterable<Fault> {
    for (const key of stringMap(field(field(object, "metadata"), "annotations")).keys()) {
      if (!key.startsWith(RESOLVER_PREFIX) || SELECTOR_ANNOTATIONS.has(key)) continue;
      const meant = closest(shortName(key), Array.from(SELECTOR_ANNOTATIONS, shortName));
      const fix = meant === null ? {} : { fix: `write ${RESOLVER_PREFIX}${meant}, if that was meant, or leave it out` };
      yield { path: annotationPath(key), message: "nothing reads such an annotation of an IAMRoleSelector", ...fix };
    }
  },
};
