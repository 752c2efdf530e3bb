import { type AdmissionRequest, inNamespace, type SkipReason } from "../core/admission.ts";
import { bindChecks } from "../core/bind.ts";
import { exceeds, ofChange, within } from "../core/binding.ts";
import { isCAPAKind } from "../core/capa-kinds.ts";
import type { QuickCheck } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { clusterMutationExemptionOf, isCAPAController } from "../core/exemptions.ts";
import type { Inventory } from "../core/inventory.ts";
import { type Judge, type ReviewedID, typeOf } from "../core/judge.ts";
import type { ReviewNeeds } from "../core/review-needs.ts";
import { recordedResolutionCheck } from "../core/recorded-resolution.ts";
import { limitCheck } from "../core/size-limits.ts";
import { IRS_10_OF_OBJECTS } from "../core/unknown-namespace.ts";
import type { JsonObject } from "../formats/json.ts";
import { AC_01, AC_02, AC_03, AC_04, AC_06, AC_07 } from "./cluster-identity.ts";
import { AC_00, AC_05, clusterChange, type ClusterChange, useChange } from "./cluster-reference.ts";
import { usesOfCluster } from "./cluster-identity-uses.ts";
import { IDENTITIES } from "./identities.ts";
import { clusterUsage } from "./cluster-usage.ts";
import { spelling } from "./identity-judge.ts";
import { CLUSTER, CLUSTER_PART } from "./kinds.ts";
import { clusterProblems } from "./problems.ts";
import { isOfTemplate, readReferrer, type Referrer } from "./referrer.ts";
import { REFERRERS } from "./referrers.ts";
import { CAPA_NEEDS } from "./requirements.ts";
import { deriveClusters } from "./topology.ts";

/** ACK-02 for objects that refer to a CAPA identity. */
const ACK_02_OF_CLUSTERS = recordedResolutionCheck<ClusterChange>([CAPA_NEEDS.identities], ({ referrer, stored }) => (
  { annotations: referrer.annotations, stored: stored?.annotations }
));

/** The checks that run when an object that refers to a CAPA identity changes. */
const CLUSTER_CHECKS: readonly QuickCheck<ClusterChange>[] = [
  AC_00, AC_01, AC_02, AC_03, AC_04, AC_05, AC_06, AC_07,
];
const LIMIT = limitCheck(CLUSTER.limit);
const PART_LIMITS = [LIMIT] as const;
const bindCluster = within(LIMIT, ofChange([...CLUSTER_CHECKS, ACK_02_OF_CLUSTERS, IRS_10_OF_OBJECTS], clusterChange));
const bindUse = ofChange([AC_05], useChange);

const NEEDS: ReviewNeeds = { namespace: "read", uses: { check: AC_05, of: usesOfCluster, kinds: isCAPAKind } };

export const CLUSTER_JUDGE: Judge = {
  kind: CLUSTER, checks: [...CLUSTER_CHECKS, LIMIT],
  bind: (input, settings) => [
    // A cluster serves the version of each of its objects.
    ...(input.origin === "file" ? spelling(input) : []), ...bindCluster(input, settings),
  ],
  review: NEEDS,
  stored: storedReferrer,
  derive: deriveClusters,
  problems: clusterProblems,
  usage: clusterUsage,
  record: { roleObject: recordedReferrer, needs: IDENTITIES },
};

/** Returns the object whose identity is resolved. Never changes a write of CAPA itself. */
function recordedReferrer(
  object: JsonObject, request: AdmissionRequest, settings: DecisionSettings,
): Referrer | SkipReason {
  const { namespace, requester } = request;
  const referrer = readReferrer(inNamespace(object, namespace));
  if (referrer === null || namespace === "") return "not managed";
  if (isCAPAController(requester, settings)) return "written by CAPA";
  return clusterMutationExemptionOf(request) ?? referrer;
}

/** An object that uses the identity of its Cluster. Each check concerns only the requester. */
export const CLUSTER_PART_JUDGE: Judge = {
  kind: CLUSTER_PART, checks: [AC_05, LIMIT], isCheckedInFiles: () => false, review: NEEDS,
  bind: (input, settings) => (
    exceeds(LIMIT, input) ? [bindChecks(PART_LIMITS, input.object, null)] : bindUse(input, settings)
  ),
};

/** Returns the fields that AC-05 reads. */
function storedReferrer(id: ReviewedID, inventory: Inventory): JsonObject | null {
  const { kind, namespace, name } = id;
  const referrer = inventory.of(REFERRERS).get({ ...kind, namespace, name });
  if (referrer === null) return null;
  const spec = { identityRef: referrer.written };
  return { ...typeOf(id), metadata: { name, namespace }, spec: isOfTemplate(kind) ? { template: { spec } } : spec };
}
