import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { SELECTORS } from "../../real/webhook/installed-webhook.ts";
import type { Pod, PodCluster } from "../cluster.ts";
import { NODE } from "../node/components.ts";
import { DEPLOYMENT, NAMESPACE, POD_LABELS } from "./installed.ts";
import { selector } from "./selector.ts";

const MERGE = { headers: { "content-type": "application/merge-patch+json" } };

/** A write that the repair of a webhook, or the operation of the cluster, needs. */
interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

/** Tests that the API server accepts these changes while no replica responds, and that it rejects a selector. */
export async function changesWhileDown(t: Test, cluster: PodCluster, cause: string): Promise<void> {
  const isDown = (pods: readonly Pod[]): boolean => pods.every((pod) => !pod.isReady && !pod.isTerminating);
  await cluster.untilPods(NAMESPACE, POD_LABELS, isDown);
  const late = selector("late", "arn:aws:iam::111122223333:role/late");
  const rejected = await cluster.api.request("POST", SELECTORS, late);
  t.equal(rejected.status, 500, "the API server still calls the webhook for selectors");
  // A different value for each cause, so that no patch is empty.
  const labels = { metadata: { labels: { repair: cause } } };
  const inNamespaces = [NAMESPACE, "kube-system"].flatMap((namespace) => changesIn(namespace, labels));
  for (const change of [...inNamespaces, ...otherChanges(labels)]) {
    const { status, body } = await cluster.api.request(change.method, change.path, change.body, optionsOf(change));
    const message = stringAt(body, "message") ?? "";
    t.ok(status === 200 || status === 201, `${change.method} ${change.path}: ${status} ${message}`);
  }
}

function optionsOf({ method }: Change): typeof MERGE | undefined {
  return method === "PATCH" ? MERGE : undefined;
}

/** Each change of a ConfigMap, a Secret, a ServiceAccount and a Lease of a namespace, and of the namespace itself. */
function changesIn(namespace: string, labels: object): readonly Change[] {
  const core = `/api/v1/namespaces/${namespace}`;
  const collections = [
    `${core}/configmaps`, `${core}/secrets`, `${core}/serviceaccounts`,
    `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
  ];
  const ofCollection = (path: string): readonly Change[] => [
    { method: "POST", path, body: { metadata: { name: "repair" } } },
    { method: "PATCH", path: `${path}/repair`, body: labels },
    { method: "DELETE", path: `${path}/repair` },
  ];
  return [...collections.flatMap(ofCollection), { method: "PATCH", path: core, body: labels }];
}

const LEASE = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`;
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;

function otherChanges(labels: object): readonly Change[] {
  return [
    { method: "PATCH", path: `/api/v1/nodes/${NODE}`, body: labels },
    { method: "PATCH", path: `/api/v1/nodes/${NODE}/status`, body: labels },
    { method: "PATCH", path: LEASE, body: labels },
    { method: "PATCH", path: `${DEPLOYMENTS}/${DEPLOYMENT}`, body: labels },
    { method: "POST", path: "/api/v1/namespaces", body: { metadata: { generateName: "repair-" } } },
  ];
}
