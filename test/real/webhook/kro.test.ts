import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import {
  field, isJsonObject, type JsonObject, parseJSON, stringAt,
} from "../../../shared/formats/json.ts";
import { readManifests } from "../../../shared/files/manifest-reader.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { installWebhook } from "./installed-webhook.ts";

const SELECTOR_KEY = "ack-role-resolver.io/selector";
const INSTANCES = new URL("../../fixtures/kro/instances.yaml", import.meta.url);

const DENIAL = `The IAMRoleSelector "invoices-s3" is invalid: spec: IRS-17 1 resource would be selected by more than \
one IAMRoleSelector, and controllers do not reconcile such a resource: Bucket shop/orders (also selected by \
orders-s3). Restrict invoices-s3 and orders-s3 to the resources of their kro instances. To do so, add \
resourceLabelSelector: {matchLabels: {kro.run/instance-name: "\${schema.metadata.name}"}} to the spec of the \
IAMRoleSelector in the ResourceGraphDefinition. Or remove the IAMRoleSelector from the definition, and create one \
IAMRoleSelector for the namespace.
`;

onCluster("selectors that kro creates for each instance, on a real API server", async (t, cluster) => {
  await installWebhook(t, cluster);
  const { manifests } = readManifests(await readFile(INSTANCES, "utf8"), "instances.yaml");
  const [namespace, ...objects] = manifests.map(({ object }) => object);
  const [orders, ordersBucket, invoices, invoicesBucket] = objects;
  if (namespace === undefined || orders === undefined || ordersBucket === undefined) throw new Error("no objects");
  if (invoices === undefined || invoicesBucket === undefined) throw new Error("no second instance");
  for (const object of [namespace, orders, ordersBucket]) await applied(t, cluster, object);
  await t.test("denies the selector of the second instance and names the first selector and the fix", async (tt) => {
    const isDenied = async (): Promise<boolean> => (await apply(cluster, invoices, "--dry-run=server")).code === 1;
    tt.ok(await until(isDenied), "the inventory has the Bucket of the first instance");
    const { stderr } = await apply(cluster, invoices);
    tt.equal(stderr.slice(stderr.indexOf("The IAMRoleSelector")), DENIAL);
  });
  await t.test("accepts both selectors with the fix that the denial names", async (tt) => {
    for (const object of [restricted(orders), restricted(invoices)]) await applied(tt, cluster, object);
    const isSelected = async (): Promise<boolean> => {
      const { stdout } = await apply(cluster, invoicesBucket, "--dry-run=server", "-o", "json");
      return stringAt(parseJSON(stdout), "metadata", "annotations", SELECTOR_KEY) === "invoices-s3";
    };
    tt.ok(await until(isSelected), "only the selector of the instance selects its Bucket");
  });
});

/** Applies an object like kro, with a server-side apply. */
async function apply(
  cluster: Cluster, object: object, ...flags: readonly string[]
): ReturnType<Cluster["kubectl"]> {
  const argv = ["apply", "--server-side", "--field-manager=kro.run", ...flags, "-f", "-"];
  return await cluster.kubectl(argv, { input: JSON.stringify(object) });
}

async function applied(t: Test, cluster: Cluster, object: object): Promise<void> {
  const { code, stderr } = await apply(cluster, object);
  t.equal(code, 0, stderr);
}

/** Returns the selector as kro creates it after the fix of the ResourceGraphDefinition. */
function restricted(selector: JsonObject): JsonObject {
  const instance = stringAt(selector, "metadata", "labels", "kro.run/instance-name");
  const resourceLabelSelector = { matchLabels: { "kro.run/instance-name": instance } };
  const spec = field(selector, "spec");
  return { ...selector, spec: { ...(isJsonObject(spec) ? spec : {}), resourceLabelSelector } };
}
