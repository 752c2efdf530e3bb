import { isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { objectsIn, template, withHelm } from "./helm.ts";

/** Values with which a release has the most of Cluster API. */
const RELEASES: readonly (readonly string[])[] = [
  [], ["runtime=extended"], ["profile=strict"], ["profile=observe", "reconciling=false"],
  ["settings.check={AC-05=deny}", "injection.enabled=true", "webhookConfigurations.excludedNamespaces={legacy}"],
  ["certificates.mode=cert-manager", "monitoring.prometheusRule.enabled=true", "monitoring.dashboard.enabled=true"],
  ["webhook.url=https://webhook.example", "webhook.caBundle=-----BEGIN CERTIFICATE-----"],
  ["policies.enabled=false", "accessReviews=true"],
];

withHelm("without Cluster API, nothing in a release names its groups, and the rest is as with it", async (t, helm) => {
  for (const values of RELEASES) {
    const on = await template(helm, [...values, "capa.enabled=true"]);
    const off = await template(helm, [...values, "capa.enabled=false"]);
    t.same([on.stderr, off.stderr], ["", ""], values.join());
    t.match(on.stdout, "cluster.x-k8s.io");
    t.notMatch(off.stdout, "cluster.x-k8s.io", values.join());
    t.equal(on.stdout, (await template(helm, values)).stdout, "it is on by default");
    const [all, others] = [objectsIn(on.stdout), objectsIn(off.stdout)];
    const left = namesOf(others);
    const missing = namesOf(all).filter((name) => !left.includes(name));
    t.same(missing, values.includes("policies.enabled=false") ? ROLES : [...ROLES, ...POLICIES], values.join());
    t.same(webhooksOf(others), webhooksOf(all).filter((name) => !/\b(clusters|identities)\./.test(name)));
  }
});

const ROLES = ["ClusterRole ack-role-resolver-identities"];
const POLICIES = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map((kind) => (
  `${kind} clusters.ack-role-resolver.io`
));

function namesOf(objects: readonly JsonObject[]): string[] {
  return objects.map((object) => `${stringAt(object, "kind")} ${stringAt(object, "metadata", "name")}`).toSorted();
}

function webhooksOf(objects: readonly JsonObject[]): string[] {
  return objects.flatMap(({ webhooks }) => [webhooks ?? []].flat()).filter(isJsonObject)
    .flatMap((webhook) => stringAt(webhook, "name") ?? []);
}

withHelm("the webhook leaves Cluster API out only if the release does", async (t, helm) => {
  const { stdout } = await template(helm, ["capa.enabled=false"]);
  t.match(stdout, /- webhook\n[^]* - --no-capa\n/);
  t.notMatch((await template(helm)).stdout, "--no-capa");
});
