import type { Test } from "tap";
import { field } from "../../../../shared/formats/json.ts";
import { REFERRER_KINDS } from "../../../../shared/core/capa-kinds.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { CAPA, installCAPA } from "./installed-capa.ts";
import {
  API, type Change, collection, CONTROLLER, CONTROLLERS, create, identity, LIST, outcomeOf, patch, referrer, refTo,
  remove, role, ROLES, send, STATICS,
} from "./objects.ts";

// The writes of CAPA, Cluster API and clusterctl, which no check may deny. Sources: kubernetes-sigs/cluster-api
// cmd/clusterctl/client/cluster/mover.go, and the controllers and webhooks of cluster-api-provider-aws v2.10.

const MOVE_HIERARCHY = { labels: { "clusterctl.cluster.x-k8s.io/move-hierarchy": "" } };
const OWNER = { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Cluster", name: "moved", uid: "1" };
const FINALIZER = { finalizers: ["awscluster.infrastructure.cluster.x-k8s.io"] };
const PAUSED = { annotations: { "cluster.x-k8s.io/paused": "true", "clusterctl.cluster.x-k8s.io/block-move": "" } };
const DELETE_FOR_MOVE = { annotations: { "clusterctl.cluster.x-k8s.io/delete-for-move": "" } };
const BROKEN = `${STATICS}/broken`;
const SECRETS = "/api/v1/namespaces/capa-system/secrets";

const keys = (name: string, secretRef: string, metadata = {}): object => (
  identity("Static", name, { secretRef, allowedNamespaces: LIST }, metadata)
);
const asCAPA = (change: Change): Change => ({ ...change, as: CAPA });

/** Steps that run in order. Each step states what happens, and must be admitted. */
type Steps = readonly (readonly [step: string, change: Change])[];

const IDENTITIES: Steps = [
  ["CAPA creates identities with the empty texts of its defaulter",
    asCAPA(create(ROLES, role("defaulted", { roleARN: "" }, MOVE_HIERARCHY)))],
  ["CAPA creates a static identity with an empty secretRef",
    asCAPA(create(STATICS, keys("defaulted", "", MOVE_HIERARCHY)))],
  ["a user changes a label of a stored identity without a Secret",
    patch(`${STATICS}/without-secret`, { metadata: MOVE_HIERARCHY })],
  ["CAPA labels the singleton", asCAPA(patch(`${CONTROLLERS}/default`, { metadata: MOVE_HIERARCHY }))],
  ["a user writes the singleton in the spelling of CAPA",
    patch(`${CONTROLLERS}/default`, { spec: { allowedNamespaces: { ...LIST, selector: {} } } })],
  ["a user creates a Secret", create(SECRETS, {
    apiVersion: "v1", kind: "Secret", metadata: { name: "creds" },
    data: { AccessKeyID: "YQ==", SecretAccessKey: "Yg==" },
  })],
  ["a user creates its identity", create(STATICS, keys("keys", "creds"))],
  ["CAPA makes the identity the owner of the Secret", asCAPA(patch(`${SECRETS}/creds`, {
    metadata: { ownerReferences: [{ apiVersion: API, kind: "AWSClusterStaticIdentity", name: "keys", uid: "1" }] },
  }))],
  ["a controller adds a finalizer to an identity", asCAPA(patch(`${STATICS}/keys`, { metadata: FINALIZER }))],
  ["a user deletes an identity that nothing uses", remove(`${STATICS}/keys`)],
  ["CAPA removes the finalizer", asCAPA(patch(`${STATICS}/keys`, { metadata: { finalizers: null } }))],
];

/** An identity whose selector does not convert was stored before the webhook was installed. */
const STORED_FAULT: Steps = [
  ["a user labels the identity", patch(BROKEN, { metadata: { labels: { team: "a" } } })],
  ["CAPA removes a finalizer", asCAPA(patch(BROKEN, { metadata: { finalizers: ["example.com/other"] } }))],
  ["a user repairs the selector", patch(BROKEN, {
    spec: { allowedNamespaces: { selector: { matchLabels: { "-a": null, a: "b" } } } },
  })],
  ["a user deletes the identity", remove(BROKEN)],
  ["a user removes the last finalizer", patch(BROKEN, { metadata: { finalizers: null } })],
];

/** Returns the steps of an object from its creation to `clusterctl move` and its deletion. */
function clusterSteps(kind: string): Steps {
  const path = `${collection(kind)}/moved`;
  const metadata = { ...FINALIZER, ...MOVE_HIERARCHY, ...PAUSED, ownerReferences: [OWNER] };
  return [
    ["a user creates it without a reference", create(collection(kind), referrer(kind, "moved"))],
    ["CAPA writes the default reference",
      asCAPA(patch(path, referrer(kind, "moved", kind.startsWith("ROSA") ? undefined : CONTROLLER)))],
    ["CAPA adds a finalizer", asCAPA(patch(path, { metadata: FINALIZER }))],
    ["Cluster API sets the owner", patch(path, { metadata: { ownerReferences: [OWNER] } })],
    ["CAPA writes the status", asCAPA(patch(`${path}/status`, { status: { ready: true, conditions: [] } }))],
    ["clusterctl pauses it", patch(path, { metadata: PAUSED })],
    ["clusterctl marks it for its deletion", patch(path, { metadata: DELETE_FOR_MOVE })],
    ["clusterctl removes its finalizers", patch(path, { metadata: { finalizers: null } })],
    ["clusterctl deletes it", remove(path)],
    ["clusterctl creates it again, with its owner",
      create(collection(kind), referrer(kind, "moved", CONTROLLER, metadata))],
    ["clusterctl resumes it", patch(path, { metadata: { annotations: { "cluster.x-k8s.io/paused": null } } })],
    ["a user deletes it", remove(path)],
    ["CAPA removes its finalizer", asCAPA(patch(path, { metadata: { finalizers: null } }))],
  ];
}

onCluster("CAPA's own lifecycle of identities and clusters, on a real API server", async (t, cluster) => {
  await installCAPA(t, cluster, ["--identity-secret-namespace", "capa-system"]);
  await runSteps(t, cluster, "identities", IDENTITIES);
  await runSteps(t, cluster, "a stored identity whose selector does not convert", STORED_FAULT);
  for (const { kind } of REFERRER_KINDS) await runSteps(t, cluster, kind, clusterSteps(kind));
  await t.test("objects whose identity is gone can be finalized", async (tt) => finalizesOrphan(tt, cluster));
  await t.test("the webhook never changes an object", async (tt) => {
    const { body } = await send(cluster, create(`${ROLES}?dryRun=All`, role("new")));
    tt.same(field(body, "spec"), field(role("new"), "spec"));
  });
});

async function runSteps(t: Test, cluster: Cluster, what: string, steps: Steps): Promise<void> {
  await t.test(what, async (tt) => {
    for (const [step, change] of steps) {
      tt.match(outcomeOf(await send(cluster, change)), /^20[01]/, step);
    }
  });
}

/** A waiver user deletes an identity in use. Then CAPA still writes and finalizes the cluster. */
async function finalizesOrphan(t: Test, cluster: Cluster): Promise<void> {
  const path = `${collection("AWSCluster")}/orphan`;
  const changes = [
    create(ROLES, role("gone", {}, { annotations: { "ack-role-resolver.io/allow": "CI-31" } })),
    create(collection("AWSCluster"), referrer("AWSCluster", "orphan", refTo("gone"), FINALIZER)),
  ];
  for (const change of changes) {
    t.ok(await until(async () => outcomeOf(await send(cluster, change)).startsWith("201")));
  }
  t.match(outcomeOf(await send(cluster, remove(`${ROLES}/gone`))), /^200/, "system:masters may waive");
  const steps: Steps = [
    ["CAPA writes the status", asCAPA(patch(`${path}/status`, { status: { ready: false } }))],
    ["a user annotates it", patch(path, { metadata: PAUSED })],
    ["a user deletes it", remove(path)],
    ["CAPA removes its finalizer", asCAPA(patch(path, { metadata: { finalizers: null } }))],
  ];
  await runSteps(t, cluster, "after the deletion of the identity", steps);
}
