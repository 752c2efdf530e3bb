// A FieldExport makes an ACK controller write into a namespace that its author cannot write.
import type { Test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import { fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import {
  deniesHarmful, deniesHeld, deniesUpdates, exportsOf, keepsStored, prepareAttacks, waives,
} from "./field-export-attacks.ts";
import { installWebhook } from "./installed-webhook.ts";
import { answerOf, JANE } from "./requests.ts";

onCluster("FieldExports on a real API server, with the webhook and its default settings", async (t, cluster) => {
  await prepareAttacks(cluster);
  const to = { kind: "configmap", namespace: "ack-system", name: "ack-role-account-map", key: "evil" };
  t.equal((await cluster.request("POST", exportsOf("team-a"), fieldExport("old", "team-a", to), JANE)).status, 201);
  const webhook = await installWebhook(t, cluster);
  const probe = fieldExport("probe", "team-a", to);
  await until(async () => (await cluster.request("POST", `${exportsOf("team-a")}?dryRun=All`, probe)).status === 422);
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await t.test("the denial names the object and the fix", async (tt) => {
    const { body } = await cluster.request("POST", exportsOf("team-a"), probe, JANE);
    tt.match(stringAt(body, "message"), "FE-01 spec.to.namespace: the controller would write "
      + '"ack-system/ack-role-account-map", whose namespace belongs to ACK controllers. Export to another ConfigMap or '
      + "Secret in the namespace of the FieldExport.");
  });
  await run("only a stored FieldExport whose spec stays the same is admitted", keepsStored);
  await run("denies each FieldExport that writes into a protected namespace or a CARM map", deniesHarmful);
  await run("denies each update that makes a FieldExport harmful", deniesUpdates);
  await run("denies an update of a FieldExport that is being deleted", deniesHeld);
  await run("accepts a waiver only from a waiver user", waives);
  await t.test("rejects FieldExports while the webhook is down, but not their deletion", async (tt) => {
    const mine = fieldExport("mine", "team-a", { kind: "configmap", name: "mine" });
    tt.equal((await cluster.request("POST", exportsOf("team-a"), mine, JANE)).status, 201);
    await webhook.stop("SIGKILL");
    const created = await cluster.request("POST", exportsOf("team-a"), probe, JANE);
    tt.match(answerOf(created), /^500 .*fieldexports\.validate/s);
    tt.equal((await cluster.request("DELETE", `${exportsOf("team-a")}/mine`, undefined, JANE)).status, 200);
  });
});
