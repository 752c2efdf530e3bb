import type { StateObject } from "../../../cli/input/state.ts";
import { RepairRenderer } from "../../../cli/output/repairs.ts";
import { iamRoleSelectorCRD } from "../../../manifests/crds.ts";
import { applyEdits, type Edit, remove, set } from "../../../shared/core/repair.ts";
import { field, type JsonObject } from "../../../shared/formats/json.ts";
import { objectMeta, objectReference } from "../../../shared/formats/object-meta.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { bucketObject, namespaceObject, selectorObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";

const EVIL = "it's \"quoted\" $(false) `false` \\ \n";
const NAMES = { namespaceSelector: { names: ["team-a", "team-b"] } };
const SELECTOR = selectorObject("a", { arn: "arn:aws:iam::111122223333:role/a", ...NAMES }, { labels: { old: "x" } });
const BUCKET = bucketObject({ name: "logs" }, { spec: { name: "logs" } });

/** The edits of an object, which the command must make as a whole. */
const CASES: readonly (readonly [title: string, object: JsonObject, edits: readonly Edit[]])[] = [
  ["labels", SELECTOR, [set(["metadata", "labels", { key: "a/tier" }], "gold"), remove(["metadata", "labels", "old"])]],
  ["an annotation", BUCKET, [set(["metadata", "annotations", { key: "a.io/note" }], EVIL.trim())]],
  ["a field", BUCKET, [set(["spec", "name"], "other"), set(["metadata", "labels", "a"], "b")]],
  ["a long value", BUCKET, [set(["spec", "name"], EVIL.trim().repeat(20))]],
  ["an item", SELECTOR, [remove(["spec", "namespaceSelector", "names", 1])]],
  ["the role of a selector", SELECTOR, [set(["spec", "arn"], "arn:aws:iam::111122223333:role/b")]],
  ["a whole object", BUCKET, [set([], bucketObject({ name: "logs" }, { spec: { name: EVIL } }))]],
];

async function stored(cluster: Cluster, object: JsonObject): Promise<JsonObject | null> {
  const { kind, namespace, name } = objectReference(object);
  const scope = namespace === "" ? [] : ["-n", namespace];
  const { code, stdout } = await cluster.kubectl(["get", kind, name, ...scope, "-o", "json"]);
  return code === 0 ? JSON.parse(stdout) : null;
}

/** Returns what a repair can change. */
function contentOf(object: JsonObject | null): object {
  const { labels, annotations } = objectMeta(object ?? {});
  const own = [...annotations].filter(([key]) => !key.startsWith("kubectl."));
  return { labels: Object.fromEntries(labels), annotations: Object.fromEntries(own), spec: field(object, "spec") };
}

const commandsFor = (object: JsonObject, edits: readonly Edit[]): readonly string[] => {
  const judged: StateObject = { object, file: null, lineOf: () => null };
  return new RepairRenderer([judged]).render({ path: [], repairs: [{ edits }] }, judged)[0]?.commands ?? [];
};

onCluster("the commands of repairs make exactly their edits on a real API server", async (t, cluster) => {
  const buckets = ACK_CRDS.filter(({ spec }) => spec.names.kind === "Bucket");
  await cluster.installCRDs([iamRoleSelectorCRD("ack"), ...buckets]);
  await cluster.request("POST", "/api/v1/namespaces", namespaceObject("team-a"));
  for (const [title, object, edits] of CASES) {
    const created = await cluster.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
    t.equal(created.code, 0, created.stderr);
    const before = await stored(cluster, object);
    const [command = "false", ...others] = before === null ? [] : commandsFor(before, edits);
    t.same(others, []);
    const { code, stderr } = await cluster.shell(command);
    t.equal(code, 0, `${title}: ${command}: ${stderr}`);
    t.same(contentOf(await stored(cluster, object)), contentOf(applyEdits(before, edits)), title);
    const [removal = "false"] = commandsFor(object, [remove([])]);
    t.equal((await cluster.shell(removal)).code, 0, removal);
    t.equal(await stored(cluster, object), null);
  }
  const { apiVersion, kind } = BUCKET;
  const of = { apiVersion: String(apiVersion), kind: String(kind), namespace: "team-a", name: "copy" };
  const copy = bucketObject({ name: "copy" }, { spec: { name: EVIL } });
  const [creation = "false"] = commandsFor(SELECTOR, [{ ...set([], copy), of }]);
  t.equal((await cluster.shell(creation)).code, 0, creation);
  t.same(contentOf(await stored(cluster, copy)), contentOf(copy));
});
