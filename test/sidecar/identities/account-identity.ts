import type { ServiceAccountIdentity } from "../../../shared/model/identity.ts";

/** Returns the service account identity `team-a/capa`. */
export function accountIdentity(rest: Partial<ServiceAccountIdentity> = {}): ServiceAccountIdentity {
  return {
    kind: "AWSServiceAccountIdentity", name: "capa", namespace: "team-a", uid: "uid-1", resourceVersion: "1",
    roleARN: "arn:aws:iam::111122223333:role/capa", sessionName: null, durationSeconds: null, inlinePolicy: null,
    policyARNs: [], tags: [], transitiveTags: [], mistyped: [], audiences: ["sts.amazonaws.com"],
    expirationSeconds: 86_400, ...rest,
  };
}
