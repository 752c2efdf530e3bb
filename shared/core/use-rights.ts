import { SELECTOR_GROUP } from "./ack-groups.ts";
import type { Requester } from "./context.ts";
import type { Edit, Repair } from "./repair.ts";
import { quote } from "../formats/text.ts";

/** A selector, or another object, that a requester needs the right to `use`. */
export interface UsedObject {
  readonly group: string;
  /** The plural of the kind of the object; `*` for every kind. */
  readonly resource: string;
  /** "" for every object of the kind. */
  readonly name: string;
}

/** The right to `use` an object. A RoleBinding in the namespace or a ClusterRoleBinding can grant this right. */
export interface ObjectUse extends UsedObject {
  /** The namespace of the objects that use the object. */
  readonly namespace: string;
}

export function usedSelector(name: string): UsedObject {
  return { group: SELECTOR_GROUP, resource: "iamroleselectors", name };
}

/** Returns the RBAC rule that permits the use of the object. KINDS and NAME stand for what the user must fill in. */
export function useRule({ group, resource, name }: UsedObject): string {
  const resources = resource === "*" ? "KINDS" : resource;
  const names = name === "" ? "NAME" : name;
  return `apiGroups: [${group}], resources: [${resources}], resourceNames: [${names}], verbs: [use]`;
}

/** Returns a fix that grants the right to the requester in the namespace. */
export function useFix(used: UsedObject, namespace: string): string {
  return `create a Role in namespace ${namespace} with the rule ${useRule(used)}, `
    + "and a RoleBinding in that namespace that grants it to the requester";
}

/** Returns a fix that grants the right to the requester in every namespace, also in one that does not exist yet. */
export function useEverywhereFix(used: UsedObject): string {
  return `create a ClusterRole with the rule ${useRule(used)}, `
    + "and a ClusterRoleBinding that grants it to the requester";
}

const RBAC = "rbac.authorization.k8s.io";
const RBAC_V1 = `${RBAC}/v1`;

/**
 * Returns the repair that creates the Role, or without a namespace the ClusterRole, and its binding. No repair if the
 * requester or the kind is unknown.
 */
export function useRepairs(
  { group, resource, name }: UsedObject, namespace: string | null, requester: Requester | null,
): readonly Repair[] {
  if (requester === null || resource === "*" || name === "") return NONE;
  const [role, binding] = namespace === null ? ["ClusterRole", "ClusterRoleBinding"] : ["Role", "RoleBinding"];
  const metadata = { name: `use-${name.replaceAll(":", "-")}`, ...(namespace !== null && { namespace }) };
  const create = (kind: string, fields: object): Edit => ({
    path: [], value: { apiVersion: RBAC_V1, kind, metadata, ...fields },
    of: { apiVersion: RBAC_V1, kind, namespace, name: metadata.name },
  });
  const rules = [{ apiGroups: [group], resources: [resource], resourceNames: [name], verbs: ["use"] }];
  const roleRef = { apiGroup: RBAC, kind: role, name: metadata.name };
  const subjects = [{ apiGroup: RBAC, kind: "User", name: requester.username }];
  return [{
    when: `to let ${quote(requester.username)} use it`,
    edits: [create(role, { rules }), create(binding, { roleRef, subjects })],
  }];
}

const NONE: readonly never[] = [];
