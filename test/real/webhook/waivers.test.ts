// Attempts to set the annotation that waives checks, on a real API server.
import { onCluster } from "../apiserver/on-cluster.ts";
import { installWebhook } from "./installed-webhook.ts";
import {
  ACK, CAPA_MANAGER, createKinds, deniesControllers, deniesEveryPath, keepsWaivers, prepareKinds,
} from "./waiver-attacks.ts";

onCluster("waivers on a real API server", async (t, cluster) => {
  await prepareKinds(cluster);
  await installWebhook(t, cluster, ["--controller-users", "ack-system/ack-s3-controller"]);
  await createKinds(cluster);
  await t.test("denies a new waiver on each kind, through the object and each subresource", async (tt) => (
    deniesEveryPath(tt, cluster)
  ));
  await t.test("denies a new waiver by an ACK controller", async (tt) => deniesControllers(tt, cluster, ACK));
  await t.test("denies a new waiver by CAPA", async (tt) => deniesControllers(tt, cluster, CAPA_MANAGER));
  await t.test("a controller keeps the waiver of a waiver user", async (tt) => keepsWaivers(tt, cluster, ACK));
});
