import { SELECTOR_GROUP } from "./ack-groups.ts";

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
