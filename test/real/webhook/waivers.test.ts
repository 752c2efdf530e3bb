// Attempts to set the annotation that waives checks, on a real API server.
import type { Test } from "tap";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { denial } from "./field-export-attacks.ts";
import { installWebhook } from "./installed-webhook.ts";
import {
  ACK, CAPA_MANAGER, createKinds, deniesControllers, deniesEveryPath, keepsDefinition, keepsWaivers, prepareKinds,
} from "./waiver-attacks.ts";
import { bucket, buckets } from "./buckets.ts";

onCluster("waivers on a real API server", async (t, cluster) => {
  await prepareKinds(cluster);
  await installWebhook(t, cluster, ["--controller-users", "ack-system/ack-s3-controller"]);
  await createKinds(t, cluster);
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("denies a new waiver on each kind, through the object and each subresource", deniesEveryPath);
  await run("denies only a waiver through the status of a CustomResourceDefinition", keepsDefinition);
  await t.test("denies a new waiver by an ACK controller", async (tt) => deniesControllers(tt, cluster, ACK));
  await t.test("denies a new waiver by CAPA", async (tt) => deniesControllers(tt, cluster, CAPA_MANAGER));
  await t.test("a controller keeps the waiver of a waiver user", async (tt) => keepsWaivers(tt, cluster, ACK));
  await t.test("the denial of a controller names the object that it copies", async (tt) => {
    const headers = { "impersonate-user": ACK, "impersonate-group": "system:masters" };
    const object = bucket("copied", { annotations: { "ack-role-resolver.io/allow": "ACK-30" } });
    const answer = denial(await cluster.request("POST", buckets("team-a"), object, { headers }));
    tt.match(answer, `WAIVER-01 metadata.annotations[ack-role-resolver.io/allow]: the requester "${ACK}" is a `
      + 'controller and may not waive "ACK-30". Remove the annotation ack-role-resolver.io/allow from the object from '
      + "which the controller copies it; a waiver user can then set it on this object.");
  });
});
