import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "../../../manifests/policies.ts";
import { listsOf } from "../../../manifests/policies/policy.ts";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { selectorFixtures } from "../../fixtures/selectors/selector-fixtures.ts";
import { ackCRD } from "../../fixtures/ack-crds.ts";
import { clusterObject } from "../../shared/capa-objects.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../../shared/objects.ts";
import { objectAt } from "../../webhook/reviews.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { apply, installWebhook } from "../webhook/installed-webhook.ts";
import { objectsOf } from "./json.ts";
import { BUCKET_CASES, CLUSTER_CASES, NAMESPACE_CASES, RESOLUTION_CASES } from "./cases.ts";
import { dryCreate, installPolicies, isDeniedByPolicy, OPTIONS, SELECTORS } from "./installed-policies.ts";

const HOSTS = ["a.example", "b.example:8443"];
const NAMESPACES = "/api/v1/namespaces";
const CLUSTERS = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/team-a/awsclusters";
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/team-a/buckets";

onCluster("the policies deny no write that the webhook alone admits", async (t, cluster) => {
  await cluster.installCRDs([ackCRD("infrastructure.cluster.x-k8s.io", "AWSCluster", "awsclusters", ["v1beta2"])]);
  await installWebhook(t, cluster, ["--allowed-endpoint-hosts", HOSTS.join(",")], "own");
  await cluster.request("POST", NAMESPACES, namespaceObject("team-a"));
  const writes = writesOf();
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
});

/** IRS-02, IRS-09 and, with the annotations, IRS-16, which no policy contains. */
const FAULTS = { arn: "arn:aws:iam:111122223333:role/a", namespaceSelector: { names: ["Team_A"] } };
const ANNOTATIONS = { "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"unknownField":true}}' };

onCluster("the policies beside the webhook follow the failurePolicy in force", async (t, cluster) => {
  const webhook = await installWebhook(t, cluster);
  const faulty = selectorObject("faulty", FAULTS, { annotations: ANNOTATIONS });
  // The administrator of the cluster is not a waiver user.
  const lists = listsOf({ ...DEFAULT_POLICY_SETTINGS, waiverGroups: ["nobody"] });
  await apply(cluster, admissionPolicies({ ...OPTIONS, hasWebhooks: true }, lists));
  const spec = { arn: ROLE, namespaceSelector: { names: ["team-b"] } };
  const waiving = selectorObject("waiving", spec, { annotations: { "ack-role-resolver.io/allow": "IRS-15" } });
  t.ok(await until(async () => isDeniedByPolicy(await dryCreate(cluster, waiving))), "a policy denies the waiver");
  const { status, body } = await dryCreate(cluster, faulty);
  t.equal(status, 422);
  const message = stringAt(body, "message");
  for (const id of ["IRS-02", "IRS-09", "IRS-16"]) t.match(message, id, "the webhook states every fault");

  await webhook.stop();
  t.match(await dryCreate(cluster, faulty), { status: 500 }, "without the webhook, every selector is denied");
  for (const kind of KINDS) await setFailurePolicy(cluster, kind, "Ignore");
  const good = selectorObject("good", spec);
  t.ok(await until(async () => (await dryCreate(cluster, good)).status === 201), "a valid selector is admitted");
  t.ok(await until(async () => isDeniedByPolicy(await dryCreate(cluster, faulty))), "a malformed selector is denied");
  t.ok(isDeniedByPolicy(await dryCreate(cluster, waiving)), "a waiver is denied");

  await setFailurePolicy(cluster, "validating", "Fail");
  t.ok(await until(async () => (await dryCreate(cluster, faulty)).status === 500), "only the webhook denies again");
  for (const kind of KINDS) await cluster.request("DELETE", configurationPath(kind));
  t.ok(await until(async () => (await dryCreate(cluster, faulty)).status === 201), "no policy repeats what is deleted");
  t.ok(isDeniedByPolicy(await dryCreate(cluster, waiving)), "a waiver is denied");
});

const KINDS = ["mutating", "validating"] as const;

function configurationPath(kind: (typeof KINDS)[number]): string {
  return `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/ack-role-resolver`;
}

async function setFailurePolicy(cluster: Cluster, kind: (typeof KINDS)[number], failurePolicy: string): Promise<void> {
  const path = configurationPath(kind);
  const { body } = await cluster.request("GET", path);
  const webhooks = objectsOf(field(body, "webhooks")).map((one) => ({ ...one, failurePolicy }));
  await cluster.request("PUT", path, { ...objectAt(body), webhooks });
}

interface Write {
  readonly name: string;
  readonly path: string;
  readonly object: JsonObject;
}

function writesOf(): readonly Write[] {
  const ofRuntime = selectorFixtures("malformed", "good", "warned");
  const selectors = ofRuntime.map(({ name, object }) => ({ name, path: SELECTORS, object }));
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
