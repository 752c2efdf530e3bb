// Attempts to set the annotation that waives checks, without the webhook.
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import {
  ACK, CAPA_MANAGER, createKinds, deniesControllers, deniesEveryPath, keepsWaivers, prepareKinds,
} from "../webhook/waiver-attacks.ts";
import { installPolicies, PLAIN_CRD } from "./installed-policies.ts";

onCluster("the policies on waivers on a real API server, without the webhook", async (t, cluster) => {
  await cluster.installCRDs([PLAIN_CRD, ...ACK_CRDS]);
  await prepareKinds(cluster);
  await installPolicies(cluster, { settings: { controllerServiceAccounts: ["ack-system/ack-s3-controller"] } });
  await createKinds(cluster);
  await t.test("deny a new waiver on each kind, through the object and each subresource", async (tt) => (
    deniesEveryPath(tt, cluster)
  ));
  await t.test("deny a new waiver by an ACK controller", async (tt) => deniesControllers(tt, cluster, ACK));
  await t.test("deny a new waiver by CAPA", async (tt) => deniesControllers(tt, cluster, CAPA_MANAGER));
  await t.test("a controller keeps the waiver of a waiver user", async (tt) => keepsWaivers(tt, cluster, ACK));
});
