import type { Test } from "tap";
import { nameOf } from "../../../../manifests/rbac.ts";
import { manifestObjects } from "../../../../manifests/render.ts";
import { CAPA_CRDS } from "../../../fixtures/capa/crds.ts";
import { get } from "../../../loopback-request.ts";
import {
  clusterObject, controllerIdentity, INFRASTRUCTURE, roleARN, roleIdentity,
} from "../../../shared/capa-objects.ts";
import { ROLE, selectorObject } from "../../../shared/objects.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { bucket, buckets } from "../buckets.ts";
import { apply, SELECTORS } from "../installed-webhook.ts";
import { create, grant, RBAC } from "../requests.ts";
import { startRefusedSidecar, TOKEN } from "./refused-sidecar.ts";
import { installRights, OPTIONS } from "./replicas.ts";

const API = `/apis/${INFRASTRUCTURE}/v1beta2`;
const NAMESPACES = "/api/v1/namespaces";
const FLAGS = ["--group", INFRASTRUCTURE];
const CONTROLLER = { kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" };

onCluster("kubectl describe shows why STS rejects a role", async (t, cluster) => {
  await installRights(cluster);
  await createObjects(cluster);
  const other = ["bucket", "other", "--namespace", "team-b"];

  await t.test("after a request for the role of a selector, on its resources", async (tt) => {
    const address = await startRefusedSidecar(tt, cluster, ["--group", "s3.services.k8s.aws"]);
    await refuses(tt, `http://${address}/v1/credentials/selectors/team-a`);
    for (const object of [["iamroleselector", "team-a"], ["bucket", "b1", "--namespace", "team-a"]]) {
      const text = await describeUntilRefused(cluster, object);
      tt.match(text, `STS denied sts:AssumeRole on ${ROLE} for `);
      tt.match(text, /RoleRefused .* Show it: `ack-role-resolver trust check --iam .* STS returned AccessDenied /);
    }
    tt.notMatch((await cluster.kubectl(["describe", ...other])).stdout, "RoleRefused", "the other role");
  });

  await t.test("after a request for an identity that is chained on the refused role", async (tt) => {
    const address = await startRefusedSidecar(tt, cluster, FLAGS, roleARN("source"));
    const path = "/v1/credentials/identities/AWSClusterRoleIdentity/workload?namespace=team-a";
    tt.match(await refuses(tt, `http://${address}${path}`), /AWSClusterRoleIdentity \\"source\\" cannot be assumed/);
    for (const object of [["awsclusterroleidentity", "source"], ["awscluster", "c1", "--namespace", "team-a"]]) {
      const text = await describeUntilRefused(cluster, object);
      tt.match(text, /RoleRefused .*AWSClusterRoleIdentity "source" cannot be assumed: STS denied sts:AssumeRole on /);
    }
    for (const object of [["awsclusterroleidentity", "workload"], ["awscluster", "other", "--namespace", "team-a"]]) {
      const { stdout } = await cluster.kubectl(["describe", ...object]);
      tt.notMatch(stdout, "RoleRefused", object.join(" "));
    }
  });

  await t.test("before a cluster needs the role, with --check CI-35=warn", async (tt) => {
    await startRefusedSidecar(tt, cluster, [...FLAGS, "--check", "CI-35=warn"], roleARN("unused"));
    const text = await describeUntilRefused(cluster, ["awsclusterroleidentity", "unused"]);
    tt.match(text, /RoleRefused .*AWSClusterRoleIdentity "unused" cannot be assumed: STS denied sts:AssumeRole on /);
  });
});

async function refuses(t: Test, url: string): Promise<string> {
  const { status, body } = await get(url, { authorization: TOKEN });
  t.equal(status, 503, body);
  return body;
}

async function describeUntilRefused(cluster: Cluster, object: readonly string[]): Promise<string> {
  let text = "";
  await until(async () => {
    text = (await cluster.kubectl(["describe", ...object])).stdout;
    return text.includes("RoleRefused");
  });
  return text;
}

/**
 * The sidecar has the rights that the chart grants with `injection.enabled` and those of a sidecar that serves
 * identities, and the controllers have those on their kinds.
 */
async function createObjects(cluster: Cluster): Promise<void> {
  await apply(cluster, [...CAPA_CRDS, ...manifestObjects("rbac", { ...OPTIONS, inject: true })]);
  for (const plural of ["awsclusters", "awsclusterroleidentities", "awsclustercontrolleridentities"]) {
    await until(async () => (await cluster.request("GET", `${API}/${plural}`)).status === 200);
  }
  await apply(cluster, [
    ...grant("list-own-kinds", [
      { apiGroups: [INFRASTRUCTURE], resources: ["awsclusters"], verbs: ["list"] },
      { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["list"] },
    ], [CONTROLLER]),
    {
      apiVersion: `${RBAC}/v1`, kind: "ClusterRoleBinding", metadata: { name: "identities-of-test" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: nameOf("identities") }, subjects: [CONTROLLER],
    },
  ]);
  const clusters = `${API}/namespaces/team-a/awsclusters`;
  for (const name of ["team-a", "team-b"]) await create(cluster, NAMESPACES, { metadata: { name } });
  const selector = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
  for (const [path, object] of [
    [SELECTORS, selector], [buckets("team-a"), bucket("b1")], [buckets("team-b"), bucket("other", {}, "team-b")],
    [`${API}/awsclustercontrolleridentities`, controllerIdentity()],
    ...[roleIdentity("source"), roleIdentity("workload", "role/source"), roleIdentity("unused")].map((one) => (
      [`${API}/awsclusterroleidentities`, one] as const
    )),
    [clusters, clusterObject("c1", "role/workload", "team-a")],
    [clusters, clusterObject("other", "role/unused", "team-a")],
  ] as const) await create(cluster, path, object);
}
