import { isJsonObject, type JsonObject, field, stringAt } from "../../../shared/formats/json.ts";
import type { AuditEvent } from "../cluster.ts";

/** One right of a Role or a ClusterRole: one verb for one kind, and the users who have the role. */
interface Right {
  readonly role: string;
  readonly users: readonly string[];
  /** The namespace of a Role; null for a ClusterRole. */
  readonly namespace: string | null;
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  /** The only object to which the right applies; null for all objects. */
  readonly name: string | null;
}

/** Returns each right that the Roles and ClusterRoles among the objects grant, with the users in their bindings. */
export function rightsIn(objects: readonly JsonObject[]): readonly Right[] {
  const roles = objects.filter((one) => ["Role", "ClusterRole"].includes(stringAt(one, "kind") ?? ""));
  return roles.flatMap((role) => {
    const name = stringAt(role, "metadata", "name") ?? "";
    const bindings = objects.filter((one) => (
      stringAt(one, "roleRef", "name") === name && stringAt(one, "roleRef", "kind") === stringAt(role, "kind")
    ));
    const users = bindings.flatMap((binding) => list(field(binding, "subjects")).map(userOf));
    const holder = { role: name, users, namespace: stringAt(role, "metadata", "namespace") };
    return list(field(role, "rules")).flatMap(rightsOfRule).map((right) => ({ ...holder, ...right }));
  });
}

type RuleRight = Pick<Right, "group" | "resource" | "verb" | "name">;

function rightsOfRule(rule: JsonObject): readonly RuleRight[] {
  const names: readonly (string | null)[] = rule["resourceNames"] === undefined ? [null] : texts(rule["resourceNames"]);
  return texts(rule["apiGroups"]).flatMap((group) => (
    texts(rule["resources"]).flatMap((resource) => (
      texts(rule["verbs"]).flatMap((verb) => names.map((name) => ({ group, resource, verb, name })))
    ))
  ));
}

function userOf(subject: JsonObject): string {
  const name = stringAt(subject, "name") ?? "";
  if (stringAt(subject, "kind") === "User") return name;
  return `system:serviceaccount:${stringAt(subject, "namespace")}:${name}`;
}

/** Returns the rights that no allowed request needed, as text. */
export function unusedRights(rights: readonly Right[], events: readonly AuditEvent[]): readonly string[] {
  const allowed = events.filter(({ responseStatus }) => responseStatus?.code !== 403);
  return rights.filter((right) => !allowed.some((event) => isUse(right, event))).map(describe);
}

function isUse(right: Right, { verb, user, impersonatedUser = user, objectRef }: AuditEvent): boolean {
  return right.users.includes(impersonatedUser.username) && right.verb === verb && isObject(right, objectRef);
}

function isObject(right: Right, object: AuditEvent["objectRef"] = {}): boolean {
  const path = object.subresource === undefined ? object.resource : `${object.resource}/${object.subresource}`;
  return right.group === (object.apiGroup ?? "") && [path, "*"].includes(right.resource)
    && (right.namespace === null || right.namespace === object.namespace)
    && (right.name === null || right.name === object.name);
}

function describe({ role, users, group, resource, verb, name }: Right): string {
  const object = [verb, [resource, group].filter(Boolean).join("."), name].filter(Boolean).join(" ");
  return `${role}: ${object} (${users.join(", ") || "bound to nobody"})`;
}

/** Returns the requests of a user that the API server denied for a missing right, as text. */
export function deniedRequests(username: string, events: readonly AuditEvent[]): readonly string[] {
  const ofUser = events.filter(({ user }) => user.username === username);
  const denied = ofUser.filter(({ responseStatus }) => responseStatus?.code === 403);
  return denied.map(({ verb, objectRef }) => `${verb} ${JSON.stringify(objectRef)}`);
}

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
