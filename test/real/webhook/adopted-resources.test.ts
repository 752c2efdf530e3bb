// An AdoptedResource makes an ACK controller before runtime 0.62 create a resource with any labels, in any namespace.
import { adoptedBucket } from "../../fixtures/ack-adopted-resource-crd.ts";
import { ROLE, selectorObject } from "../../shared/objects.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { ADOPTED, deniesOtherNamespaces, deniesRedirection, prepareAdoptions } from "./adopted-resource-attacks.ts";
import { apply, installWebhook, SELECTORS } from "./installed-webhook.ts";
import { answerOf, create, grant, JANE, RBAC } from "./requests.ts";

function byTier(tier: string, namespace: string): object {
  const resourceLabelSelector = { matchLabels: { tier } };
  return selectorObject(tier, { arn: ROLE, namespaceSelector: { names: [namespace] }, resourceLabelSelector });
}

const GOLD = adoptedBucket({ labels: { tier: "gold" } });
const SILVER = adoptedBucket({ labels: { tier: "silver" } });

onCluster("AdoptedResources on a real API server, with the webhook and ACK-09", async (t, cluster) => {
  // The API server accepts the configurations before the CustomResourceDefinition exists.
  const webhook = await installWebhook(t, cluster, ["--check", "ACK-09=deny"]);
  await prepareAdoptions(cluster);
  for (const tier of ["gold", "silver"]) await create(cluster, SELECTORS, byTier(tier, "team-a"));
  const use = {
    apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], resourceNames: ["gold"], verbs: ["use"],
  };
  await apply(cluster, grant("use", [use], [{ apiGroup: RBAC, kind: "User", name: "jane" }]));
  const mayAdopt = async (): Promise<boolean> => (
    (await cluster.request("POST", `${ADOPTED}?dryRun=All`, GOLD, JANE)).status === 201
  );
  t.ok(await until(mayAdopt), "the inventory has the selectors, and jane may use gold");
  await t.test("requires the verb use on the selector of the created resource", async (tt) => {
    tt.match(answerOf(await cluster.request("POST", ADOPTED, SILVER, JANE)), new RegExp(
      String.raw`^422 .*ACK-09 spec\.kubernetes\.metadata: the requester may not use IAMRoleSelector silver`, "s",
    ));
    const plain = answerOf(await cluster.request("POST", ADOPTED, adoptedBucket(), JANE));
    tt.match(plain, /ACK-09 .* the controllers' own role/s);
  });
  await t.test("denies a resource in another namespace", async (tt) => deniesOtherNamespaces(tt, cluster));
  await t.test("denies each update to another namespace", async (tt) => deniesRedirection(tt, cluster, GOLD));
  await t.test("rejects AdoptedResources while the webhook is down", async (tt) => {
    await webhook.stop("SIGKILL");
    tt.match(answerOf(await cluster.request("POST", ADOPTED, GOLD, JANE)), /^500 .*adoptedresources\.validate/s);
  });
});
