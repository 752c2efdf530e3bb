import { ACCOUNT_MAP, TEAM_MAP } from "../annotation-keys.ts";
import { field, type JsonObject, stringAt } from "./json.ts";
import { objectMeta } from "./object-meta.ts";

export const SELECTOR_GROUP = "services.k8s.aws";
export const SELECTOR_KIND = "IAMRoleSelector";

export function isSelector(object: JsonObject): boolean {
  const apiVersion = stringAt(object, "apiVersion") ?? "";
  return stringAt(object, "kind") === SELECTOR_KIND && apiVersion.startsWith(`${SELECTOR_GROUP}/`);
}

/** Whether the group is that of an ACK service, which excludes `services.k8s.aws` itself. */
export function isACKGroup(group: string): boolean {
  return group.endsWith(".services.k8s.aws");
}

export function isKindDefinition(object: JsonObject): boolean {
  const { group, kind } = objectMeta(object);
  return group === "apiextensions.k8s.io" && kind === "CustomResourceDefinition";
}

/** Returns the group and kind that a CustomResourceDefinition defines. */
export function definedKind(object: JsonObject): { readonly group: string; readonly kind: string } {
  const spec = field(object, "spec");
  return { group: stringAt(spec, "group") ?? "", kind: stringAt(spec, "names", "kind") ?? "" };
}

export function isNamespace(object: JsonObject): boolean {
  const { group, kind } = objectMeta(object);
  return group === "" && kind === "Namespace";
}

export function isCARMMap(object: JsonObject): boolean {
  const { group, kind, name } = objectMeta(object);
  return group === "" && kind === "ConfigMap" && (name === ACCOUNT_MAP || name === TEAM_MAP);
}

/** A kind named by a user. Omitted parts are null. */
export interface KindArgument {
  readonly kind: string;
  readonly version: string | null;
  readonly group: string | null;
}

const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/;
// API versions: https://kubernetes.io/docs/reference/using-api/#api-versioning
const VERSION = /^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/;
const GROUP = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

/**
 * Parses `KIND`, `KIND.GROUP` or `KIND.VERSION.GROUP`, such as `Bucket.v1alpha1.s3.services.k8s.aws`. Returns null for
 * other texts.
 */
export function parseKindArgument(text: string): KindArgument | null {
  const [kind = "", ...rest] = text.split(".");
  if (!KIND.test(kind)) return null;
  if (rest.length === 0) return { kind, version: null, group: null };
  const [first = ""] = rest;
  const version = VERSION.test(first) && rest.length > 1 ? first : null;
  const group = rest.slice(version === null ? 0 : 1).join(".");
  return GROUP.test(group) ? { kind, version, group } : null;
}
