import { nameOf } from "../../../../manifests/rbac.ts";
import { manifestObjects } from "../../../../manifests/render.ts";
import { stringAt } from "../../../../shared/formats/json.ts";
import { CAPA_CRDS } from "../../../fixtures/capa/crds.ts";
import { get } from "../../../loopback-request.ts";
import {
  clusterObject, controllerIdentity, INFRASTRUCTURE, roleARN, roleIdentity,
} from "../../../shared/capa-objects.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { apply } from "../installed-webhook.ts";
import { startRefusedSidecar, TOKEN } from "./refused-sidecar.ts";
import { installRights, OPTIONS } from "./replicas.ts";

const API = `/apis/${INFRASTRUCTURE}/v1beta2`;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const FLAGS = ["--group", INFRASTRUCTURE];

onCluster("kubectl describe of an identity and of a cluster shows why STS rejects a role", async (t, cluster) => {
  await installRights(cluster);
  await createObjects(cluster);

  await t.test("after a request for an identity that is chained on the refused role", async (tt) => {
    const address = await startRefusedSidecar(tt, cluster, FLAGS, roleARN("source"));
    const path = "/v1/credentials/identities/AWSClusterRoleIdentity/workload?namespace=team-a";
    const { status, body } = await get(`http://${address}${path}`, { authorization: TOKEN });
    tt.match([status, body], [503, /AWSClusterRoleIdentity \\"source\\" cannot be assumed/]);
    const objects = [["awsclusterroleidentity", "source"], ["awscluster", "c1", "--namespace", "team-a"]];
    for (const object of objects) {
      const text = await describeUntilRefused(cluster, object);
      tt.match(text, /RoleRefused .*AWSClusterRoleIdentity "source" cannot be assumed: STS returned AccessDenied/);
      tt.match(text, /In the trust policy of .*role\/source, allow sts:AssumeRole to /);
    }
    for (const object of [["awsclusterroleidentity", "workload"], ["awscluster", "other", "--namespace", "team-a"]]) {
      const { stdout } = await cluster.kubectl(["describe", ...object]);
      tt.notMatch(stdout, "RoleRefused", object.join(" "));
    }
  });

  await t.test("before a cluster needs the role, with --check CI-35=warn", async (tt) => {
    await startRefusedSidecar(tt, cluster, [...FLAGS, "--check", "CI-35=warn"], roleARN("unused"));
    const text = await describeUntilRefused(cluster, ["awsclusterroleidentity", "unused"]);
    tt.match(text, /RoleRefused .*AWSClusterRoleIdentity "unused" cannot be assumed: STS returned AccessDenied/);
  });
});

async function describeUntilRefused(cluster: Cluster, object: readonly string[]): Promise<string> {
  let text = "";
  await until(async () => {
    text = (await cluster.kubectl(["describe", ...object])).stdout;
    return text.includes("RoleRefused");
  });
  return text;
}

/** The sidecar has the rights of a sidecar that serves identities, and the right of CAPA to list its clusters. */
async function createObjects(cluster: Cluster): Promise<void> {
  await apply(cluster, [...CAPA_CRDS, ...manifestObjects("rbac", { ...OPTIONS, inject: true })]);
  await until(async () => (await cluster.request("GET", `${API}/awsclusters`)).status === 200);
  await until(async () => (
    (await cluster.request("GET", `${API}/awsclusterroleidentities`)).status === 200
  ));
  const clusters = `${API}/namespaces/team-a/awsclusters`;
  const rules = [{ apiGroups: [INFRASTRUCTURE], resources: ["awsclusters"], verbs: ["list"] }];
  const objects: readonly (readonly [path: string, object: object])[] = [
    ["/api/v1/namespaces", { metadata: { name: "team-a" } }],
    [`${API}/awsclustercontrolleridentities`, controllerIdentity()],
    ...[roleIdentity("source"), roleIdentity("workload", "role/source"), roleIdentity("unused")].map((one) => (
      [`${API}/awsclusterroleidentities`, one] as const
    )),
    [clusters, clusterObject("c1", "role/workload", "team-a")],
    [clusters, clusterObject("other", "role/unused", "team-a")],
    [`${RBAC}/clusterroles`, { metadata: { name: "capa" }, rules }],
    ...[nameOf("identities"), "capa"].map((name) => [`${RBAC}/clusterrolebindings`, {
      metadata: { name: `${name}-of-test` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" }],
    }] as const),
  ];
  for (const [path, object] of objects) {
    const { status, body } = await cluster.request("POST", path, object);
    if (status !== 201) throw new Error(`${path}: ${stringAt(body, "message")}`);
  }
}
