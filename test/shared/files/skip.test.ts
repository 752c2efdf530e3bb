import { test } from "tap";
import { readManifestPaths } from "../../../shared/files/files.ts";
import { formatInputFault } from "../../../shared/files/manifest-reader.ts";
import { countSkipped, skipText } from "../../../shared/files/skip.ts";

const BUCKET = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: a}\n";
type Options = NonNullable<Parameters<typeof readManifestPaths>[1]>;

/** Returns the files with objects, the skipped files by path, and the faults. Removes the folder from all paths. */
async function read(folder: string, path = "", options: Options = {}): Promise<object> {
  const { manifests, skipped, faults } = await readManifestPaths([folder + path], options);
  const cut = (text: string): string => text.replaceAll(`${folder}/`, "");
  return {
    files: manifests.map(({ file }) => cut(file)),
    skipped: Object.fromEntries(skipped.map((one) => [cut(one.path), one.reason])),
    faults: faults.map((fault) => cut(formatInputFault(fault))),
  };
}

test("skips the files of a folder that are not Kubernetes objects, and returns the reason for each file", async (t) => {
  const folder = t.testdir({
    "bucket.yaml": BUCKET,
    "package.json": '{"name": "x"}',
    "patch.json": '[{"op": "add"}]',
    "kustomization.yaml": "resources: [a.yaml]",
    "ci.yaml": "on: push\njobs: {}",
    "duplicates.yaml": "a: 1\na: 2",
    "envsubst.yaml": "items: [${FIRST}, ${SECOND}]",
    "terraform.yaml": "a:\n%{ if x }\n  b: 1\n%{ endif }",
    "backstage.yaml": `${BUCKET}spec: [ \${{ values.a }} ]\n`,
    chart: {
      "Chart.yaml": "apiVersion: v2\nname: x",
      "values-prod.yaml": "replicas: 1",
      crds: { "b.yaml": BUCKET.replace("name: a", "name: b") },
      templates: {
        "if.yaml": `{{- if .Values.x }}\n${BUCKET}{{- end }}`,
        "quoted.yaml": BUCKET.replace("name: a", 'name: "{{ .Release.Name }}"'),
        "plain.yaml": BUCKET.replace("name: a", "name: c"),
        deep: { "x.yaml": "{{ x }}" },
      },
    },
    other: { "helm.yaml": `${BUCKET}---\n{{ if .Values.x }}\n${BUCKET}{{ end }}` },
  });
  t.same(await read(folder), {
    files: ["bucket.yaml", "chart/crds/b.yaml", "chart/templates/plain.yaml"],
    skipped: {
      "backstage.yaml": "template", "chart/Chart.yaml": "helm-chart", "chart/templates/deep/x.yaml": "helm-template",
      "chart/templates/if.yaml": "helm-template", "chart/templates/quoted.yaml": "helm-template",
      "chart/values-prod.yaml": "helm-chart", "ci.yaml": "yaml", "duplicates.yaml": "yaml", "envsubst.yaml": "template",
      "kustomization.yaml": "kustomization", "other/helm.yaml": "template", "package.json": "json",
      "patch.json": "json", "terraform.yaml": "template",
    },
    faults: [],
  });
});

test("reports broken YAML, an object of ACK or CAPA without a kind, and other data in a list", async (t) => {
  const folder = t.testdir({
    "broken.yaml": "a: [",
    "broken-near-a-template.yaml": "a: {{ .Values.a }}\nb: [",
    "duplicate-with-variable.yaml": `${BUCKET}spec: {name: "\${NAME}", name: b}`,
    "list.yaml": "apiVersion: v1\nkind: List\nitems: [{a: 1}]",
    "no-kind-capa.yaml": "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nspec: {}",
    "no-kind.yaml": "apiVersion: services.k8s.aws/v1alpha1\nspec: {}",
    "no-version.yaml": "kind: IAMRoleSelector\nspec: {arn: a, arn: b}",
  });
  t.match(await read(folder), {
    files: [],
    skipped: {},
    faults: [
      /^broken-near-a-template\.yaml:\d: invalid YAML/, /^broken\.yaml:1: invalid YAML/,
      /^duplicate-with-variable\.yaml:4: duplicate field "name"/, /^list\.yaml:3: not a Kubernetes object/,
      /^no-kind-capa\.yaml:1: .*: kind must be set/,
      /^no-kind\.yaml:1: not a Kubernetes object: kind must be set/,
      /^no-version\.yaml:2: duplicate field "arn"/,
    ],
  });
});

test("in a folder, ignores the duplicate fields of an object whose kind no decision reads", async (t) => {
  const text = "apiVersion: apps/v1\nkind: Deployment\nspec: {a: 1, a: 2}\n";
  const folder = t.testdir({ "a.yaml": `${text}---\n${BUCKET}` });
  t.same(await read(folder), { files: ["a.yaml"], skipped: {}, faults: [] });
  t.match(await read(folder, "/a.yaml"), { faults: ['a.yaml:3: duplicate field "a"; remove one of them'] });
});

test("reports a file that is not a Kubernetes object if the user names it", async (t) => {
  const folder = t.testdir({
    "values.yaml": "a: 1", "a.yaml": "{{ if .x }}\na: 1\n{{ end }}", "Chart.yaml": "a: 1",
    templates: { "b.yaml": BUCKET },
  });
  const render = "a template, not a manifest; render it first, as in: helm template . | ack-role-resolver lint -";
  t.match(await read(folder, "/values.yaml"), { skipped: {}, faults: [/^values\.yaml:1: not a Kubernetes object/] });
  t.same(await read(folder, "/a.yaml"), { files: [], skipped: {}, faults: [`a.yaml:2: ${render}`] });
  t.match(await read(folder, "/templates/b.yaml"), { files: ["templates/b.yaml"], faults: [] });
});

test("ignores files by globs and by ignore files, in the syntax of .gitignore", async (t) => {
  const folder = t.testdir({
    ".ack-role-resolver-ignore": "# comment\n/overlays/staging/\n*.gen.yaml\n!keep.gen.yaml\n",
    "a.gen.yaml": "[", "keep.gen.yaml": "a: 1", "a.yaml": BUCKET,
    overlays: {
      staging: { "a.yaml": "[" },
      production: { ".ack-role-resolver-ignore": "!b.gen.yaml\nc.yaml", "b.gen.yaml": "b: 1", "c.yaml": "[" },
    },
    tests: { "a.yaml": "[" },
  });
  t.same(await read(folder, "", { ignore: ["tests", "overlays/production/b*"] }), {
    files: ["a.yaml"],
    skipped: {
      "keep.gen.yaml": "yaml", "a.gen.yaml": "ignored", "overlays/production/c.yaml": "ignored",
      "overlays/staging": "ignored", tests: "ignored", "overlays/production/b.gen.yaml": "yaml",
    },
    faults: [],
  }, "an ignore file of a subfolder overrides the rules above it");
  t.match(await read(folder, "/a.gen.yaml"), { faults: [/invalid YAML/] }, "a named file is not ignored");
  t.match(await read(folder, "/overlays/"), { skipped: { "overlays//production/c.yaml": undefined } });
});

test("skips the documents of a folder that are not objects, next to objects, but not what resembles one", async (t) => {
  const folder = t.testdir({
    "a.yaml": `${BUCKET}---\nmetadata: {name: a}\n`, "b.yaml": `${BUCKET}---\napiVersion: services.k8s.aws/v1alpha1\n`,
  });
  t.match(await read(folder, ""), {
    files: ["a.yaml", "b.yaml"], skipped: { "a.yaml": "unreadable" }, faults: [/kind must be set to a string/],
  });
  t.match(await read(folder, "/a.yaml"), { faults: [/apiVersion and kind must be set/] }, "a named file");
});

test("if requested, skips unreadable files but keeps their valid objects, and reports a missing path", async (t) => {
  const folder = t.testdir({ "a.yaml": `${BUCKET}---\na: [`, "b.yaml": "[" });
  t.same(await read(folder, "", { skipUnreadable: true }), {
    files: ["a.yaml"], skipped: { "a.yaml": "unreadable", "b.yaml": "unreadable" }, faults: [],
  });
  t.match(await read(folder, "/missing", { skipUnreadable: true }), { faults: ["missing: no such file or folder"] });
});

test("describes the number of skipped files for each reason", async (t) => {
  const reasons = ["json", "helm-template", "json"] as const;
  const counts = countSkipped(reasons.map((reason) => ({ path: "a", reason })));
  t.strictSame(counts, { "helm-template": 1, json: 2 });
  t.equal(skipText(counts), "1 Helm template, 2 JSON files without apiVersion and kind");
});
