import type { Test } from "tap";
import { type ExportTarget, fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { ROLE } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import {
  deniesHarmful, deniesHeld, deniesUpdates, exportsOf, keepsStored, prepareAttacks, waives,
} from "../webhook/field-export-attacks.ts";
import { installPolicies, PLAIN_CRD } from "./installed-policies.ts";
import { answerOf, JANE } from "../webhook/requests.ts";

const SETTINGS = {
  controllerServiceAccounts: ["ack-s3/controller", "ack-system/ack-s3-controller"],
  controllerUsers: ["system:serviceaccount:ack-*:*", "system:serviceaccount:*:ack-controller", "arn:aws:sts::1:*"],
};

onCluster("the policy of FieldExports on a real API server, without the webhook", async (t, cluster) => {
  await cluster.installCRDs([PLAIN_CRD]);
  await prepareAttacks(cluster);
  const to = { kind: "configmap", namespace: "ack-system", name: "ack-role-account-map", key: "evil" };
  t.equal((await cluster.request("POST", exportsOf("team-a"), fieldExport("old", "team-a", to), JANE)).status, 201);
  await installPolicies(cluster);
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("only a stored FieldExport whose spec stays the same is admitted", keepsStored);
  await run("denies each FieldExport that writes into a protected namespace or a CARM map", deniesHarmful);
  await run("denies each update that makes a FieldExport harmful", deniesUpdates);
  await run("denies an update of a FieldExport that is being deleted", deniesHeld);
  await run("accepts a waiver only from a waiver user", waives);
  await run("protects the namespaces of listed controllers and of the Secrets of identities", protectsListed);
  await run("denies ACK controllers each write of a CARM map", deniesControllers);
});

async function protectsListed(t: Test, cluster: Cluster): Promise<void> {
  const answer = async (namespace: string): Promise<string> => {
    const to: ExportTarget = { kind: "secret", name: "s", namespace };
    const path = `${exportsOf("team-a")}?dryRun=All`;
    return answerOf(await cluster.request("POST", path, fieldExport("s", "team-a", to), JANE));
  };
  const unlisted = ["ack-s3", "ack-rds", "capa", "ack"];
  for (const namespace of unlisted) t.match(await answer(namespace), /^201 /, namespace);
  await installPolicies(cluster, {
    settings: { ...SETTINGS, capaServiceAccounts: ["capa/manager"], allowedAccounts: ["999900001111"] },
    probe: { arn: ROLE, namespaceSelector: { names: ["a"] } },
  });
  for (const namespace of ["ack-s3", "ack-rds", "capa", "ack-system"]) t.match(await answer(namespace), /^422 .*FE-01/);
  for (const namespace of ["ack", "capa-system", "team-b", ""]) t.match(await answer(namespace), /^201 /, namespace);
}

async function deniesControllers(t: Test, cluster: Cluster): Promise<void> {
  const maps = "/api/v1/namespaces/ack-system/configmaps";
  const map = { metadata: { name: "ack-role-account-map", finalizers: ["example.com/hold"] }, data: {} };
  t.equal((await cluster.request("POST", maps, map)).status, 201);
  const rbac = "rbac.authorization.k8s.io";
  const binding = await cluster.request("POST", `/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: "controller" }, roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", namespace: "ack-system", name: "ack-s3-controller" }],
  });
  t.equal(binding.status, 201);
  const controller = { user: "controller" } as const;
  const write = async (method: string, path: string, body?: object): Promise<string> => {
    const headers = { "content-type": "application/merge-patch+json" };
    const options = method === "PATCH" ? { ...controller, headers } : controller;
    return answerOf(await cluster.request(method, `${path}${path.includes("?") ? "&" : "?"}dryRun=All`, body, options));
  };
  const role = { data: { evil: "arn:aws:iam::111122223333:role/admin" } };
  const attempts = async (): Promise<void> => {
    t.match(await write("PATCH", `${maps}/ack-role-account-map`, role), /^422 .*CM-15 data/s);
    const binary = { binaryData: { evil: "eA==" } };
    t.match(await write("PATCH", `${maps}/ack-role-account-map`, binary), /^422 .*CM-15 data/s);
  };
  await attempts();
  t.match(await write("DELETE", `${maps}/ack-role-account-map`), /^422 .*CM-15 /s);
  t.match(await write("DELETE", maps), /^422 .*CM-15 /s, "a request that deletes a collection");
  t.match(await write("POST", maps, { metadata: { name: "ack-role-team-map" }, ...role }), /^422 .*CM-15 /s);
  t.match(await write("POST", maps, { metadata: { name: "other" }, ...role }), /^201 /);
  const elsewhere = maps.replace("ack-system", "team-a");
  t.match(await write("POST", elsewhere, { metadata: { name: "ack-role-account-map" }, ...role }), /^201 /);
  t.equal((await cluster.request("DELETE", `${maps}/ack-role-account-map`)).status, 200, "an administrator");
  await attempts();
}
