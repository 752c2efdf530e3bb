import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { field, parseJSON, stringAt } from "../../../../shared/formats/json.ts";
import { ACK_CRDS } from "../../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../../fixtures/ack-selector-crd.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import type { ServerProcess } from "../../server-process.ts";
import { metricsOf } from "../certificates/replicas.ts";
import { apply, certificateFolder, MANIFEST_OPTIONS, startWebhook } from "../installed-webhook.ts";

export const NAMESPACE = "ack-role-resolver";
export const OPTIONS = { ...MANIFEST_OPTIONS, maintainsCertificates: true } as const;
const MANAGER = "fieldManager=ack-role-resolver-reconciler";

/** Applies the CRDs and the printed roles, but no webhook configurations: the API server does not call the webhook. */
export async function installRights(cluster: Cluster, { policies = true } = {}): Promise<void> {
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: OPTIONS.ackSystemNamespace } });
  await cluster.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS]);
  await apply(cluster, manifestObjects("rbac", OPTIONS));
  if (policies) await apply(cluster, manifestObjects("policies", OPTIONS));
}

/** Starts a replica with the namespace of the printed Deployment. Default of `tlsDir`: a new folder. */
export async function startReplica(
  t: Test, cluster: Cluster, flags: readonly string[] = [], tlsDir: string | null = null,
): Promise<ServerProcess> {
  const dir = tlsDir ?? (await certificateFolder(t)).dir;
  return startWebhook(t, cluster, dir, [`--namespace=${NAMESPACE}`, ...flags]);
}

/** Returns the value of a metric without labels; null if it is absent. */
export async function metric(replica: ServerProcess, name: string): Promise<number | null> {
  const [, value] = new RegExp(`^ack_role_resolver_webhook_${name} (\\S+)$`, "m").exec(await metricsOf(replica)) ?? [];
  return value === undefined ? null : Number(value);
}

export async function leads(replica: ServerProcess): Promise<boolean> {
  return (await metric(replica, "reconciling_leader")) === 1;
}

/** A patch in the audit log of the API server. */
interface AuditedPatch {
  readonly name: string;
  readonly atMs: number;
  readonly status: number;
}

/** Returns the patches of the reconcilers, in order. */
export async function auditedPatches(cluster: Cluster): Promise<AuditedPatch[]> {
  const lines = (await readFile(cluster.auditLog, "utf8")).split("\n").filter((line) => line.includes(MANAGER));
  const events = lines.map(parseJSON).filter((event) => (
    stringAt(event, "verb") === "patch" && stringAt(event, "stage") === "ResponseComplete"
  ));
  return events.map((event) => ({
    name: stringAt(event, "objectRef", "name") ?? "",
    atMs: Date.parse(stringAt(event, "requestReceivedTimestamp") ?? ""),
    status: Number(field(field(event, "responseStatus"), "code")),
  })).toSorted((a, b) => a.atMs - b.atMs);
}

/** Returns the maximum number of patches in any second. */
export function maximumPerSecond(patches: readonly AuditedPatch[]): number {
  return Math.max(...patches.map(({ atMs }) => (
    patches.filter((other) => other.atMs >= atMs && other.atMs < atMs + 1_000).length
  )));
}
