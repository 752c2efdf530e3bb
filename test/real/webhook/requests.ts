import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster, RequestOptions } from "../apiserver/cluster.ts";

export const NAMESPACES = "/api/v1/namespaces";
export const RBAC = "rbac.authorization.k8s.io";
/** The options of a user without rights of an administrator. */
export const JANE = { user: "jane" } as const;

/** Returns the options with which the administrator acts as a service account, such as `kube-system:a`. */
export function asAccount(name: string, group?: string): RequestOptions {
  const user = { "impersonate-user": `system:serviceaccount:${name}` };
  return { headers: group === undefined ? user : { ...user, "impersonate-group": group } };
}

/** The controllers of Kubernetes that delete objects, with all rights. */
export const COLLECTOR = asAccount("kube-system:generic-garbage-collector", "system:masters");
export const NAMESPACE_CONTROLLER = asAccount("kube-system:namespace-controller", "system:masters");

/** Returns the status and the message of a response as one text. */
export function answerOf({ status, body }: ApiResponse): string {
  return `${status} ${stringAt(body, "message") ?? ""}`;
}

/** Creates an object, which must succeed. */
export async function create(cluster: Cluster, path: string, object: object): Promise<void> {
  const response = await cluster.request("POST", path, object);
  if (response.status !== 201) throw new Error(`${path}: ${answerOf(response)}`);
}

/** Verifies that the webhook denied the request because of the check. */
export function isDenied(t: Test, response: ApiResponse, code: string): void {
  t.match(answerOf(response), new RegExp(`^422 .*${code} `, "s"));
}

/** Returns a role and its binding: of a ClusterRole, or of a Role of the namespace. */
export function grant(
  name: string, rules: readonly object[], subjects: readonly object[], namespace?: string,
): readonly object[] {
  const prefix = namespace === undefined ? "Cluster" : "";
  const metadata = { name, namespace };
  return [
    { apiVersion: `${RBAC}/v1`, kind: `${prefix}Role`, metadata, rules },
    {
      apiVersion: `${RBAC}/v1`, kind: `${prefix}RoleBinding`, metadata, subjects,
      roleRef: { apiGroup: RBAC, kind: `${prefix}Role`, name },
    },
  ];
}
