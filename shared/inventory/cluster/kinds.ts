import { ACCOUNT_MAP, TEAM_MAP } from "../../decisions/annotation-keys.ts";
import { isCAPAKind, isIdentityKind, SERVICE_ACCOUNT_IDENTITY } from "../../decisions/identities/kinds.ts";
import { field, type JsonObject, stringAt } from "../../decisions/kubernetes/json.ts";
import {
  definedKind, isACKGroup, isFieldExportKind, SELECTOR_GROUP, SELECTOR_KIND,
} from "../../decisions/kubernetes/kinds.ts";
import {
  conditionsOfType, transformConfigMap, transformDefinition, transformIdentity, transformNamespace, transformReferrer,
  transformResource, transformSecret, transformSelector,
} from "./transforms.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** client-go's page size. */
const PAGE_SIZE = 500;
/** The page size for CustomResourceDefinitions, which are often 100 KB and can exceed 1 MB. */
const DEFINITIONS_PAGE_SIZE = 50;

const SELECTORS: WatchedKind = {
  group: SELECTOR_GROUP,
  version: "v1alpha1",
  kind: SELECTOR_KIND,
  plural: "iamroleselectors",
  pageSize: PAGE_SIZE,
  transform: transformSelector,
};

const NAMESPACES: WatchedKind = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  pageSize: PAGE_SIZE,
  transform: transformNamespace,
};

export const DEFINITIONS: WatchedKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  pageSize: DEFINITIONS_PAGE_SIZE,
  transform: transformDefinition,
};

/** The kinds that every cluster source loads. */
export const CLUSTER_KINDS: readonly WatchedKind[] = [SELECTORS, NAMESPACES, DEFINITIONS];

/**
 * Returns one watched kind for each CARM map, so that a source needs no rights to other ConfigMaps. The namespace ""
 * stands for all namespaces.
 */
export function carmMapKinds(namespace: string): readonly WatchedKind[] {
  return [ACCOUNT_MAP, TEAM_MAP].map((name) => ({
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    object: { namespace, name },
    pageSize: PAGE_SIZE,
    transform: transformConfigMap,
  }));
}

/** Returns the kind of the Secrets in a namespace. The API server sends only their metadata. */
export function secretKind(namespace: string): WatchedKind {
  return {
    group: "", version: "v1", kind: "Secret", plural: "secrets", namespace, metadataOnly: true, pageSize: PAGE_SIZE,
    transform: transformSecret,
  };
}

/**
 * Returns the ACK kind, the CAPA kind or FieldExport if a transformed CustomResourceDefinition defines it. The version
 * of the kind is the stored version if the API server serves it, else the first served version. Returns null if nothing
 * reads the objects of the kind, or if the kind is not served.
 */
export function resourceKind(definition: JsonObject): WatchedKind | null {
  const spec = field(definition, "spec");
  const { group, kind } = definedKind(definition);
  const transform = transformOf({ group, kind }, stringAt(spec, "scope"));
  const version = versionToList(field(spec, "versions"));
  const plural = stringAt(spec, "names", "plural");
  if (transform === null || version === null || kind === "" || plural === null) return null;
  if (!isEstablished(definition)) return null;
  return { group, version, kind, plural, pageSize: PAGE_SIZE, transform };
}

/** Returns null if nothing reads the objects of the kind. */
function transformOf(kind: { group: string; kind: string }, scope: string | null): WatchedKind["transform"] | null {
  if (isIdentityKind(kind)) {
    const expected = kind.kind === SERVICE_ACCOUNT_IDENTITY ? "Namespaced" : "Cluster";
    return scope === expected ? transformIdentity : null;
  }
  // Skips cluster-scoped kinds, because roles are resolved only for resources in a namespace.
  if (scope !== "Namespaced") return null;
  if (isCAPAKind(kind)) return transformReferrer;
  if (isFieldExportKind(kind)) return withoutObject;
  return isACKGroup(kind.group) ? transformResource : null;
}

/** No decision reads the stored objects of the kind. Only a collector receives them. */
function withoutObject(): null {
  return null;
}

/**
 * Returns whether the condition Established is True. Until Established is True, the API server answers requests for the
 * kind with 404.
 */
function isEstablished(definition: JsonObject): boolean {
  return conditionsOfType(definition, "Established").some((condition) => stringAt(condition, "status") === "True");
}

function versionToList(versions: unknown): string | null {
  if (!Array.isArray(versions)) return null;
  const served: unknown[] = versions.filter((version) => field(version, "served") === true);
  return stringAt(served.find((version) => field(version, "storage") === true) ?? served[0], "name");
}
