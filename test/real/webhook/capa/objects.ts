import { stringAt } from "../../../../shared/formats/json.ts";
import { REFERRER_KINDS } from "../../../../shared/core/capa-kinds.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import type { ApiResponse } from "../../apiserver/api-request.ts";
import { warnings } from "../buckets.ts";

export const API = "infrastructure.cluster.x-k8s.io/v1beta2";
export const LIST = { list: ["team-a"] };
export const CONTROLLER = { kind: "AWSClusterControllerIdentity", name: "default" };

/** The paths of the collections of the identities. */
export const CONTROLLERS = `/apis/${API}/awsclustercontrolleridentities`;
export const STATICS = `/apis/${API}/awsclusterstaticidentities`;
export const ROLES = `/apis/${API}/awsclusterroleidentities`;

/** Returns the path of the collection of a kind that refers to an identity. */
export function collection(kind: string, namespace = "team-a", version = "v1beta2"): string {
  const known = REFERRER_KINDS.find((one) => one.kind === kind);
  return `/apis/${known?.group ?? ""}/${version}/namespaces/${namespace}/${known?.plural ?? ""}`;
}

export function identity(kind: "Controller" | "Static" | "Role", name: string, spec: object, metadata = {}): object {
  return { apiVersion: API, kind: `AWSCluster${kind}Identity`, metadata: { name, ...metadata }, spec };
}

/** Returns a role identity in which no check finds a fault, with changes of its spec. */
export function role(name: string, rest: object = {}, metadata = {}): object {
  const roleARN = `arn:aws:iam::111122223333:role/${name}`;
  return identity("Role", name, { roleARN, allowedNamespaces: LIST, sourceIdentityRef: CONTROLLER, ...rest }, metadata);
}

/** Returns a role identity with the rule. */
export function allowing(allowedNamespaces: unknown, metadata = {}): object {
  return role("new", { allowedNamespaces }, metadata);
}

export function refTo(name: string): object {
  return { kind: "AWSClusterRoleIdentity", name };
}

/** Returns the spec that contains the reference, or no reference. */
export function specOf(kind: string, identityRef: unknown): object {
  const spec = { region: "eu-west-1", identityRef };
  return kind.endsWith("Template") ? { template: { spec } } : spec;
}

/** Returns an object that refers to an identity. */
export function referrer(kind: string, name: string, identityRef?: unknown, metadata = {}): object {
  const { group = "" } = REFERRER_KINDS.find((one) => one.kind === kind) ?? {};
  return { apiVersion: `${group}/v1beta2`, kind, metadata: { name, ...metadata }, spec: specOf(kind, identityRef) };
}

/** A request to the API server. */
export interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
  /** Default: admin. */
  readonly as?: string;
}

export const create = (path: string, body: object): Change => ({ method: "POST", path, body });
export const patch = (path: string, body: object): Change => ({ method: "PATCH", path, body });
export const remove = (path: string): Change => ({ method: "DELETE", path });

/** Sends a change. A patch is a merge patch. */
export async function send(cluster: Cluster, { method, path, body, as }: Change): Promise<ApiResponse> {
  const headers = {
    ...(method === "PATCH" && { "content-type": "application/merge-patch+json" }),
    ...(as !== undefined && { "impersonate-user": as }),
  };
  return await cluster.request(method, path, body, { headers });
}

/** Returns the status, and the denial or the warnings, as one text. */
export function outcomeOf(response: ApiResponse): string {
  const denial = response.status < 300 ? "" : stringAt(response.body, "message") ?? "";
  // Node.js decodes headers as Latin-1, but the API server sends UTF-8.
  const texts = warnings(response).map((text) => (
    Buffer.from(text, "latin1").toString().replaceAll(String.raw`\"`, '"')
  ));
  return [String(response.status), denial, ...texts].join(" ");
}
