import type { DecisionSettings } from "../../../shared/contract/context.ts";
import type { InventoryChange } from "../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";

export const ROLE = "arn:aws:iam::111122223333:role/team-a";

/** The default settings. */
export const SETTINGS_BY_DEFAULT: DecisionSettings = {
  mode: "selectors",
  teamLevelCARM: false,
  serviceLevelCARM: false,
  ackSystemNamespace: "ack-system",
  installationNamespaces: ["ack-role-resolver"],
  allowedAccounts: [],
  controllerServiceAccounts: [],
  capaServiceAccounts: [],
  clusterAPIServiceAccounts: [],
  identitySecretNamespace: null,
  controllerUsers: [],
  tenantLabels: [],
  allowedEndpointHosts: [],
  runtime: "ack",
  region: null,
  controllerAccount: null,
  controllerRole: null,
  checkSeverities: new Map(),
  waiverUsers: [],
  waiverGroups: ["system:masters"],
  isWebhookInstalled: true,
  isInputComplete: false,
  injection: { image: null, args: [], env: [], caConfigMap: null, extraGroups: [] },
};

export function selectorObject(name: string, spec: unknown, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, ...metadata }, spec };
}

export function namespaceObject(name: string, labels: JsonObject = {}, annotations: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels, annotations } };
}

export function kindObject(
  kind: string,
  group: string,
  versions: readonly { readonly name: string; readonly storage: boolean; readonly served: boolean }[],
): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, names: { kind, plural }, versions },
  };
}

/** Returns the object with the annotation that waives the checks. */
export function withWaiver(object: JsonObject, ids: string): JsonObject {
  const metadata = object["metadata"] ?? {};
  return { ...object, metadata: { ...metadata, annotations: { "ack-role-resolver.io/allow": ids } } };
}

/** Returns the bucket team-a/b1 of version v1alpha1. `metadata` overrides its metadata. */
export function bucketObject(metadata: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1",
    kind: "Bucket",
    metadata: { name: "b1", namespace: "team-a", ...metadata },
    ...rest,
  };
}

export function put(object: JsonObject): InventoryChange {
  return { type: "put", object };
}

export function removal(group: string, kind: string, name: string): InventoryChange {
  return { type: "remove", group, kind, namespace: "", name };
}
