import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../../shared/formats/json.ts";
import { CAPA_CRDS } from "../../../fixtures/capa/crds.ts";
import { controllerIdentity, INFRASTRUCTURE, roleIdentity } from "../../../shared/capa-objects.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { IDENTITIES } from "../../apiserver/identities.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { apply, installWebhook } from "../installed-webhook.ts";
import { installRights, leads, metric, OPTIONS } from "./replicas.ts";

const API = `/apis/${INFRASTRUCTURE}/v1beta2`;
const CONTROLLERS = `${API}/awsclustercontrolleridentities`;
const SINGLETON = `${CONTROLLERS}/default`;
const FLAGS = [
  "--namespace", "ack-role-resolver", "--auto-controller-identity", "team-a,team-b",
];
const AS_WEBHOOK = { headers: { "Impersonate-User": IDENTITIES.webhook.username } };
const created = (outcome: string): string => String.raw`controller_identity_creations_total\{outcome="${outcome}"\}`;

onCluster("the leader creates the AWSClusterControllerIdentity with a list of namespaces", async (t, cluster) => {
  await installRights(cluster);
  // The leader reviews its own request.
  const replica = await installWebhook(t, cluster, FLAGS);
  t.ok(await until(() => leads(replica)));

  await t.test("after the kind is installed, and after the right is granted", async (tt) => {
    tt.equal(await metric(replica, created("failed")), null, "waits for the kind");
    await apply(cluster, CAPA_CRDS);
    await until(async () => ((await metric(replica, created("failed"))) ?? 0) > 0);
    tt.match(JSON.stringify(replica.log), /"fix":"grant the verb create on awsclustercontrolleridentities/);
    await apply(cluster, manifestObjects("rbac", { ...OPTIONS, autoControllerIdentity: ["none"] }));
    tt.match(await singleton(cluster), {
      metadata: { labels: { "clusterctl.cluster.x-k8s.io/move-hierarchy": "" } },
      spec: { allowedNamespaces: { list: ["team-a", "team-b"] } },
    });
  });

  await t.test("again after its deletion, but it does not change an identity of another user", async (tt) => {
    const before = stringAt(await singleton(cluster), "metadata", "uid");
    tt.equal((await cluster.request("DELETE", SINGLETON)).status, 200);
    const isNew = async (): Promise<boolean> => {
      const { status, body } = await cluster.request("GET", SINGLETON);
      return status === 200 && stringAt(body, "metadata", "uid") !== before;
    };
    tt.ok(await until(isNew));
    tt.equal(await metric(replica, created("ok")), 2);
    const other = await installWebhook(t, cluster, FLAGS.slice(0, 3));
    await replica.stop();
    tt.ok(await until(() => leads(other)));
    tt.same(field((await singleton(cluster))["spec"], "allowedNamespaces"), { list: ["team-a", "team-b"] });
    tt.equal(await metric(other, created("ok")), null);
    await other.stop();
  });

  await t.test("and the policy allows its service account nothing else", async (tt) => {
    // A replica with --auto-controller-identity would create the identity again while the test deletes it.
    await installWebhook(t, cluster);
    await limitsServiceAccount(tt, cluster);
  });
});

/** Waits until the identity exists, and returns it. */
async function singleton(cluster: Cluster): Promise<JsonObject> {
  let found: unknown = null;
  await until(async () => {
    const { status, body } = await cluster.request("GET", SINGLETON);
    found = body;
    return status === 200;
  });
  return isJsonObject(found) ? found : {};
}

/** The service account has every right on identities, so that only the policy limits it. */
async function limitsServiceAccount(t: Test, cluster: Cluster): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  const user = IDENTITIES.webhook.username;
  await cluster.request("POST", `/apis/${group}/v1/clusterroles`, {
    metadata: { name: "all-identities" }, rules: [{ apiGroups: [INFRASTRUCTURE], resources: ["*"], verbs: ["*"] }],
  });
  await cluster.request("POST", `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: "all-identities" }, roleRef: { apiGroup: group, kind: "ClusterRole", name: "all-identities" },
    subjects: [{ kind: "User", apiGroup: group, name: user }],
  });
  const denied = async (method: string, path: string, body?: object): Promise<void> => {
    const response = await cluster.request(method, path, body, AS_WEBHOOK);
    t.equal(response.status, 403, `${method} ${path}: ${JSON.stringify(field(body, "spec"))}`);
    t.match(stringAt(response.body, "message"), /may only update .* and clusters, and create the AWSClusterController/);
  };
  await denied("DELETE", SINGLETON);
  await denied("POST", `${API}/awsclusterroleidentities`, roleIdentity("a", "controller", { list: ["team-a"] }));
  const stored = await singleton(cluster);
  const metadata = stored["metadata"];
  const changed = { ...(isJsonObject(metadata) && metadata), labels: { a: "b" } };
  await denied("PUT", SINGLETON, { ...stored, metadata: changed });
  await cluster.request("DELETE", SINGLETON);
  const forbidden = [{}, null, { list: null }, { selector: {} }, { list: null, selector: {} },
    { list: ["a"], selector: { matchLabels: { a: "b" } } }];
  for (const allowed of forbidden) await denied("POST", CONTROLLERS, controllerIdentity(allowed));
  for (const allowed of [{ list: [] }, { list: [], selector: {} }, { list: ["team-a"], selector: {} }]) {
    const { status, body } = await cluster.request("POST", CONTROLLERS, controllerIdentity(allowed), AS_WEBHOOK);
    t.equal(status, 201, `${JSON.stringify(allowed)}: ${stringAt(body, "message")}`);
    await cluster.request("DELETE", SINGLETON);
  }
}
