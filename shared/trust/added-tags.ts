import type { CREDENTIALS } from "../core/trust-settings.ts";

/** The kinds of credentials of a caller, which decide whether AWS adds tags to its session. */
export type Credentials = (typeof CREDENTIALS)[number];

/**
 * The keys of the tags that AWS adds, of which those of EKS Pod Identity are transitive. Sources:
 * https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html and ack-permissions.html
 */
export const POD_IDENTITY_KEYS = [
  "eks-cluster-arn", "eks-cluster-name", "kubernetes-namespace", "kubernetes-service-account", "kubernetes-pod-name",
  "kubernetes-pod-uid",
];
export const CAPABILITY_KEYS = ["eks:eks-capability-arn", "eks:kubernetes-namespace", "eks:kubernetes-api-group"];

/**
 * The keys of the tags that a service sends with its own call. A Pod Identity association can set disableSessionTags.
 * Sources: pod-id-abac.html and pod-id-role.html of the guide above, and capability-role.html, whose trust policy must
 * allow sts:TagSession.
 */
export const SERVICE_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ["pods.eks.amazonaws.com", POD_IDENTITY_KEYS], ["capabilities.eks.amazonaws.com", CAPABILITY_KEYS],
]);
