import path from "node:path";
import type { Test } from "tap";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { isACKGroup } from "../../shared/core/ack-groups.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { readManifestPaths } from "../../shared/files/files.ts";
import { runCommand } from "../cli/run-command.ts";
import { ACK_CRDS } from "../fixtures/ack-crds.ts";
import { gatedDeployment } from "../fixtures/controllers.ts";
import { objectAt } from "../webhook/reviews.ts";
import type { Cluster } from "./apiserver/cluster.ts";
import { onCluster } from "./apiserver/on-cluster.ts";
import { until } from "./apiserver/until.ts";
import { installWebhook, SELECTORS } from "./webhook/installed-webhook.ts";

const EXAMPLES = path.join(import.meta.dirname, "../../manifests/examples-carm");
const ACCOUNT = ["--controller-account", "999900001111"];
const GATES = ["--team-level-carm", "--service-level-carm", ...ACCOUNT];
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const TIMEOUT_MS = 10_000;

onCluster("migrating a real cluster from CARM", async (t, cluster) => {
  const { manifests } = await readManifestPaths([EXAMPLES]);
  const objects = manifests.map(({ object }) => object);
  await cluster.installCRDs(ACK_CRDS);
  await createAll(t, cluster, objects);
  await installWebhook(t, cluster);
  const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "admin"];

  const rolesBefore = roles(await json(t, ["resolve", "--mode", "carm", ...access, ...GATES]));
  t.equal(new Set(rolesBefore.values()).size, 5, "the cluster uses four roles and the controller's own role");
  const migrated = await runCommand(["migrate", "carm", ...access, ...GATES]);
  const proof = /^4 IAMRoleSelectors\. Proved: 6 resources and \d+ namespace and kind pairs/;
  t.match(migrated, { status: 0, stderr: proof });
  t.equal(
    migrated.stdout,
    (await runCommand(["migrate", "carm", EXAMPLES, ...GATES])).stdout,
    "the manifests in the folder result in the same selectors",
  );

  const applied = await cluster.kubectl(["apply", "--server-side", "--validate=strict", "-f", "-"], {
    input: migrated.stdout,
  });
  t.equal(applied.code, 0, applied.stderr);
  const stored = field((await cluster.request("GET", SELECTORS)).body, "items");
  t.same(Array.isArray(stored) ? stored.map((one) => stringAt(one, "metadata", "name")) : [], [
    "account-111122223333",
    "account-444455556666",
    "s3.111122223333",
    "storefront",
  ]);

  t.same(
    roles(await json(t, ["resolve", ...access])),
    rolesBefore,
    "every resource has the same role after the selectors are stored",
  );
  await t.test("the webhook annotates each resource with the role that CARM used", async (tt) =>
    annotatesRoles(tt, cluster, { objects, rolesBefore }));
  const deployed = await cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(controller()) });
  t.same([deployed.code, deployed.stderr], [0, ""]);
  const again = await runCommand(["migrate", "carm", ...access, ...ACCOUNT]);
  t.match(again.stderr, "as in Deployment ack-system/ack-s3.\n");
  t.equal(again.stdout, migrated.stdout, "a second run reads the gates from the Deployment, and prints the same");
});

/** Returns the Deployment of a controller with both gates. */
function controller(): JsonObject {
  const labels = { app: "ack-s3" };
  const deployment = gatedDeployment("TeamLevelCARM=true,ServiceLevelCARM=true", true, { metadata: { labels } });
  return { ...deployment, spec: { ...objectAt(deployment, "spec"), selector: { matchLabels: labels } } };
}

async function createAll(t: Test, cluster: Cluster, objects: readonly JsonObject[]): Promise<void> {
  const system = { apiVersion: "v1", kind: "Namespace", metadata: { name: "ack-system" } };
  const items = [system, ...objects.toSorted((a, b) => Number(isInNamespace(a)) - Number(isInNamespace(b)))];
  const { code, stderr } = await cluster.kubectl(["create", "-f", "-"], {
    input: JSON.stringify({ apiVersion: "v1", kind: "List", items }),
  });
  t.same([code, stderr], [0, ""]);
  for (const object of objects) {
    const status = field(object, "status");
    if (isJsonObject(status))
      t.equal((await cluster.request("PATCH", `${urlOf(object)}/status`, { status }, MERGE)).status, 200);
  }
}

function isInNamespace(object: JsonObject): boolean {
  return objectReference(object).namespace !== "";
}

function urlOf(object: JsonObject): string {
  const { group, version, kind, namespace, name } = objectReference(object);
  return `/apis/${group}/${version}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
}

async function json(t: Test, argv: readonly string[]): Promise<unknown> {
  const { status, stdout, stderr } = await runCommand([...argv, "-o", "json"]);
  t.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

/** Returns the role of each resource, or null for the controller's own role. */
function roles(resolved: unknown): ReadonlyMap<string, string | null> {
  if (!Array.isArray(resolved)) throw new Error("resolve prints an array");
  return new Map(
    resolved.map((one) => [
      `${stringAt(one, "resource", "namespace")}/${stringAt(one, "resource", "name")}`,
      stringAt(one, "roleARN"),
    ]),
  );
}

interface Expected {
  readonly objects: readonly JsonObject[];
  readonly rolesBefore: ReadonlyMap<string, string | null>;
}

/**
 * Updates each resource until the webhook annotates the expected role. The updates are repeated, because new selectors
 * reach the inventory of the webhook with a delay.
 */
async function annotatesRoles(t: Test, cluster: Cluster, { objects, rolesBefore }: Expected): Promise<void> {
  for (const object of objects.filter((one) => isACKGroup(objectReference(one).group))) {
    const { namespace, name } = objectReference(object);
    const role = rolesBefore.get(`${namespace}/${name}`) ?? null;
    let annotated: string | null = null;
    let i = 0;
    await until(async () => {
      const { body } = await cluster.request(
        "PATCH",
        urlOf(object),
        { metadata: { labels: { written: String(i++) } } },
        MERGE,
      );
      annotated = stringAt(body, "metadata", "annotations", "ack-role-resolver.io/role-arn");
      const outcome = stringAt(body, "metadata", "annotations", "ack-role-resolver.io/outcome");
      return annotated === role && outcome === (role === null ? "default" : "selected");
    }, TIMEOUT_MS);
    t.equal(annotated, role, `${namespace}/${name}`);
  }
}
