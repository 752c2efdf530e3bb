import { test } from "tap";
import { objectMeta } from "../../../shared/decisions/object-meta.ts";
import { readManifestPaths } from "../../../shared/inventory/manifest-files.ts";
import { ManifestSource } from "../../../shared/inventory/manifest-source.ts";

const selector = (metadata: unknown, role = "a"): string => JSON.stringify({
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata, spec: { arn: `arn:aws:iam::111122223333:role/${role}`, namespaceSelector: { names: ["team-a"] } },
});
const bucket = JSON.stringify({ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { generateName: "b-" } });
const documents = (...texts: readonly string[]): string => texts.join("\n---\n");

async function namesIn(text: string): Promise<string[]> {
  const { manifests } = await readManifestPaths(["-"], () => Promise.resolve(text));
  return manifests.map(({ object }) => objectMeta(object).name);
}

test("selectors without a name have one each, whatever the API server would generate from", async (t) => {
  const generated = { generateName: "team-" };
  t.same(
    await namesIn(documents(selector(generated), selector({ name: "team-a" }), selector({ ...generated, name: null }), selector({ generateName: "other-" }), selector({}), selector(null))),
    ["team-*", "team-a", "team-*2", "other-*", "*", "*2"],
  );
});

test("other kinds keep no name, and what is no name at all is left to the checks", async (t) => {
  t.same(await namesIn(documents(bucket, selector({ name: 7 }), selector("x"))), ["", "", ""]);
});

test("every source holds each of them, so that two that overlap are seen to", async (t) => {
  const folder = t.testdir({ "a.yaml": documents(selector({ generateName: "team-" }), selector({ generateName: "team-" }, "b")) });
  const source = new ManifestSource([folder], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  t.same([...source.inventory.selectors.keys()], ["team-*", "team-*2"]);
});
