import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { test } from "tap";
import { objectReference } from "../../../shared/formats/object-meta.ts";
import { readManifestPaths } from "../../../shared/files/files.ts";
import { ManifestSource } from "../../../shared/sources/file-source.ts";

const selector = (metadata: unknown, role = "a"): string => JSON.stringify({
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata,
  spec: { arn: `arn:aws:iam::111122223333:role/${role}`, namespaceSelector: { names: ["team-a"] } },
});
const bucket = JSON.stringify({
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { generateName: "b-" },
});
const documents = (...texts: readonly string[]): string => texts.join("\n---\n");

async function namesIn(text: string): Promise<string[]> {
  const { manifests } = await readManifestPaths(["-"], { stdin: () => Promise.resolve(text) });
  return manifests.map(({ object }) => objectReference(object).name);
}

test("generates a name for each selector that has generateName, in the format of the API server", async (t) => {
  const generated = { generateName: "team-" };
  t.same(
    await namesIn(documents(
      selector(generated), selector({ name: "team-a" }), selector({ ...generated, name: null }),
      selector({ generateName: "x".repeat(70), name: "" }),
    )),
    ["team-00001", "team-a", "team-00002", `${"x".repeat(58)}00003`],
  );
});

test("does not generate a name for other kinds, or for a selector without generateName", async (t) => {
  t.same(await namesIn(documents(
    bucket, selector({ generateName: "team-", name: 7 }), selector({}), selector({ generateName: "" }),
    selector(null), selector("x"),
  )), Array(6).fill(""));
});

test("adds each selector to the inventory under its generated name", async (t) => {
  const text = documents(selector({ generateName: "team-" }), selector({ generateName: "team-" }, "b"));
  const folder = t.testdir({ "a.yaml": text });
  const source = new ManifestSource([folder], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  t.same([...source.inventory.of(SELECTORS).keys()], ["team-00001", "team-00002"]);
});
