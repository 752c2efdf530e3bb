import { manifestObjects } from "../../../../manifests/render.ts";
import { stringAt } from "../../../../shared/formats/json.ts";
import { get } from "../../../loopback-request.ts";
import { selectorObject } from "../../../shared/objects.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { bucket, buckets } from "../buckets.ts";
import { apply, SELECTORS } from "../installed-webhook.ts";
import { startRefusedSidecar, TOKEN } from "./refused-sidecar.ts";
import { installRights, OPTIONS } from "./replicas.ts";

const ROLE = "arn:aws:iam::111122223333:role/team-a";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

onCluster("kubectl describe of a resource shows why STS rejects its role", async (t, cluster) => {
  await installRights(cluster);
  await createObjects(cluster);
  const address = await startRefusedSidecar(t, cluster, ["--group", "s3.services.k8s.aws"]);
  const { status } = await get(`http://${address}/v1/credentials/selectors/team-a`, { authorization: TOKEN });
  t.equal(status, 503);
  for (const object of [["iamroleselector", "team-a"], ["bucket", "b1", "--namespace", "team-a"]]) {
    let text = "";
    const isShown = async (): Promise<boolean> => {
      text = (await cluster.kubectl(["describe", ...object])).stdout;
      return text.includes("RoleRefused");
    };
    await until(isShown);
    t.match(text, /RoleRefused .*STS returned AccessDenied .*not authorized/);
    t.match(text, /In the trust policy of .*role\/team-a, allow sts:AssumeRole to /);
  }
  const other = await cluster.kubectl(["describe", "bucket", "other", "--namespace", "team-b"]);
  t.notMatch(other.stdout, "RoleRefused", "the role of the other resource is not affected");
});

/** The sidecar has the rights that the chart grants with `injection.enabled`, and the controller those on its kind. */
async function createObjects(cluster: Cluster): Promise<void> {
  await apply(cluster, manifestObjects("rbac", { ...OPTIONS, inject: true }));
  const spec = { arn: ROLE, namespaceSelector: { names: ["team-a"] } };
  const name = "bucket-controller";
  const objects: readonly (readonly [path: string, object: object])[] = [
    ...["team-a", "team-b"].map((namespace) => ["/api/v1/namespaces", { metadata: { name: namespace } }] as const),
    [SELECTORS, selectorObject("team-a", spec)],
    [buckets("team-a"), bucket("b1")],
    [buckets("team-b"), bucket("other", {}, "team-b")],
    [`${RBAC}/clusterroles`, {
      metadata: { name }, rules: [{ apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["list"] }],
    }],
    [`${RBAC}/clusterrolebindings`, {
      metadata: { name }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" }],
    }],
  ];
  for (const [path, object] of objects) {
    const { status, body } = await cluster.request("POST", path, object);
    if (status !== 201) throw new Error(`${path}: ${stringAt(body, "message")}`);
  }
}
