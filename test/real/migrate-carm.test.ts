import path from "node:path";
import type { Test } from "tap";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { isACKGroup } from "../../shared/decisions/kubernetes/kinds.ts";
import { objectMeta } from "../../shared/decisions/kubernetes/object-meta.ts";
import { readManifestPaths } from "../../shared/inventory/manifests/files.ts";
import { runCommand } from "../cli/run-command.ts";
import { ACK_CRDS } from "../fixtures/ack-crds.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import { installWebhook, SELECTORS } from "./webhook/installed-webhook.ts";

const EXAMPLES = path.join(import.meta.dirname, "../../manifests/examples-carm");
const GATES = ["--team-level-carm", "--service-level-carm", "--controller-account", "999900001111"];
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const EFFECT_LIMIT_MS = 10_000;

onCluster("moving a real cluster from CARM", async (t, cluster) => {
  const { manifests } = await readManifestPaths([EXAMPLES]);
  const objects = manifests.map(({ object }) => object);
  await cluster.installCRDs(ACK_CRDS);
  await createAll(t, cluster, objects);
  await installWebhook(t, cluster);
  const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "admin"];

  const rolesBefore = roles(await json(t, ["resolve", "--mode", "carm", ...access, ...GATES]));
  t.equal(new Set(rolesBefore.values()).size, 5, "four roles, and the controller's own");
  const migrated = await runCommand(["migrate", "carm", ...access, ...GATES]);
  t.match(migrated, { status: 0, stderr: /^4 IAMRoleSelectors\. Proved: 6 resources and \d+ pairs/ });
  t.equal(migrated.stdout, (await runCommand(["migrate", "carm", EXAMPLES, ...GATES])).stdout, "a folder of the same gives the same");

  const applied = await cluster.kubectl(["apply", "--server-side", "--validate=strict", "-f", "-"], { input: migrated.stdout });
  t.equal(applied.code, 0, applied.stderr);
  const stored = field((await cluster.request("GET", SELECTORS)).body, "items");
  t.same(Array.isArray(stored) ? stored.map((one) => stringAt(one, "metadata", "name")) : [], ["account-111122223333", "account-444455556666", "s3.111122223333", "storefront"]);

  t.same(roles(await json(t, ["resolve", ...access])), rolesBefore, "by the stored selectors every resource has the role that it had");
  await t.test("the webhook tells each resource the role that CARM gave it", async (tt) => tellsRoles(tt, cluster, { objects, rolesBefore }));
  const again = await runCommand(["migrate", "carm", ...access, ...GATES]);
  t.equal(again.stdout, migrated.stdout, "running it again changes nothing");
});

async function createAll(t: Test, cluster: Cluster, objects: readonly JsonObject[]): Promise<void> {
  const system = { apiVersion: "v1", kind: "Namespace", metadata: { name: "ack-system" } };
  const items = [system, ...objects.toSorted((a, b) => Number(isInNamespace(a)) - Number(isInNamespace(b)))];
  const { code, stderr } = await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  t.same([code, stderr], [0, ""]);
  for (const object of objects) {
    const status = field(object, "status");
    if (isJsonObject(status)) t.equal((await cluster.request("PATCH", `${urlOf(object)}/status`, { status }, MERGE)).status, 200);
  }
}

function isInNamespace(object: JsonObject): boolean {
  return objectMeta(object).namespace !== "";
}

function urlOf(object: JsonObject): string {
  const { group, version, kind, namespace, name } = objectMeta(object);
  return `/apis/${group}/${version}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
}

async function json(t: Test, argv: readonly string[]): Promise<unknown> {
  const { status, stdout, stderr } = await runCommand([...argv, "-o", "json"]);
  t.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

/** The role of each resource, null for the controller's own. */
function roles(resolved: unknown): ReadonlyMap<string, string | null> {
  if (!Array.isArray(resolved)) throw new Error("resolve prints an array");
  return new Map(resolved.map((one) => [`${stringAt(one, "resource", "namespace")}/${stringAt(one, "resource", "name")}`, stringAt(one, "roleARN")]));
}

interface Given {
  readonly objects: readonly JsonObject[];
  readonly rolesBefore: ReadonlyMap<string, string | null>;
}

/** It hears of the selectors a moment after they are stored, and speaks when a resource is written. */
async function tellsRoles(t: Test, cluster: Cluster, { objects, rolesBefore }: Given): Promise<void> {
  for (const object of objects.filter((one) => isACKGroup(objectMeta(one).group))) {
    const { namespace, name } = objectMeta(object);
    const role = rolesBefore.get(`${namespace}/${name}`) ?? null;
    let told: string | null = null;
    let i = 0;
    await until(async () => {
      const { body } = await cluster.request("PATCH", urlOf(object), { metadata: { labels: { written: String(i++) } } }, MERGE);
      told = stringAt(body, "metadata", "annotations", "ack-role-resolver.io/role-arn");
      return told === role && stringAt(body, "metadata", "annotations", "ack-role-resolver.io/outcome") === (role === null ? "default" : "selected");
    }, EFFECT_LIMIT_MS);
    t.equal(told, role, `${namespace}/${name}`);
  }
}
