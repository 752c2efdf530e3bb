import type { CheckEntry } from "../../shared/checks/check.ts";
import { ACK_02 } from "../../shared/checks/forged-annotations.ts";
import { ACK_12, ADOPT, POLICIES } from "../../shared/checks/resource-adoption.ts";
import { ACK_10, ACK_11 } from "../../shared/checks/resource-annotations.ts";
import { DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN } from "../../shared/checks/resource-deletion.ts";
import { ACK_10B } from "../../shared/checks/resource-drift.ts";
import { AC_08, ACK_35 } from "../../shared/checks/size-limits.ts";
import {
  ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION, DELETION_POLICY_ANNOTATION, REGION_ANNOTATION,
} from "../../shared/contract/annotation-keys.ts";
import { LIMITS } from "../../shared/contract/limits.ts";
import { REGION } from "../../shared/formats/arn.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING } from "../conditions.ts";
import { ackResources, CLUSTERS, CREATE_AND_UPDATE, exceptNamespaces } from "../webhook-rules.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { fieldVariables, read, regexp, text, texts, unlessStored } from "./cel.ts";
import type { Policy, PolicyCheck, PolicySettings } from "./policy.ts";
import { exemption, isCAPA, isController, WAIVERS, waiverVariables } from "./requester.ts";
import { OF_CLUSTERS, OF_RESOURCES, resolutionCheck } from "./resolution.ts";

/**
 * Returns the policy for the annotations of objects that refer to CAPA identities. Exempts CAPA itself from
 * all checks except WAIVER-01.
 */
export function clusterPolicy(settings: PolicySettings, { namespace }: Pick<WebhookOptions, "namespace">): Policy {
  const { variable, unlessExempt } = exemption(isCAPA(settings));
  return {
    name: "clusters",
    match: {
      matchPolicy: "Equivalent",
      namespaceSelector: exceptNamespaces(["kube-system", namespace]),
      resourceRules: CLUSTERS,
    },
    conditions: [CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      variable,
      ...fieldVariables("annotations", "metadata.annotations", "{}"),
      ...fieldVariables("labels", "metadata.labels", "{}"),
      ...waiverVariables(settings),
    ],
    checks: [...[resolutionCheck(ACK_02, OF_CLUSTERS), metadataLimitCheck(AC_08)].map(unlessExempt), WAIVERS],
  };
}

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

const ANNOTATION_CHECKS: readonly PolicyCheck[] = [
  resolutionCheck(ACK_02, OF_RESOURCES),
  valueCheck(ACK_10, REGION_ANNOTATION, "the value is not a region", (value) => (
    `${value}.matches(${regexp(REGION)})`
  )),
  REGION_DRIFT,
  valueCheck(ACK_11, DELETION_POLICY_ANNOTATION, "the value is neither delete nor retain", (value) => (
    `${value} in ${texts([DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN])}`
  )),
  adoptionCheck(),
  metadataLimitCheck(ACK_35),
];

/** Returns the policy for ACK resources. Exempts ACK controllers from all checks except WAIVER-01. */
export function resourcePolicy(
  settings: PolicySettings, options: Pick<WebhookOptions, "namespace" | "extraGroups">,
): Policy {
  const { variable, unlessExempt } = exemption(isController(settings));
  return {
    name: "resources",
    match: {
      matchPolicy: "Equivalent",
      namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
      resourceRules: [ackResources(options.extraGroups, CREATE_AND_UPDATE)],
    },
    conditions: [CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      variable,
      ...fieldVariables("annotations", "metadata.annotations", "{}"),
      ...fieldVariables("labels", "metadata.labels", "{}"),
      { name: "region", expression: `${ANNOTATIONS}[?${REGION_KEY}].orValue("")` },
      { name: "oldRegion", expression: `${OLD}[?${REGION_KEY}].orValue("")` },
      ...fieldVariables("statusRegion", "status.ackResourceMetadata.region", '""'),
      ...waiverVariables(settings),
    ],
    checks: [...ANNOTATION_CHECKS.map(unlessExempt), WAIVERS],
  };
}
