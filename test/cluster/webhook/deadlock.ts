import type { Test } from "tap";
import { SELECTORS } from "../../real/webhook/installed-webhook.ts";
import type { Pod, PodCluster } from "../cluster.ts";
import { NODE } from "../node/components.ts";
import { DEPLOYMENT, NAMESPACE, POD_LABELS } from "./installed.ts";
import { selector } from "./load.ts";

const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const LABELS = { metadata: { labels: { repaired: "yes" } } };

/** A write that the repair of a webhook, or the operation of the cluster, needs. */
interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

/** Tests that the API server accepts these changes while no replica responds, and that it rejects a selector. */
export async function changesWhileDown(t: Test, cluster: PodCluster): Promise<void> {
  const isDown = (pods: readonly Pod[]): boolean => pods.every((pod) => !pod.isReady && !pod.isTerminating);
  await cluster.untilPods(NAMESPACE, POD_LABELS, isDown);
  const late = selector("late", "arn:aws:iam::111122223333:role/late");
  const rejected = await cluster.api.request("POST", SELECTORS, late);
  t.equal(rejected.status, 500, "the API server still calls the webhook for selectors");
  for (const change of [...changesIn(NAMESPACE), ...changesIn("kube-system"), ...CHANGES]) {
    const { status, body } = await cluster.api.request(change.method, change.path, change.body, optionsOf(change));
    t.ok(status === 200 || status === 201, `${change.method} ${change.path}: ${status} ${JSON.stringify(body)}`);
  }
}

function optionsOf({ method }: Change): typeof MERGE | undefined {
  return method === "PATCH" ? MERGE : undefined;
}

/** Each change of a ConfigMap, a Secret, a ServiceAccount and a Lease of a namespace, and of the namespace itself. */
function changesIn(namespace: string): readonly Change[] {
  const core = `/api/v1/namespaces/${namespace}`;
  const collections = [
    `${core}/configmaps`, `${core}/secrets`, `${core}/serviceaccounts`,
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
  ];
  const ofCollection = (path: string): readonly Change[] => [
    { method: "POST", path, body: { metadata: { name: "repair" } } },
    { method: "PATCH", path: `${path}/repair`, body: LABELS },
    { method: "DELETE", path: `${path}/repair` },
  ];
  return [...collections.flatMap(ofCollection), { method: "PATCH", path: core, body: LABELS }];
}

const LEASE = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`;
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;
const CHANGES: readonly Change[] = [
  { method: "PATCH", path: `/api/v1/nodes/${NODE}`, body: LABELS },
  { method: "PATCH", path: `/api/v1/nodes/${NODE}/status`, body: LABELS },
  { method: "PATCH", path: LEASE, body: LABELS },
  { method: "PATCH", path: `${DEPLOYMENTS}/${DEPLOYMENT}`, body: LABELS },
  { method: "POST", path: "/api/v1/namespaces", body: { metadata: { generateName: "repair-" } } },
];
