import { loadAll } from "js-yaml";
import { isJsonObject, type JsonObject } from "../shared/formats/json.ts";

const ROLE = "arn:aws:iam::111122223333:role/team-a";

/** What an example of a check omits, by the start of the code. */
const COMPLETIONS: readonly (readonly [start: string, object: JsonObject])[] = [
  ["IRS-", {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "example" },
    spec: { arn: ROLE },
  }],
  ["ACK-", {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "example", namespace: "team-a" },
  }],
  ["NS-", { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } }],
  ["CI-", {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSClusterRoleIdentity",
    metadata: { name: "example" },
    spec: { roleARN: ROLE, sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" } },
  }],
  ["AC-", {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster",
    metadata: { name: "example", namespace: "team-a" },
  }],
  ["CM-", {
    apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
  }],
  ["FE-", {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "FieldExport", metadata: { name: "example", namespace: "team-a" },
  }],
  ["POD-", { apiVersion: "v1", kind: "Pod", metadata: { name: "example", namespace: "ack-system" } }],
];

/** Returns the object in the example of a check, with what every object of its kind has; null if it is a sentence. */
export function exampleOf(id: string, example: string): JsonObject | null {
  const [, base] = COMPLETIONS.find(([start]) => id.startsWith(start)) ?? [];
  const written = parsed(example);
  return base === undefined || written === null ? null : merged(base, written);
}

function parsed(example: string): JsonObject | null {
  try {
    const [first]: unknown[] = loadAll(example);
    return isJsonObject(first) ? first : null;
  } catch {
    return null;
  }
}

function merged(base: JsonObject, written: JsonObject): JsonObject {
  return Object.fromEntries([...new Set([...Object.keys(base), ...Object.keys(written)])].map((key) => {
    const [own, other] = [base[key], written[key]];
    if (isJsonObject(own) && isJsonObject(other)) return [key, merged(own, other)];
    return [key, key in written ? other : own];
  }));
}
