import type { Test } from "tap";
import { EVENTS_ROLE } from "../../../manifests/rbac.ts";
import { isJsonObject, type JsonObject } from "../../../shared/decisions/kubernetes/json.ts";
import { IDENTITIES } from "../../real/apiserver/identities.ts";
import { until } from "../../real/apiserver/until.ts";
import { SELECTORS } from "../../real/webhook/installed-webhook.ts";
import type { PodCluster } from "../cluster.ts";
import { NAMESPACE, POD_LABELS } from "../webhook/installed.ts";
import { selector } from "../webhook/selector.ts";
import type { Release } from "./release.ts";
import { deniedRequests, rightsIn, unusedRights } from "./rights.ts";

const EFFECT_LIMIT_MS = 30_000;
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
  const bindings = [binding("ack-role-resolver-selector-owner", OWNER), binding("ack-role-resolver-tenant", TENANT)];
  await cluster.apply(bindings);
  await useRareRights(cluster);
  await ownsSelectors(t, cluster);
  await readsSelectors(t, cluster);
  const all = rightsIn([...await release.objects(), ...bindings]);
  const rights = all.filter(({ role, users }) => role !== EVENTS_ROLE || users.length > 0);
  t.ok(rights.length > 0);
  const unused = async (): Promise<readonly string[]> => unusedRights(rights, await cluster.auditEvents());
  await until(async () => (await unused()).length === 0, EFFECT_LIMIT_MS);
  t.same(await unused(), [], "each right is used");
  t.same(deniedRequests(IDENTITIES.webhook.username, await cluster.auditEvents()), [], "no request is denied");
}

function binding(role: string, user: string): JsonObject {
  const group = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name: `${user}-of-test` },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: group, kind: "User", name: user }],
  };
}

/** Makes the webhook review the access to a selector, and fetch a namespace. */
async function useRareRights(cluster: PodCluster): Promise<void> {
  await cluster.kubectl(["create", "namespace", "reviewed"]);
  await cluster.apply([selector("reviewed", ROLE)]);
  const metadata = { name: "a", namespace: "reviewed" };
  await cluster.apply([{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata, spec: {} }]);
  const [pod] = await cluster.pods(NAMESPACE, POD_LABELS);
  await sendReview(cluster, pod?.name ?? "");
}

/**
 * Sends a review of a resource in a namespace that the webhook does not know. The API server sends such a review only
 * if the watch of namespaces is more than 100 ms late.
 */
async function sendReview(cluster: PodCluster, pod: string): Promise<void> {
  const kind = { group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" };
  const resource = { group: kind.group, version: kind.version, resource: "buckets" };
  const object = {
    apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, metadata: { name: "a", namespace: "late" }, spec: {},
  };
  const review = {
    apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview",
    request: {
      uid: "1", kind, resource, name: "a", namespace: "late", operation: "CREATE", userInfo: { username: "jane" },
      object, oldObject: null, dryRun: true,
    },
  };
  const script = `const options = { method: "POST", rejectUnauthorized: false };
    const url = "https://127.0.0.1:9443/validate/resources?timeout=3s";
    require("node:https").request(url, { ...options, headers: { "content-type": "application/json" } },
      (response) => response.pipe(process.stdout)).end(${JSON.stringify(JSON.stringify(review))});`;
  const { code, stdout, stderr } = await cluster.exec(NAMESPACE, pod, "webhook", ["/usr/local/bin/node", "-e", script]);
  if (code !== 0 || !stdout.includes('"response"')) throw new Error(`no response to the review: ${stdout}${stderr}`);
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

/** Lists and watches the selectors as a user. The watch ends with the time limit of kubectl. */
async function watchSelectors({ api }: PodCluster, user: string): Promise<void> {
  const { stdout } = await api.kubectl(["get", "iamroleselectors", "--watch", "--request-timeout=1s", `--as=${user}`]);
  if (!stdout.includes("reviewed")) throw new Error(`the list for ${user} has no selector: ${stdout}`);
}
