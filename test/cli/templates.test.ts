import { readFile } from "node:fs/promises";
import { test } from "tap";
import { runCommand } from "./run-command.ts";

const GRAPH = await readFile("test/fixtures/templates/bucket-graph.yaml", "utf8");
const BY_INSTANCE = GRAPH.replace("          resourceTypeSelector:", `          resourceLabelSelector:
            matchLabels: {kro.run/instance-name: "\${schema.metadata.name}"}
          resourceTypeSelector:`);

const lint = async (stdin: string, ...flags: readonly string[]): Promise<Found> => {
  const { status, stdout } = await runCommand(["lint", "-", "-o", "json", ...flags], { stdin });
  const report = reportIn(stdout);
  return { status, checked: report.checked, findings: report.findings.map(lineOf) };
};
const reportIn = (text: string): Report => JSON.parse(text);
interface Report {
  readonly checked: number;
  readonly findings: readonly Record<string, string>[];
}
interface Found {
  readonly status: number;
  readonly checked: number;
  readonly findings: readonly string[];
}
const lineOf = ({ line, severity, code, kind, path }: Record<string, string>): string =>
  `${line} ${severity} ${code} ${kind} ${path}`;

test("warns of a selector in a graph that selects the same resources for two instances of a namespace", async (t) => {
  const path = "spec.resources[0].template.spec.namespaceSelector";
  t.strictSame(await lint(GRAPH), {
    status: 0, checked: 2, findings: [`22 warn IRS-53 ResourceGraphDefinition ${path}`],
  }, "the Bucket and the ARN have expressions, which are unknown and not wrong");
  t.strictSame(await lint(BY_INSTANCE), { status: 0, checked: 2, findings: [] });
  t.equal((await lint(GRAPH, "--check", "IRS-53=deny")).status, 1);
  const byName = GRAPH.replace("- ${schema.metadata.namespace}", "- ${schema.spec.account}");
  t.strictSame((await lint(byName)).findings, []);
  const whole = GRAPH.replace(/names:\n {14}-/, "names:");
  t.strictSame((await lint(whole.replace("${schema.metadata.namespace}", "${schema.spec.names}"))).findings, []);
});

test("checks what is final in a template, at its line and path in the container", async (t) => {
  const broken = BY_INSTANCE.replace(/arn: .*/, "arn: arn:aws:iam::11112222333:role/buckets");
  t.strictSame((await lint(broken)).findings, [
    "21 deny IRS-03 ResourceGraphDefinition spec.resources[0].template.spec.arn",
  ]);
  const region = BY_INSTANCE.replace(/region: .*/, "region: eu_west");
  t.strictSame((await lint(region)).findings, [
    "38 deny ACK-10 ResourceGraphDefinition spec.resources[1].template.metadata.annotations[services.k8s.aws/region]",
  ]);
  const fixedName = BY_INSTANCE.replace("name: ${schema.metadata.name}-buckets", "name: buckets");
  t.strictSame((await lint(fixedName)).findings, [
    "19 warn IRS-53 ResourceGraphDefinition spec.resources[0].template.metadata.name",
  ]);
  const byNamespace = BY_INSTANCE.replace("${schema.metadata.name}-buckets", "b-${ schema.metadata.namespace }");
  t.strictSame((await lint(byNamespace)).findings, [
    "18 warn IRS-53 ResourceGraphDefinition spec.resources[0].template.metadata",
  ]);
});

test("a template is no object of the cluster", async (t) => {
  const selector = `
---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: "\${schema.metadata.name}-buckets"}
spec: {arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: {names: [team-a]}}
`;
  const both = `${BY_INSTANCE}---\n${BY_INSTANCE.replaceAll("team-bucket", "other")}${selector}`;
  const { checked, findings } = await lint(both, "--complete");
  t.equal(checked, 5, "no template is a duplicate");
  t.notOk(findings.some((one) => one.includes("spec.resources")), "templates are compared with no other object");
  const audit = await runCommand(["audit", "-", "-o", "json"], { stdin: GRAPH });
  t.match(JSON.parse(audit.stdout), {
    summary: { objects: 1, selectors: 0, resources: 0, checks: 1, warned: 1 },
    findings: [{ section: "checks", code: "IRS-53", line: 22 }],
    coverage: { judged: 2, notJudged: 0 },
  });
  const resolve = await runCommand(["resolve", "-", "-o", "json"], { stdin: GRAPH });
  t.same(JSON.parse(resolve.stdout), []);
  t.equal(resolve.stderr, "2 objects not judged: in templates of other objects (-v for details)\n");
});

test("an object that a provider creates once needs no expression", async (t) => {
  const object = `apiVersion: kubernetes.crossplane.io/v1alpha2
kind: Object
metadata: {name: selector}
spec:
  forProvider:
    manifest:
      apiVersion: services.k8s.aws/v1alpha1
      kind: IAMRoleSelector
      metadata: {name: buckets}
      spec:
        arn: arn:aws:iam::111122223333:user/a
        namespaceSelector: {names: [team-a]}
`;
  t.strictSame((await lint(object)).findings, ["11 deny IRS-03 Object spec.forProvider.manifest.spec.arn"]);
});

test("fields that patches of a Composition set are open", async (t) => {
  const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: buckets}
spec:
  pipeline:
    - step: patch
      input:
        apiVersion: pt.fn.crossplane.io/v1beta1
        kind: Resources
        patchSets:
          - {name: role, patches: [{type: FromCompositeFieldPath, fromFieldPath: spec.role, toFieldPath: spec.arn}]}
        resources:
          - name: selector
            base:
              apiVersion: services.k8s.aws/v1alpha1
              kind: IAMRoleSelector
              spec: {resourceTypeSelector: [{group: s3.services.k8s.aws, version: "", kind: ""}], externalID: a}
            patches:
              - {type: PatchSet, patchSetName: role}
              - {toFieldPath: "spec.namespaceSelector.names[0]"}
`;
  t.strictSame((await lint(composition)).findings.map((one) => one.split(" ").slice(1).join(" ")), [
    "deny IRS-00 Composition spec.pipeline[0].input.resources[0].base.spec.externalID",
  ], "only the unknown field is wrong");
  const unpatched = composition.replace(/ {12}patches:[^]*/, "");
  t.match((await lint(unpatched)).findings.join("\n"), "IRS-53");
  const byLabel = unpatched + '            patches: [{toFieldPath: "spec.resourceLabelSelector.matchLabels[a]"}]\n';
  t.notMatch((await lint(byLabel)).findings.join("\n"), "IRS-53");
});
