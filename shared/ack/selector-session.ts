import {
  DURATION_SECONDS_ANNOTATION, EXTERNAL_ID_ANNOTATION, RESOLVER_PREFIX, SELECTOR_ANNOTATIONS, SESSION_NAME_ANNOTATION,
  SESSION_TAGS_ANNOTATION, SOURCE_IDENTITY_ANNOTATION,
} from "../core/annotation-keys.ts";
import { annotationPath, field, stringMap } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { closest } from "../formats/nearest.ts";
import { needsNamespace, shortName, tagFaults, templateFaults } from "../core/session-annotations.ts";
import { DURATION_LIMITS, MAX_CHAINED_SECONDS } from "../core/session.ts";
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
    for (const message of tagFaults(text, spec)) yield { path: TAGS_PATH, message };
    for (const { message, meant } of templateFaults(text, spec)) {
      yield { path: TAGS_PATH, message, fix: meant === null ? TEMPLATE_FIX : `use {${meant}} if that was meant` };
    }
    if (needsNamespace(text, spec)) {
      const message = "{namespace} has no value at /sts, so the sidecar rejects ACK controllers that serve several "
        + "namespaces";
      yield { path: TAGS_PATH, message, fix: NAMESPACE_FIX, severity: "warn" };
    }
  },
};

const TEMPLATE_FIX = "use {selector}, {account}, {group} or {namespace}; {kind} if resourceTypeSelector names exactly "
  + "one kind";
const NAMESPACE_FIX = "write a selector for each namespace, with one entry in names, unless all clients request "
  + "/v1/credentials/namespaces/NS or use --scope-namespace";

const CHAINED_FIX = `use at most ${MAX_CHAINED_SECONDS}, unless the sidecar runs with a long-lived access key`;

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
}, function* chainedFaults(text) {
  if (Number(text) <= MAX_CHAINED_SECONDS) return;
  const message = `${Number(text)} s exceeds the ${MAX_CHAINED_SECONDS} s limit for chained sessions`;
  yield { message, fix: CHAINED_FIX, severity: "warn" };
});

export const IRS_47: SelectorCheck = {
  id: "IRS-47",
  severity: "warn",
  reason: "An unknown annotation has no effect. "
    + "If an annotation key is misspelled, the role is assumed without the intended setting.",
  fix: "correct the key, or remove the annotation",
  example: `metadata: {annotations: {${RESOLVER_PREFIX}externalid: 'X'}}`,
  when: ({ object }) => field(field(object, "metadata"), "annotations") !== undefined,
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
