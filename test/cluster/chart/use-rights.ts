import type { Test } from "tap";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { nameOf } from "../../../manifests/rbac.ts";
import { isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { IDENTITIES } from "../../real/apiserver/identities.ts";
import { until } from "../../real/apiserver/until.ts";
import { BASE, ENVIRONMENT } from "../../real/planted-sidecar.ts";
import { startServer } from "../../real/server-process.ts";
import { SELECTORS } from "../../real/webhook/installed-webhook.ts";
import { objectAt } from "../../webhook/reviews.ts";
import type { PodCluster } from "../cluster.ts";
import { NAMESPACE, POD_LABELS } from "../webhook/installed.ts";
import { selector } from "../webhook/selector.ts";
import { type Release, rotatesLeaf } from "./release.ts";
import { deniedRequests, rightsIn, unusedRights } from "./rights.ts";

const ROLE = "arn:aws:iam::111122223333:role/a";
const MERGE = { "content-type": "application/merge-patch+json" };
const OWNER = "owner";
const TENANT = "tenant";

/**
 * Tests that each right in the roles of the release is used, and that no request of the webhook is denied. The tests
 * before have used the rights that every installation needs. A release with access reviews is required. A release binds
 * the role for the Events of sidecars only if it injects sidecars.
 */
export async function usesEveryRight(t: Test, release: Release): Promise<void> {
  const { cluster } = release;
  const bindings = [
    binding("ack-role-resolver-selector-owner", OWNER), binding("ack-role-resolver-tenant", TENANT),
    ...["reader", "identities"].map(nameOf).map((role) => binding(role, IDENTITIES.controller.username)),
  ];
  await cluster.apply(bindings);
  await useRareRights(cluster);
  // The new process continues the Events of the old one.
  await rotatesLeaf(t, cluster);
  await cluster.kubectl(["delete", "pod", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=certificates"]);
  await rotatesLeaf(t, cluster);
  await ownsSelectors(t, cluster);
  await readsSelectors(t, cluster);
  await readIdentities(t, cluster);
  const all = rightsIn([...await release.objects(), ...bindings]);
  const rights = all.filter(({ role, users }) => role !== nameOf("events") || users.length > 0);
  t.ok(rights.length > 0);
  const unused = async (): Promise<readonly string[]> => unusedRights(rights, await cluster.auditEvents());
  await until(async () => (await unused()).length === 0);
  t.same(await unused(), [], "each right is used");
  for (const { username } of [IDENTITIES.webhook, IDENTITIES.certificates]) {
    t.same(deniedRequests(username, await cluster.auditEvents()), [], `no request of ${username} is denied`);
  }
}

function binding(role: string, user: string): JsonObject {
  const group = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name: `${role}-of-test` },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: group, kind: "User", name: user }],
  };
}

/**
 * Makes the webhook review the access to a selector, and fetch a namespace and a selector. It fetches a namespace if
 * the watch of namespaces is more than 100 ms late, and a selector if it admitted a deletion of this selector that the
 * watch has not delivered yet.
 */
async function useRareRights(cluster: PodCluster): Promise<void> {
  for (const name of ["reviewed", "pending"]) {
    await cluster.kubectl(["create", "namespace", name]);
    await cluster.apply([selector(name, ROLE)]);
  }
  const metadata = { name: "a", namespace: "reviewed" };
  await cluster.apply([{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata, spec: {} }]);
  await sendReview(cluster, BUCKETS, { metadata: { name: "a", namespace: "late" }, spec: {} });
  const spec = { arn: ROLE, namespaceSelector: { names: ["pending"] } };
  // The deletion is pending while the inventory contains exactly this version.
  const { body } = await cluster.api.request("GET", `${SELECTORS}/pending`);
  const { uid, resourceVersion } = objectAt(body, "metadata");
  const pending = { metadata: { name: "pending", uid, resourceVersion }, spec };
  await sendReview(cluster, REVIEWED_SELECTORS, pending, "DELETE");
  await sendReview(cluster, REVIEWED_SELECTORS, { metadata: { name: "overlapping" }, spec });
}

/** The kind of the objects in a review, and the path of the webhook. */
interface ReviewedKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly path: string;
}

const BUCKETS: ReviewedKind = {
  group: "s3.services.k8s.aws", kind: "Bucket", plural: "buckets", path: "/validate/resources",
};
const REVIEWED_SELECTORS: ReviewedKind = {
  group: "services.k8s.aws", kind: "IAMRoleSelector", plural: "iamroleselectors", path: "/validate/iamroleselectors",
};

/**
 * Sends a review of the creation or deletion of an object to a replica, from the Pod of the replica. Rejects if the
 * replica does not respond.
 */
async function sendReview(
  cluster: PodCluster, { group, kind, plural, path }: ReviewedKind, { metadata, spec }: ReviewedObject,
  operation: "CREATE" | "DELETE" = "CREATE",
): Promise<void> {
  const version = "v1alpha1";
  const written = { apiVersion: `${group}/${version}`, kind, metadata, spec };
  const review = {
    apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview",
    request: {
      uid: "1", kind: { group, version, kind }, resource: { group, version, resource: plural }, operation,
      name: metadata.name, namespace: metadata.namespace, userInfo: { username: "jane" }, dryRun: false,
      object: operation === "CREATE" ? written : null, oldObject: operation === "DELETE" ? written : null,
    },
  };
  const script = `const options = { method: "POST", rejectUnauthorized: false };
    const url = "https://127.0.0.1:9443${path}?timeout=3s";
    require("node:https").request(url, { ...options, headers: { "content-type": "application/json" } },
      (response) => response.pipe(process.stdout)).end(${JSON.stringify(JSON.stringify(review))});`;
  const [pod] = await cluster.pods(NAMESPACE, POD_LABELS);
  const command = ["/usr/local/bin/node", "-e", script];
  const { code, stdout, stderr } = await cluster.exec(NAMESPACE, pod?.name ?? "", "webhook", command);
  if (code !== 0 || !stdout.includes('"response"')) throw new Error(`no response to the review: ${stdout}${stderr}`);
}

interface ReviewedObject {
  readonly metadata: {
    readonly name: string; readonly namespace?: string; readonly uid?: unknown; readonly resourceVersion?: unknown;
  };
  readonly spec: object;
}

/** Returns a function that sends a request as a user. */
function requester(cluster: PodCluster, user: string): (...args: Parameters<PodCluster["api"]["request"]>) => Promise<{
  readonly status: number;
  readonly body: unknown;
}> {
  return async (method, path, body, { headers, ...options } = {}) => (
    cluster.api.request(method, path, body, { ...options, headers: { ...headers, "Impersonate-User": user } })
  );
}

async function ownsSelectors(t: Test, cluster: PodCluster): Promise<void> {
  const request = requester(cluster, OWNER);
  const created = await request("POST", SELECTORS, selector("owned", ROLE));
  const one = `${SELECTORS}/owned`;
  const { body } = await request("GET", one);
  const updated = await request("PUT", one, { ...(isJsonObject(body) && body) });
  const patched = await request("PATCH", one, { metadata: { labels: { a: "b" } } }, { headers: MERGE });
  const deleted = await request("DELETE", one);
  t.same([created, updated, patched, deleted].map(({ status }) => status), [201, 200, 200, 200]);
  t.equal((await request("DELETE", SELECTORS)).status, 403, "cannot delete all selectors in one request");
  await watchSelectors(cluster, OWNER);
}

async function readsSelectors(t: Test, cluster: PodCluster): Promise<void> {
  const request = requester(cluster, TENANT);
  t.equal((await request("GET", `${SELECTORS}/reviewed`)).status, 200);
  t.equal((await request("POST", SELECTORS, selector("tenant", ROLE))).status, 403);
  await watchSelectors(cluster, TENANT);
}

/** Starts a sidecar for Cluster API as the service account of a controller. Resolves when it has read its inventory. */
async function readIdentities(t: Test, { api }: PodCluster): Promise<void> {
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const sidecar = await startServer("sidecar", [
    "--cluster", "--kubeconfig", api.kubeconfig, "--context", "controller", "--sts-endpoint", sts.url,
    "--group", "infrastructure.cluster.x-k8s.io", "--token-file", `${t.testdir({})}/token`,
    "--profile-namespace", NAMESPACE,
  ], ENVIRONMENT);
  // The sidecar watches each kind after it has read the inventory.
  t.teardown(() => sidecar.stop());
}

/** Lists and watches the selectors as a user. The watch ends with the time limit of kubectl. */
async function watchSelectors({ api }: PodCluster, user: string): Promise<void> {
  const { stdout } = await api.kubectl(["get", "iamroleselectors", "--watch", "--request-timeout=1s", `--as=${user}`]);
  if (!stdout.includes("reviewed")) throw new Error(`the list for ${user} has no selector: ${stdout}`);
}
