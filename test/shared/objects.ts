import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { NOTHING_CLOSED } from "../../shared/core/closures.ts";
import type { DecisionSettings, Requester } from "../../shared/core/context.ts";
import { Inventory, type InventoryChange } from "../../shared/core/inventory.ts";
import type { JsonObject } from "../../shared/formats/json.ts";


export const ROLE = "arn:aws:iam::111122223333:role/team-a";

/** The default settings. */
export const SETTINGS_BY_DEFAULT: DecisionSettings = {
  mode: "selectors",
  teamLevelCARM: false,
  serviceLevelCARM: false,
  ackSystemNamespace: "ack-system",
  installationNamespaces: ["ack-role-resolver"], profileNamespaces: null,
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
  enforcedSeverities: null,
  onInternalError: "deny",
  waiverUsers: [],
  waiverGroups: ["system:masters"],
  isWebhookInstalled: true,
  isInputComplete: false,
  injection: {
    image: null, args: [], env: [], caConfigMap: null, runAsUser: 65_532, isDualStack: false, extraGroups: [],
    closures: NOTHING_CLOSED,
  },
  without: new Set(),
};

export function selectorObject(name: string, spec: unknown, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, ...metadata }, spec };
}

export function namespaceObject(name: string, labels: JsonObject = {}, annotations: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels, annotations } };
}

/** Returns a ConfigMap, such as a CARM map. */
export function mapObject(name: string, data: JsonObject, namespace = "ack-system"): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
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

interface InventoryOptions {
  readonly runtime?: "ack" | "extended";
  readonly origin?: "file" | "cluster";
}

/** Returns an inventory of the objects. Default: an inventory of a cluster with `--runtime ack`. */
export function inventoryWith(
  objects: readonly JsonObject[], { runtime = "ack", origin = "cluster" }: InventoryOptions = {},
): Inventory {
  const inventory = new Inventory({ runtime, origin }, INVENTORY_KINDS);
  inventory.apply(objects.map(put));
  return inventory;
}

export function removal(group: string, kind: string, name: string, namespace = ""): InventoryChange {
  return { type: "remove", group, kind, namespace, name };
}

/** The controller's own account. */
export const OWN = "777788889999";
export const FIRST = "111122223333";
export const SECOND = "444455556666";
export const ADMIN: Requester = { username: "root", groups: ["system:masters"] };

export function roleIn(account: string, name = "r"): string {
  return `arn:aws:iam::${account}:role/${name}`;
}

/** Returns a selector that lists namespaces by name and has a role in the account. */
export function selectorFor(
  name: string, account: string, namespaces: readonly string[], metadata: JsonObject = {},
): JsonObject {
  return selectorObject(name, { arn: roleIn(account, name), namespaceSelector: { names: namespaces } }, metadata);
}

/** Returns the metadata of a selector that replaces the selectors in `names`. */
export function replacesMetadata(names: string): JsonObject {
  return { annotations: { "ack-role-resolver.io/replaces": names } };
}

/** Returns a Bucket, by default in team-a, that does not exist in AWS yet. */
export function newBucket(name: string, metadata: JsonObject = {}): JsonObject {
  return bucketObject({ name, ...metadata });
}

/** Returns a Bucket, by default in team-a, that exists in the account. */
export function existingBucket(
  name: string, account: string, metadata: JsonObject = {}, region = "eu-west-1",
): JsonObject {
  const ackResourceMetadata = { ownerAccountID: account, arn: `arn:aws:s3:::${name}`, region };
  return bucketObject({ name, ...metadata }, { status: { ackResourceMetadata } });
}

/** Returns a Bucket, by default in team-a, whose account ACK recorded before the creation in AWS failed. */
export function attemptedBucket(name: string, account: string, metadata: JsonObject = {}): JsonObject {
  const conditions = [{ type: "ACK.ResourceSynced", status: "False" }];
  const status = { ackResourceMetadata: { ownerAccountID: account, region: "eu-west-1" }, conditions };
  return bucketObject({ name, ...metadata }, { status });
}

/** Returns `count` objects with the names b00, b01, ... */
export function repeat(count: number, create: (name: string) => JsonObject): JsonObject[] {
  return Array.from({ length: count }, (_, i) => create(`b${String(i).padStart(2, "0")}`));
}

export const ACCOUNT_MAP = "ack-role-account-map";
export const TEAM_MAP = "ack-role-team-map";
