import { adoptedBucket } from "../../fixtures/ack-adopted-resource-crd.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { deniesOtherNamespaces, deniesRedirection, prepareAdoptions } from "../webhook/adopted-resource-attacks.ts";
import { installPolicies, PLAIN_CRD } from "./installed-policies.ts";

onCluster("the policy of AdoptedResources on a real API server, without the webhook", async (t, cluster) => {
  await cluster.installCRDs([PLAIN_CRD]);
  await installPolicies(cluster);
  // The API server accepts the policy before the CustomResourceDefinition exists.
  await prepareAdoptions(cluster);
  await t.test("denies a resource in another namespace", async (tt) => deniesOtherNamespaces(tt, cluster));
  await t.test("denies each update to another namespace", async (tt) => {
    await deniesRedirection(tt, cluster, adoptedBucket());
  });
});
