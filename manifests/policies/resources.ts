import {
  ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION, DELETION_POLICY_ANNOTATION, REGION_ANNOTATION,
  RESOLUTION_KEYS, RESOLVER_PREFIX,
} from "../../shared/decisions/annotation-keys.ts";
import type { CheckEntry } from "../../shared/decisions/checks/check.ts";
import { ACK_35 } from "../../shared/decisions/checks/limits.ts";
import { ACK_12, ADOPT, POLICIES } from "../../shared/decisions/checks/resources/adoption.ts";
import { ACK_02, ACK_10, ACK_11 } from "../../shared/decisions/checks/resources/annotations.ts";
import { DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN } from "../../shared/decisions/checks/resources/deletion.ts";
import { ACK_10B } from "../../shared/decisions/checks/resources/drift.ts";
import { annotationPath, formatFieldPath } from "../../shared/decisions/kubernetes/field-path.ts";
import { REGION } from "../../shared/decisions/kubernetes/arn.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import { MAX_REASON_LENGTH } from "../../shared/decisions/resolution/annotations.ts";
import { type Outcome, OUTCOMES } from "../../shared/decisions/resolution/selection.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING } from "../conditions.ts";
import { ackResources, exceptNamespaces, type WebhookOptions } from "../webhooks.ts";
import { fieldVariables, not, read, regexp, text, texts, unlessStored } from "./cel.ts";
import type { Policy, PolicyCheck, PolicySettings } from "./policy.ts";
import { exceptControllers, waiverVariables, WAIVERS } from "./requester.ts";

const ANNOTATIONS = read("annotations");
const OLD = read("annotations", "old");

/** Denies a value of an annotation that is not valid, unless the stored object has the same value. */
export function valueCheck(
  check: CheckEntry, annotation: string, message: string, isValid: (value: string) => string,
): PolicyCheck {
  const key = text(annotation);
  const isKept = `${key} in ${OLD} && ${OLD}[${key}] == ${ANNOTATIONS}[${key}]`;
  return {
    check,
    admits: `!(${key} in ${ANNOTATIONS}) || ${isKept} || ${isValid(`${ANNOTATIONS}[${key}]`)}`,
    path: formatFieldPath(annotationPath(annotation)),
    message,
  };
}

/** Denies more labels or annotations than the limit of reviewed objects. */
export function metadataLimitCheck(check: CheckEntry): PolicyCheck {
  const limit = LIMITS.metadataEntries.value;
  return {
    check,
    admits: `size(${read("labels")}) <= ${limit} && size(${ANNOTATIONS}) <= ${limit}`,
    path: "metadata",
    message: `the object has more than ${limit} labels or more than ${limit} annotations`,
  };
}

const REGION_KEY = text(REGION_ANNOTATION);

/** Denies a new value of the region annotation that is not the region in the stored status. */
const REGION_DRIFT: PolicyCheck = {
  check: ACK_10B,
  admits: 'oldObject == null || variables.region == "" || variables.region == variables.oldRegion || '
    + 'variables.oldStatusRegion == "" || variables.region == variables.oldStatusRegion',
  path: formatFieldPath(annotationPath(REGION_ANNOTATION)),
  message: "the region is not the region in which the resource exists",
};

function adoptionCheck(): PolicyCheck {
  const policy = text(ADOPTION_POLICY_ANNOTATION);
  const hasFields = (annotations: string): string => (
    `${annotations}[?${policy}].orValue("") != ${text(ADOPT)} || `
      + `${annotations}[?${text(ADOPTION_FIELDS_ANNOTATION)}].orValue("") != ""`
  );
  const known = valueCheck(ACK_12, ADOPTION_POLICY_ANNOTATION, "", (value) => `${value} in ${texts(POLICIES)}`);
  return {
    ...known,
    admits: `(${known.admits}) && (${unlessStored((state) => hasFields(read("annotations", state)))})`,
    message: "the value is not an adoption policy, or the policy adopt has no adoption fields",
  };
}

/** Returns the annotation of a resolution as a CEL string. */
function resolved(name: string): string {
  return text(RESOLVER_PREFIX + name);
}

/**
 * Denies annotations of a resolution that the webhook never writes together. A policy reads the annotations after the
 * webhook wrote them, so it cannot tell other annotations of a user from those of the webhook.
 */
function resolutionCheck(): PolicyCheck {
  const has = (name: string): string => `${resolved(name)} in ${ANNOTATIONS}`;
  const outcomes = (...names: readonly Outcome[]): string => (
    `${ANNOTATIONS}[${resolved("outcome")}] in ${texts(names)}`
  );
  const isUnchanged = `${texts(RESOLUTION_KEYS)}.all(key, (key in ${ANNOTATIONS}) == (key in ${OLD}) && `
    + `(!(key in ${ANNOTATIONS}) || ${ANNOTATIONS}[key] == ${OLD}[key]))`;
  const isConsistent = [
    `${has("outcome")} && ${outcomes(...OUTCOMES)}`,
    `${has("reason")} && size(${ANNOTATIONS}[${resolved("reason")}]) <= ${MAX_REASON_LENGTH}`,
    `(!(${has("role-arn")}) || ${outcomes("selected", "default")} && `
      + `${ANNOTATIONS}[${resolved("role-arn")}].startsWith("arn:"))`,
    `(!(${has("selector")}) || ${outcomes("selected")})`,
    `(!(${has("selector-resource-version")}) || ${has("selector")})`,
    `(${has("conflicting-selectors")}) == (${outcomes("conflict")})`,
  ].join(" && ");
  return {
    // The webhook only warns, because it replaces the annotations. The policy denies what nothing would replace.
    check: { ...ACK_02, severity: "deny" },
    admits: `${isUnchanged} || ${not(`${texts(RESOLUTION_KEYS)}.exists(key, key in ${ANNOTATIONS})`)} || `
      + isConsistent,
    path: "metadata.annotations",
    message: `the annotations ${RESOLVER_PREFIX}* contradict each other; only the webhook writes these annotations`,
    fix: "remove these annotations; the webhook sets the resolved values",
  };
}

/** Returns the policy for ACK resources. */
export function resourcePolicy(
  settings: PolicySettings, options: Pick<WebhookOptions, "namespace" | "extraGroups">,
): Policy {
  return {
    name: "resources",
    match: {
      matchPolicy: "Equivalent",
      namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
      resourceRules: [ackResources(options.extraGroups, ["CREATE", "UPDATE"])],
    },
    conditions: [CHANGES_MORE_THAN_BOOKKEEPING, exceptControllers(settings)],
    variables: [
      ...fieldVariables("annotations", "metadata.annotations", "{}"),
      ...fieldVariables("labels", "metadata.labels", "{}"),
      { name: "region", expression: `${ANNOTATIONS}[?${REGION_KEY}].orValue("")` },
      { name: "oldRegion", expression: `${OLD}[?${REGION_KEY}].orValue("")` },
      ...fieldVariables("statusRegion", "status.ackResourceMetadata.region", '""'),
      ...waiverVariables(settings),
    ],
    checks: [
      resolutionCheck(),
      valueCheck(ACK_10, REGION_ANNOTATION, "the value is not a region", (value) => (
        `${value}.matches(${regexp(REGION)})`
      )),
      REGION_DRIFT,
      valueCheck(ACK_11, DELETION_POLICY_ANNOTATION, "the value is neither delete nor retain", (value) => (
        `${value} in ${texts([DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN])}`
      )),
      adoptionCheck(),
      metadataLimitCheck(ACK_35),
      WAIVERS,
    ],
  };
}
