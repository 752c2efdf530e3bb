import type { SizeLimit } from "../../shared/core/kind.ts";
import { RESOURCE } from "../../shared/ack/kinds.ts";
import { type Outcome, OUTCOMES } from "../../shared/core/resolution.ts";
import {
  exemption, isController, METADATA, type Policy, type PolicyCheck, policyCheckOf, type PolicyLists, WAIVERS,
  waiverVariables,
} from "./policy.ts";
import type { CheckEntry } from "../../shared/core/check.ts";
import { ACK_12, ADOPT, POLICIES } from "../../shared/ack/resource-adoption.ts";
import { ACK_02, ACK_10, ACK_11 } from "../../shared/ack/resource-annotations.ts";
import { ACK_10B } from "../../shared/ack/resource-drift.ts";
import { limitCheck } from "../../shared/core/size-limits.ts";
import {
  ADOPTION_FIELDS_ANNOTATION, ADOPTION_POLICY_ANNOTATION, REGION_ANNOTATION, RESOLUTION_KEYS, RESOLVER_PREFIX,
} from "../../shared/core/annotation-keys.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { MAX_REASON_LENGTH } from "../../shared/core/resolution-annotations.ts";
import { CREATE_AND_UPDATE, rulesOf, type WebhookOptions } from "../webhooks.ts";
import { fieldVariables, not, read, text, texts, unlessStored } from "../../shared/formats/cel.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING } from "../../shared/core/conditions.ts";

// The annotations of a resolution, after the webhook wrote them. A policy cannot tell other annotations of a user from
// those of the webhook, so it denies only annotations that the webhook never writes together.

const ANNOTATIONS = read("annotations");
const OLD = read("annotations", "old");

/** Returns an expression: the value of an annotation. */
export function valueOf(name: string): string {
  return `${ANNOTATIONS}[${text(RESOLVER_PREFIX + name)}]`;
}

export function has(name: string): string {
  return `${text(RESOLVER_PREFIX + name)} in ${ANNOTATIONS}`;
}

/** Returns an expression: the annotations do not contain the name, or the condition is true. */
export function ifPresent(name: string, condition: string): string {
  return `(!(${has(name)}) || ${condition})`;
}

export function outcomes(...names: readonly Outcome[]): string {
  return `${valueOf("outcome")} in ${texts(names)}`;
}

export const HAS_REASON = `${has("reason")} && size(${valueOf("reason")}) <= ${MAX_REASON_LENGTH}`;

/** The conditions that the annotations of an ACK resource meet. */
export const OF_RESOURCES: readonly string[] = [
  `${has("outcome")} && ${outcomes(...OUTCOMES)}`,
  HAS_REASON,
  ifPresent("role-arn", `${outcomes("selected", "default")} && ${valueOf("role-arn")}.startsWith("arn:")`),
  ifPresent("selector", outcomes("selected")),
  ifPresent("selector-resource-version", has("selector")),
  `(${has("conflicting-selectors")}) == (${outcomes("conflict")})`,
  not(has("identity-chain")),
];

/** Returns the check that denies annotations of a resolution that do not meet the conditions. */
export function resolutionCheck(check: CheckEntry, conditions: readonly string[]): PolicyCheck {
  const isUnchanged = `${texts(RESOLUTION_KEYS)}.all(key, (key in ${ANNOTATIONS}) == (key in ${OLD}) && `
    + `(!(key in ${ANNOTATIONS}) || ${ANNOTATIONS}[key] == ${OLD}[key]))`;
  return {
    // The webhook only warns, because it replaces the annotations. The policy denies what nothing would replace.
    check: { ...check, severity: "deny" },
    admits: `${isUnchanged} || ${not(`${texts(RESOLUTION_KEYS)}.exists(key, key in ${ANNOTATIONS})`)} || `
      + conditions.join(" && "),
    path: "metadata.annotations",
    message: `the annotations ${RESOLVER_PREFIX}* contradict each other; only the webhook writes these annotations`,
    fix: "remove these annotations; the webhook sets the resolved values",
  };
}

/** Denies more labels or annotations than the limit of reviewed objects. */
export function metadataLimitCheck({ limit: ofKind }: { readonly limit: SizeLimit }): PolicyCheck {
  const limit = LIMITS.metadataEntries.value;
  return {
    check: limitCheck(ofKind),
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
  const [value, old] = [ANNOTATIONS, OLD].map((annotations) => `${annotations}[?${policy}]`);
  const isKnown = `!${value}.hasValue() || ${value} == ${old} || ${value}.value() in ${texts(POLICIES)}`;
  return {
    check: ACK_12,
    path: formatFieldPath(annotationPath(ADOPTION_POLICY_ANNOTATION)),
    admits: `(${isKnown}) && (${unlessStored((state) => hasFields(read("annotations", state)))})`,
    message: "the value is not an adoption policy, or the policy adopt has no adoption fields",
  };
}

const ANNOTATION_CHECKS: readonly PolicyCheck[] = [
  resolutionCheck(ACK_02, OF_RESOURCES),
  policyCheckOf(ACK_10),
  REGION_DRIFT,
  policyCheckOf(ACK_11),
  adoptionCheck(),
  metadataLimitCheck(RESOURCE),
];

/** Returns the policy for ACK resources. Exempts ACK controllers from all checks except WAIVER-01. */
export function resourcePolicy(lists: PolicyLists, { ackGroups }: Pick<WebhookOptions, "ackGroups">): Policy {
  const { variable, unlessExempt } = exemption(isController(lists));
  return {
    name: "resources",
    rules: rulesOf(RESOURCE, CREATE_AND_UPDATE, ackGroups),
    conditions: [CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      variable,
      ...METADATA,
      { name: "region", expression: `${ANNOTATIONS}[?${REGION_KEY}].orValue("")` },
      { name: "oldRegion", expression: `${OLD}[?${REGION_KEY}].orValue("")` },
      ...fieldVariables("statusRegion", "status.ackResourceMetadata.region", '""'),
      ...waiverVariables(lists),
    ],
    checks: [...ANNOTATION_CHECKS.map(unlessExempt), WAIVERS],
  };
}
