import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { type Edit, remove, type Repair, set } from "../../../shared/core/repair.ts";
import { readManifests } from "../../../shared/files/manifest-reader.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { StateObject } from "../../../cli/input/state.ts";
import { type RenderedRepair, RepairRenderer } from "../../../cli/output/repairs.ts";
import { hasCommand } from "../../optional-command.ts";

const ROLE = "arn:aws:iam::111122223333:role/a";
const SELECTOR = {
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "a" },
  spec: { arn: `${ROLE} `, namespaceSelector: { names: ["a", "b"] } },
};
const BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "logs", namespace: "team-a" }, spec: {},
};
const NAMESPACE = { apiVersion: "v1", kind: "Namespace", namespace: null, name: "team-a" };

function render(
  objects: readonly StateObject[], judged: StateObject, edits: readonly Edit[], other: Omit<Repair, "edits"> = {},
): RenderedRepair | undefined {
  return new RepairRenderer(objects).render({ path: [], repairs: [{ edits, ...other }] }, judged)[0];
}

const stored = (object: JsonObject): StateObject => ({ object, file: null, lineOf: () => null });
const commands = (object: JsonObject, ...edits: readonly Edit[]): readonly string[] => (
  render([stored(object)], stored(object), edits)?.commands ?? []
);

test("renders the patch and the command for an object of a cluster", async (t) => {
  const edits = [set(["spec", "namespaceSelector", "names", 1], "c")];
  t.strictSame(render([], stored(SELECTOR), edits, { when: "to keep it", isSafe: true }), {
    when: "to keep it",
    isSafe: true,
    changes: [{
      object: { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", namespace: null, name: "a" },
      file: null, line: null, patch: [
        { op: "test", path: "/spec/namespaceSelector/names/1", value: "b" },
        { op: "replace", path: "/spec/namespaceSelector/names/1", value: "c" },
      ],
    }],
    commands: ["kubectl patch iamroleselector.services.k8s.aws/a --type=json "
      + `-p '[{"op":"test","path":"/spec/namespaceSelector/names/1","value":"b"},`
      + `{"op":"replace","path":"/spec/namespaceSelector/names/1","value":"c"}]'`],
  });
  const labels = [set(["metadata", "labels", { key: "a/tier" }], "x y"), remove(["metadata", "labels", "b"])];
  t.strictSame(commands(BUCKET, ...labels),
    ["kubectl label bucket.s3.services.k8s.aws/logs -n team-a 'a/tier=x y' b- --overwrite"]);
  t.strictSame(commands(BUCKET, remove(["metadata", "annotations", { key: "a" }])),
    ["kubectl annotate bucket.s3.services.k8s.aws/logs -n team-a a-"]);
  t.match(commands(BUCKET, set(["metadata", "labels", { key: "a" }], 1)), [/^kubectl patch/]);
  t.match(commands(BUCKET, set(["metadata", "labels", { key: "$(a)" }], "x")), [/^kubectl patch .* -p '/]);
  t.match(commands(BUCKET, set(["metadata", "labels", "a"], "x"), set(["spec", "b"], "x")), [/^kubectl patch/]);
  t.strictSame(commands(BUCKET, remove([])), ["kubectl delete bucket.s3.services.k8s.aws/logs -n team-a"]);
  const whole = commands(BUCKET, set([], { ...BUCKET, spec: { a: "b" } }));
  t.match(whole, [/^printf %s '\{"apiVersion":[^']*' \| kubectl replace -f -$/]);
  const long = commands(BUCKET, set(["spec", "a"], "x".repeat(400)));
  t.match(long, [/^kubectl patch \S+ -n team-a --type=json --patch-file \/dev\/stdin <<'EOF'\n\[\n[^]*\n\]\nEOF$/]);
});

test("creates a selector again, because the API server rejects another ARN", async (t) => {
  const [command = ""] = commands(SELECTOR, set(["spec", "arn"], ROLE));
  t.match(command, /^kubectl get iamroleselector\S+ -o json \| kubectl patch --local -f - /);
  t.match(command, / -o json \| kubectl replace --force -f -$/);
  t.match(commands(SELECTOR, set(["spec"], { arn: ROLE })), [/--force/]);
  t.notMatch(commands({ ...SELECTOR, spec: {} }, set(["spec", "arn"], ROLE)), [/--force/]);
});

test("renders edits of other objects", async (t) => {
  const label = { ...set(["metadata", "labels", "a"], "x"), of: NAMESPACE };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } };
  t.match(render([stored(namespace)], stored(BUCKET), [label, set(["spec", "a"], 1)]), {
    changes: [{ object: NAMESPACE, patch: [{ op: "add", path: "/metadata/labels", value: { a: "x" } }] }, {}],
    commands: ["kubectl label namespace/team-a a=x --overwrite", /^kubectl patch bucket/],
  });
  const own = { apiVersion: BUCKET.apiVersion, kind: "Bucket", namespace: "team-a", name: "logs" };
  t.equal(render([], stored(BUCKET), [{ ...remove(["spec"]), of: own }, remove(["x"])])?.changes.length, 1);
  const created = { ...set([], { ...BUCKET, metadata: { name: "other" } }), of: { ...own, name: "other" } };
  t.match(render([], stored(BUCKET), [created]), {
    changes: [{ object: { name: "other" }, patch: [{ op: "add", path: "" }] }],
    commands: [/^printf %s '\{"apiVersion":"s3\.services[^']*,"kind":"Bucket",[^']*' \| kubectl create -f -$/],
  });
});

/** Runs the commands in a shell in which kubectl prints its arguments, one in each line, and its input. */
function shell(all: readonly string[], cwd: string): { readonly status: number | null; readonly stdout: string } {
  const script = `kubectl() { printf '%s\\n' "$@"; [ -t 0 ] || cat; }\n${all.join("\n")}\n`;
  const { status, stdout } = spawnSync("sh", ["-c", script], { cwd, encoding: "utf8", input: "" });
  return { status, stdout };
}

test("quotes what a shell would expand, and prints no command that hides or ends anything", async (t) => {
  const evil = "'; touch evil; $(touch evil) `touch evil` \\ \" EOF";
  const dir = t.testdir({});
  const { stdout } = shell(commands(BUCKET, set(["metadata", "labels", "a"], evil), set(["spec", "x"], evil)), dir);
  t.match(stdout, `"value":${JSON.stringify(evil)}`);
  const whole = { ...BUCKET, metadata: { name: evil }, spec: { EOF: evil, list: ["EOF"] } };
  t.match(shell(commands(BUCKET, set([], whole)), dir).stdout, JSON.stringify(evil));
  t.notOk(spawnSync("ls", [dir], { encoding: "utf8" }).stdout.includes("evil"));
  t.match(commands({ ...BUCKET, metadata: { name: "a; touch evil" } }, remove([])), [/'bucket\S+ touch evil'/]);
  t.strictSame(commands({ ...BUCKET, metadata: { name: "a\nb" } }, remove([])), []);
  t.strictSame(commands(BUCKET, set(["metadata", "labels", "a"], "x\u202Ey")), []);
  t.strictSame(commands(BUCKET, set(["spec", "a"], "x\u202Ey")), []);
});

const manifests = (file: string): readonly StateObject[] => readManifests(readFileSync(file, "utf8"), file).manifests;

test("the command for a file makes exactly the edit in the file", async (t) => {
  const text = "# head\nkind: Bucket\napiVersion: s3.services.k8s.aws/v1alpha1\n"
    + "metadata: {name: it's $(x)} # c\nspec:\n  a: 3\n  b: [x]";
  const dir = t.testdir({ "it's a.yaml": text, "-b.yaml": `${text}\n`, "c.yaml": "kind: Namespace\napiVersion: v1\n"
    + "metadata: {name: team-a}\n" });
  const canPatch = hasCommand(t, "patch");
  const run = (name: string, ...edits: readonly Edit[]): RenderedRepair | undefined => {
    const file = path.join(dir, name);
    const objects = [...manifests(file), ...manifests(path.join(dir, "c.yaml"))];
    const [judged] = objects;
    const repair = judged && render(objects, judged, edits);
    if (!canPatch) return repair;
    const { status, stdout } = shell(repair?.commands ?? ["false"], dir);
    t.equal(status, 0, stdout);
    return repair;
  };
  const reads = (name: string, expected: string | RegExp): void => {
    if (!canPatch) return;
    const written = readFileSync(path.join(dir, name), "utf8");
    t.ok(typeof expected === "string" ? written === expected : expected.test(written), `${name}: ${written}`);
  };
  const repair = run("it's a.yaml", set(["spec", "a"], "$(touch evil)"), set(["spec", "b", 1], "y"));
  t.match(repair, { changes: [{ file: path.join(dir, "it's a.yaml"), line: 6, patch: [{}, {}] }] });
  const edited = text.replace("a: 3", 'a: "$$(touch evil)"').replace("[x]", '[x, "y"]');
  reads("it's a.yaml", edited);
  const label = { ...set(["metadata", "labels", "a"], "x"), of: NAMESPACE };
  t.equal(run("-b.yaml", remove(["spec", "a"]), label)?.commands.length, 2, "one for each file");
  reads("-b.yaml", `${text.replace("  a: 3\n", "")}\n`);
  reads("c.yaml", /\{name: team-a, labels: \{a: x\}\}/);
  run("c.yaml", { ...set([], BUCKET), of: { ...NAMESPACE, kind: "Bucket", name: "logs" } });
  reads("c.yaml", /\n---\napiVersion: s3\.services\.k8s\.aws\/v1alpha1\n/);
  t.match(run("c.yaml", remove([])), { changes: [{ patch: [{ op: "remove", path: "" }] }] });
  reads("c.yaml", /^---\napiVersion: s3/);
});

test("prints no command for a file that it would not change in the same way", async (t) => {
  const text = "kind: Bucket\napiVersion: s3.services.k8s.aws/v1alpha1\nmetadata: {name: x}\nspec: {a: 1}\n";
  const dir = t.testdir({
    "crlf.yaml": text.replaceAll("\n", "\r\n"), "generated.yaml": `# DO NOT EDIT\n${text}`,
    "id.yaml": text.replace("a: 1", 'externalID: "hush", a: 1'), "json.json": JSON.stringify(SELECTOR),
  });
  const of = (name: string, edit: Edit): RenderedRepair | undefined => {
    const [judged] = manifests(path.join(dir, name));
    return judged && render([judged], judged, [edit]);
  };
  for (const name of ["crlf.yaml", "generated.yaml", "id.yaml"]) {
    t.match(of(name, set(["spec", "a"], 2)), { changes: [{ patch: [{}] }] }, name);
    t.strictSame(of(name, set(["spec", "a"], 2))?.commands, [], name);
  }
  t.strictSame(of("json.json", { ...set([], BUCKET), of: { ...NAMESPACE, kind: "Bucket" } })?.commands, []);
  t.strictSame(of("json.json", { ...set(["spec"], 1), of: NAMESPACE })?.commands, [], "an object outside the input");
  const other = text.replace("name: x", "name: y");
  const all = [[text, "-"], [text, path.join(dir, "gone.yaml")], [other, path.join(dir, "crlf.yaml")]] as const;
  for (const [content, file] of all) {
    const [judged] = readManifests(content, file).manifests;
    t.strictSame(judged && render([], judged, [remove(["spec"])])?.commands, [], file);
  }
});
