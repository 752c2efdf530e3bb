import type { Test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import { selectorFixtures } from "../../fixtures/selectors/selector-fixtures.ts";
import { ackCRD } from "../../fixtures/ack-crds.ts";
import { clusterObject } from "../../shared/decisions/identities/objects.ts";
import { bucketObject, namespaceObject } from "../../shared/decisions/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { installWebhook, type SelectorCRD } from "../webhook/installed-webhook.ts";
import { BUCKET_CASES, CLUSTER_CASES, NAMESPACE_CASES, RESOLUTION_CASES } from "./cases.ts";
import { installPolicies, isDeniedByPolicy, SELECTORS } from "./installed-policies.ts";

const HOSTS = ["a.example", "b.example:8443"];
const NAMESPACES = "/api/v1/namespaces";
const CLUSTERS = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/team-a/awsclusters";
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";

for (const crd of ["ACK", "own"] as const) {
  onCluster(`the policies and the webhook with the CRD ${crd}`, async (t, cluster) => {
    await comparesVerdicts(t, cluster, crd);
  });
}

async function comparesVerdicts(t: Test, cluster: Cluster, crd: SelectorCRD): Promise<void> {
  await cluster.installCRDs([ackCRD("infrastructure.cluster.x-k8s.io", "AWSCluster", "awsclusters", ["v1beta2"])]);
  await installWebhook(t, cluster, ["--allowed-endpoint-hosts", HOSTS.join(",")], crd);
  await cluster.request("POST", NAMESPACES, namespaceObject("team-a"));
  const writes = writesOf(crd);
  const before = await verdicts(cluster, writes);
  await installPolicies(cluster, { settings: { allowedEndpointHosts: HOSTS } });
  const after = await verdicts(cluster, writes);
  let denied = 0;
  for (const [i, { name }] of writes.entries()) {
    const [first, second] = [before[i], after[i]];
    t.equal(second?.status, first?.status, `${name}: ${stringAt(second?.body, "message") ?? ""}`);
    if (second !== undefined && isDeniedByPolicy(second)) denied++;
  }
  t.ok(denied > 30, `the policies deny ${denied} writes before the webhook is called`);
}

interface Write {
  readonly name: string;
  readonly path: string;
  readonly object: JsonObject;
}

function writesOf(crd: SelectorCRD): readonly Write[] {
  const ofRuntime = selectorFixtures("malformed", "good", "warned");
  const selectors = ofRuntime.map(({ name, object }) => ({ name, path: SELECTORS, object }));
  if (crd === "ACK") return selectors;
  const annotated = [...BUCKET_CASES, ...RESOLUTION_CASES].map(([annotations]) => (
    { name: JSON.stringify(annotations), path: BUCKETS, object: bucketObject({ name: "new", annotations }) }
  ));
  const namespaces = NAMESPACE_CASES.map(([annotations]) => (
    { name: JSON.stringify(annotations), path: NAMESPACES, object: namespaceObject("new", {}, annotations) }
  ));
  const clusters = CLUSTER_CASES.map(([annotations]) => {
    const object = { ...clusterObject("new", "controller"), metadata: { name: "new", annotations } };
    return { name: JSON.stringify(annotations).slice(0, 200), path: CLUSTERS, object };
  });
  return [...selectors, ...annotated, ...clusters, ...namespaces];
}

async function verdicts(cluster: Cluster, writes: readonly Write[]): Promise<readonly ApiResponse[]> {
  const responses: ApiResponse[] = [];
  for (const { path, object } of writes) {
    responses.push(await cluster.request("POST", `${path}?dryRun=All&fieldValidation=Strict`, object));
  }
  return responses;
}
