import {
  DURATION_SECONDS_ANNOTATION, EXTERNAL_ID_ANNOTATION, RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SESSION_NAME_ANNOTATION,
  SESSION_TAGS_ANNOTATION, SOURCE_IDENTITY_ANNOTATION,
} from "../contract/annotation-keys.ts";
import { annotationPath, field, type JsonObject, stringMap } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { closest, quote } from "../formats/text.ts";
import {
  readDuration, shortName, tagFaults, templateFaults, textFaults,
} from "../model/session-annotations.ts";
import {
  DURATION_LIMITS, EXTERNAL_ID_LIMITS, MAX_CHAINED_SECONDS, SESSION_NAME_LIMITS, type TextLimits,
} from "../model/session.ts";
import type { Fault, SelectorCheck } from "./check.ts";

const TAGS_PATH = annotationPath(SESSION_TAGS_ANNOTATION);
const DURATION_PATH = annotationPath(DURATION_SECONDS_ANNOTATION);

export const IRS_41: SelectorCheck = {
  id: "IRS-41",
  severity: "deny",
  waivable: false,
  reason: "If a session tag has an empty or wrong value, an IAM policy that grants access by tag can grant access to "
    + "the wrong sessions.",
  fix: "use {selector}, {account} or {group}; {namespace} if names has exactly one entry; "
    + "{kind} if resourceTypeSelector names exactly one kind",
  example: `metadata: {annotations: {${SESSION_TAGS_ANNOTATION}: 'team={namespace}'}} # with two namespaces in names`,
  *find({ object, spec }): Iterable<Fault> {
    for (const { message, meant } of templateFaults(annotationAt(object, SESSION_TAGS_ANNOTATION) ?? "", spec)) {
      yield { path: TAGS_PATH, message, ...(meant !== null && { fix: `use {${meant}} if that was meant` }) };
    }
  },
};

/** The message does not quote the value, because an external ID is confidential. */
export const IRS_42: SelectorCheck = {
  id: "IRS-42",
  severity: "deny",
  waivable: false,
  reason: "STS rejects an invalid external ID, so the role cannot be assumed.",
  fix: "use the external ID that the role's trust policy requires",
  example: `metadata: {annotations: {${EXTERNAL_ID_ANNOTATION}: 'no spaces here'}}`,
  *find({ object }): Iterable<Fault> {
    for (const fault of limitFaults(object, EXTERNAL_ID_ANNOTATION, EXTERNAL_ID_LIMITS)) {
      yield { path: annotationPath(EXTERNAL_ID_ANNOTATION), message: `the external ID ${fault}` };
    }
  },
};

function limitFaults(object: JsonObject, annotation: string, limits: TextLimits): string[] {
  const text = annotationAt(object, annotation);
  return text === null ? [] : textFaults(text, limits);
}

export const IRS_43: SelectorCheck = {
  id: "IRS-43",
  severity: "deny",
  waivable: false,
  reason: "STS rejects an invalid session name, so the role cannot be assumed.",
  fix: "use 2 to 64 letters, digits or _+=,.@-, such as ack-team-a",
  example: `metadata: {annotations: {${SESSION_NAME_ANNOTATION}: 'team a'}}`,
  *find({ object }): Iterable<Fault> {
    yield* nameFaults(object, SESSION_NAME_ANNOTATION);
  },
};

export const IRS_44: SelectorCheck = {
  id: "IRS-44",
  severity: "deny",
  waivable: false,
  reason: "STS rejects an invalid source identity, so the role cannot be assumed.",
  fix: "use 2 to 64 letters, digits or _+=,.@-, such as ack-team-a, without the prefix aws:",
  example: `metadata: {annotations: {${SOURCE_IDENTITY_ANNOTATION}: 'aws:ack'}}`,
  *find({ object }): Iterable<Fault> {
    yield* nameFaults(object, SOURCE_IDENTITY_ANNOTATION);
    if (!/^aws:/i.test(annotationAt(object, SOURCE_IDENTITY_ANNOTATION) ?? "")) return;
    const message = "the source identity starts with aws:, which is reserved for AWS";
    yield { path: annotationPath(SOURCE_IDENTITY_ANNOTATION), message };
  },
};

/** Yields the faults of a session name or a source identity, which have the same limits. */
function* nameFaults(object: JsonObject, annotation: string): Iterable<Fault> {
  const text = annotationAt(object, annotation) ?? "";
  const noun = shortName(annotation).replace("-", " ");
  for (const fault of limitFaults(object, annotation, SESSION_NAME_LIMITS)) {
    yield { path: annotationPath(annotation), message: `the ${noun} ${quote(text)} ${fault}` };
  }
}

export const IRS_45: SelectorCheck = {
  id: "IRS-45",
  severity: "deny",
  waivable: false,
  reason: "STS rejects a session with invalid tags, so the role cannot be assumed.",
  fix: "write KEY=VALUE,... with at most 50 distinct keys of 1 to 128 characters, and values of at most 256 characters",
  example: `metadata: {annotations: {${SESSION_TAGS_ANNOTATION}: 'team=a,Team=b,aws:owner=c'}}`,
  *find({ object, spec }): Iterable<Fault> {
    const text = annotationAt(object, SESSION_TAGS_ANNOTATION);
    if (text !== null) for (const message of tagFaults(text, spec)) yield { path: TAGS_PATH, message };
  },
};

const CHAINED_FIX = `use at most ${MAX_CHAINED_SECONDS}, unless the sidecar runs with a long-lived access key`;

export const IRS_46: SelectorCheck = {
  id: "IRS-46",
  severity: "deny",
  waivable: false,
  reason: "STS rejects a session duration outside its limits, so the role cannot be assumed. Above 1 hour, the check "
    + "only warns: the sidecar's own identity is nearly always a session, and a session that is created from another "
    + "session lasts at most 1 hour.",
  fix: `use a number of seconds from ${DURATION_LIMITS.min} to ${DURATION_LIMITS.max}, in quotes`,
  example: `metadata: {annotations: {${DURATION_SECONDS_ANNOTATION}: 1h}}`,
  *find({ object }): Iterable<Fault> {
    const text = annotationAt(object, DURATION_SECONDS_ANNOTATION);
    if (text === null) return;
    const seconds = readDuration(text);
    const { min, max } = DURATION_LIMITS;
    if (seconds === null) yield { path: DURATION_PATH, message: `${quote(text)} is not a number of seconds` };
    else if (seconds < min || seconds > max) {
      yield { path: DURATION_PATH, message: `${text} s is outside the limits of ${min} to ${max} s` };
    } else if (seconds > MAX_CHAINED_SECONDS) {
      const message = `${seconds} s exceeds the ${MAX_CHAINED_SECONDS} s limit for chained sessions`;
      yield { path: DURATION_PATH, message, fix: CHAINED_FIX, severity: "warn" };
    }
  },
};

export const IRS_47: SelectorCheck = {
  id: "IRS-47",
  severity: "warn",
  waivable: false,
  reason: "An unknown annotation has no effect. "
    + "If an annotation key is misspelled, the role is assumed without the intended setting.",
  fix: "correct the key, or remove the annotation",
  example: `metadata: {annotations: {${RESOLVER_PREFIX}externalid: 'X'}}`,
  *find({ object }): Iterable<Fault> {
    for (const key of stringMap(field(field(object, "metadata"), "annotations")).keys()) {
      if (!key.startsWith(RESOLVER_PREFIX) || SELECTOR_ANNOTATIONS.has(key)) continue;
      const meant = closest(shortName(key), Array.from(SELECTOR_ANNOTATIONS, shortName));
      const fix =
        meant === null ? {} : { fix: `use ${RESOLVER_PREFIX}${meant} if that was meant, or remove the annotation` };
      yield { path: annotationPath(key), message: "IAMRoleSelectors do not support this annotation", ...fix };
    }
  },
};
