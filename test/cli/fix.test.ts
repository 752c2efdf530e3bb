import {
  chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync,
} from "node:fs";
import path from "node:path";
import { test } from "tap";
import { FIXED, LEFT } from "./fix-files.ts";
import { runCommand } from "./run-command.ts";

const SELECTOR = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec:
  arn: arn:aws:iam::111122223333:role/team-a
  namespaceSelector:
    names:
    - team-a
    - team-a
`;
const OF_A = SELECTOR.replace("    - team-a\n", "");
const read = (...parts: readonly string[]): string => readFileSync(path.join(...parts), "utf8");

test("changes only what is wrong in each file", async (t) => {
  for (const [name, [text, wrong, right]] of Object.entries(FIXED)) {
    t.equal(text.split(wrong).length, 2, `${name} has one wrong part`);
    const dir = t.testdir({ [name]: text });
    const { stdout, stderr } = await runCommand(["lint", "--fix", dir]);
    t.equal(read(dir, name), text.replace(wrong, right), `${name}: ${stdout}${stderr}`);
    t.match(stdout, /\n1 repair in 1 file\n/, name);
    t.same(readdirSync(dir), [name], "no other file remains");
    const again = await runCommand(["lint", "--fix", dir]);
    t.notMatch(again.stdout, / repairs? in /, name);
  }
});

test("leaves what it cannot edit without a guess, and what is generated", async (t) => {
  for (const [name, text] of Object.entries(LEFT)) {
    const dir = t.testdir({ [name]: text });
    const { stdout, stderr } = await runCommand(["lint", "--fix", dir]);
    t.equal(read(dir, name), text, name);
    t.notMatch(stdout, / repairs? in /, name);
    t.match(stderr, `not fixed: ${dir}/${name}: it`, stderr);
  }
});

test("leaves what two fields can mean, and adds nothing to what can be a patch", async (t) => {
  const both = OF_A.replace("  arn: ", "  Arn: arn:aws:iam::444455556666:role/b\n  ARN: ");
  const patch = "apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: team-a}\nspec:\n"
    + "  namespaceSelector: {labelSelector: {matchLabels: {a: b}}}\n";
  for (const text of [both, patch]) {
    const dir = t.testdir({ "a.yaml": text });
    const { stdout } = await runCommand(["lint", "--fix", dir]);
    t.equal(read(dir, "a.yaml"), text, stdout);
  }
});

const TWO = ["team-a", "team-b"].map((name) => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`);
test("undoes a repair after which another object is denied, and keeps the others", async (t) => {
  const typo = OF_A.replace("name: team-a", "name: typo").replace("- team-a", "- team-aa");
  const twice = SELECTOR.replaceAll("team-a", "team-b");
  const metadata = "metadata: {name: x, namespace: team-a}\nspec: {}\n";
  const bucket = `apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\n${metadata}`;
  const text = [...TWO, OF_A, typo, twice, bucket].join("---\n");
  const dir = t.testdir({ "a.yaml": text });
  const { status, stdout, stderr } = await runCommand(["lint", "--fix", "--complete", dir]);
  t.equal(read(dir, "a.yaml"), text.replace("    - team-b\n", ""), stdout);
  t.match(stderr, "a.yaml: a repair would deny another object (IRS-17)");
  t.match(stdout, "1 repair in 1 file");
  t.equal(status, 0);
  const alone = t.testdir({ "a.yaml": [...TWO, typo].join("---\n") });
  await runCommand(["lint", "--fix", "--complete", alone]);
  t.match(read(alone, "a.yaml"), "    - team-a\n", "the namespace is free");
});

test("prints each repair, and the findings and the status of the files after it", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  const fixed = await runCommand(["lint", "--fix", dir]);
  t.equal(fixed.status, 0);
  t.equal(fixed.stdout, `${dir}/a.yaml:9: IRS-08: remove this entry\n1 repair in 1 file\n`
    + "1 checked, 0 denied, 0 warned; some checks need more input (-v for details)\n");
  t.equal(read(dir, "a.yaml"), OF_A);
  const other = t.testdir({ "a.yaml": SELECTOR.replace("role/team-a", "user/jane") });
  const json = await runCommand(["lint", "--fix", "-o", "json", other]);
  t.equal(json.status, 1, "a role must be named by a person");
  t.match(JSON.parse(json.stdout), { findings: [{ code: "IRS-03", repairs: [] }] });
  t.match(json.stderr, `${other}/a.yaml:9: IRS-08: remove this entry\n1 repair in 1 file\n`);
});

test("prints a diff that patch applies with --dry-run, and writes nothing", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, "b.yaml": SELECTOR.replace("name: team-a", "name: team-b") });
  const { status, stdout } = await runCommand(["lint", "--fix", "--dry-run", dir]);
  t.equal(status, 0, "the status of the files after the repairs");
  t.equal(read(dir, "a.yaml"), SELECTOR);
  const diff = (name: string): string => `--- ${dir}/${name}\n+++ ${dir}/${name}\n@@ -6,4 +6,3 @@\n`
    + "   namespaceSelector:\n     names:\n     - team-a\n-    - team-a\n";
  t.ok(stdout.startsWith(diff("a.yaml") + diff("b.yaml")), stdout);
  t.match(stdout, "\n2 repairs in 2 files; nothing is written\n");
  const sarif = await runCommand(["lint", "--fix", "--dry-run", "-o", "sarif", dir]);
  t.notMatch(sarif.stdout, '"ruleId": "IRS-08"');
  t.match(sarif.stderr, diff("b.yaml"));
});

test("does not show confidential values next to a change", async (t) => {
  const annotations = 'annotations: {"ack-role-resolver.io/external-id": "hush"}';
  const text = SELECTOR.replace("{name: team-a}", `{name: team-a, ${annotations}}`);
  const inFlow = text.replace(/names:\n.*\n.*\n/, "names: [team-a, team-a] # external-id hush\n");
  const dir = t.testdir({ "a.yaml": text, "b.yaml": inFlow.replace("name: team-a", "name: team-b") });
  const { stdout } = await runCommand(["lint", "--fix", "--dry-run", dir]);
  t.notMatch(stdout, "hush");
  t.match(stdout, `@@ -9 +8,0 @@\n-    - team-a\n${dir}/b.yaml: not shown, because a line has an external ID\n`);
});

test("shows no confidential value in a finding, a repair or a diff", async (t) => {
  const number = SELECTOR.replace("{name: team-a}", "{name: team-a, annotations: {ack-role-resolver.io/KEY: 9871605}}");
  const dir = t.testdir({
    "a.yaml": number.replace("KEY", "external-id"),
    "b.yaml": number.replace("KEY", "external_id").replace("name: team-a", "name: b"),
    "c.yaml": `${SELECTOR.replace("name: team-a", "name: c")}  externlID: a9871605\n`,
    "d.yaml": "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterRoleIdentity\nmetadata: {name: d}\n"
      + "spec:\n  roleARN: arn:aws:iam::111122223333:role/d\n  inlinePolicies: '9871605'\n"
      + "  sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}\n",
  });
  for (const output of ["text", "json", "sarif"]) {
    const { stdout, stderr } = await runCommand(["lint", "--fix", "--dry-run", "-o", output, dir]);
    t.notMatch(stdout + stderr, "9871605", output);
  }
});

test("never writes through a link", async (t) => {
  const other = SELECTOR.replace("name: team-a", "name: b");
  const dir = t.testdir({ real: { "a.yaml": SELECTOR }, repo: { inner: { "b.yaml": other } } });
  symlinkSync(path.join(dir, "real", "a.yaml"), path.join(dir, "a.yaml"));
  symlinkSync("inner", path.join(dir, "repo", "linked"));
  symlinkSync(path.join(dir, "real"), path.join(dir, "folder"));
  for (const given of ["a.yaml", "folder"]) {
    const { status, stderr } = await runCommand(["lint", "--fix", path.join(dir, given)]);
    t.equal(status, 1);
    t.match(stderr, /not fixed: .*: its path leads through a symbolic link; pass the file that it leads to\n/);
  }
  t.equal(read(dir, "real", "a.yaml"), SELECTOR);
  await runCommand(["lint", "--fix", path.join(dir, "repo", "linked")]);
  await runCommand(["lint", "--fix", "--root", ".", path.join(dir, "repo")]);
  t.equal(read(dir, "repo", "inner", "b.yaml"), other, "the same object twice is unreadable input");

  const { stdout } = await runCommand(["lint", "--fix", path.join(dir, "repo", "inner", "b.yaml")]);
  t.match(stdout, "1 repair in 1 file\n", "a link above the path that is given does not matter");
});

test("never writes through a link between the working directory and the file", async (t) => {
  const dir = t.testdir({ real: { "a.yaml": SELECTOR } });
  symlinkSync("real", path.join(dir, "linked"));
  const relative = path.relative(process.cwd(), path.join(dir, "linked"));
  for (const given of [`./${relative}/a.yaml`, path.join(dir, "linked", "a.yaml"), `${relative}/`]) {
    const { stderr } = await runCommand(["lint", "--fix", given]);
    t.match(stderr, "its path leads through a symbolic link", given);
  }
  t.equal(read(dir, "real", "a.yaml"), SELECTOR);
});

test("does not write a read-only file", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  chmodSync(path.join(dir, "a.yaml"), 0o444);
  t.match((await runCommand(["lint", "--fix", dir])).stderr, "a.yaml: it is read-only\n");
  t.equal(read(dir, "a.yaml"), SELECTOR);
});

test("never writes through a link in a folder, however its path is written", async (t) => {
  const dir = t.testdir({ ".a.yaml": SELECTOR, ".b": { "b.yaml": SELECTOR.replace("name: team-a", "name: b") } });
  symlinkSync(".a.yaml", path.join(dir, "a.yaml"));
  symlinkSync(".b", path.join(dir, "b"));
  const relative = path.relative(process.cwd(), dir);
  for (const given of [dir, `${dir}/`, relative, `./${relative}/../${path.basename(dir)}/.`]) {
    const { stdout, stderr } = await runCommand(["lint", "--fix", given]);
    t.notMatch(stdout, / repairs? in /, given);
    t.equal(stderr.match(/not fixed: .* a symbolic link/g)?.length, 2, given);
  }
  t.equal(read(dir, ".a.yaml"), SELECTOR);
});

test("keeps the mode, and replaces the file instead of its content", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  chmodSync(path.join(dir, "a.yaml"), 0o640);
  linkSync(path.join(dir, "a.yaml"), path.join(dir, "copy"));
  await runCommand(["lint", "--fix", dir]);
  t.equal(statSync(path.join(dir, "a.yaml")).mode & 0o7777, 0o640);
  t.equal(read(dir, "copy"), SELECTOR, "a reader of the old file sees all of it");
});

test("rejects standard input and a cluster", async (t) => {
  const { status, stderr } = await runCommand(["lint", "--fix", "-"], { stdin: SELECTOR });
  t.equal(status, 2);
  t.match(stderr, "--fix changes files, and neither standard input nor a cluster: pass the files or folders");
  t.match((await runCommand(["lint", "--fix", "--cluster"])).stderr, "--fix: has no effect with --cluster");
  t.match((await runCommand(["lint", "--dry-run", "."])).stderr, "--dry-run: has no effect without --fix");
});

test("changes nothing while some input is unreadable", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, "b.yaml": "kind: [" });
  const { status, stdout } = await runCommand(["lint", "--fix", dir]);
  t.equal(status, 2);
  t.notMatch(stdout, / repairs? in /);
  t.equal(read(dir, "a.yaml"), SELECTOR);
});

test("repairs several objects and findings, and leaves waived ones", async (t) => {
  const many = `${SELECTOR}---\n${SELECTOR.replace("name: team-a", "name: team-b").replace("spec:\n", "spec:\n"
    + "  resourceTypeSelector:\n  - {group: s3.services.k8s.aws, version: v1alpha1, kind: Buckets}\n")}`;
  const waived = SELECTOR.replace("{name: team-a}", "{name: c, annotations: {ack-role-resolver.io/allow: IRS-52}}")
    .replace("spec:\n", "spec:\n  resourceTypeSelector:\n"
      + "  - {group: s3.services.k8s.aws, version: v1alpha1, kind: Buckets}\n");
  const dir = t.testdir({ "a.yaml": many, "c.yaml": waived });
  const { stdout } = await runCommand(["lint", "--fix", dir]);
  t.match(stdout, "\n4 repairs in 2 files\n");
  const repaired = many.replaceAll("    - team-a\n    - team-a\n", "    - team-a\n").replace("Buckets", "Bucket");
  t.equal(read(dir, "a.yaml"), repaired);
  t.match(read(dir, "c.yaml"), "kind: Buckets", "a person has decided");
});

test("judges again after each repair of an object", async (t) => {
  const dir = t.testdir({ "a.yaml": `${SELECTOR}    - team-a # third\n    - b\n` });
  const { stdout } = await runCommand(["lint", "--fix", dir]);
  t.match(stdout, "\n2 repairs in 1 file\n");
  t.equal(read(dir, "a.yaml"), `${OF_A}    - b\n`);
});

test("repairs a file that several roots share once", async (t) => {
  const bucket = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\n"
    + "metadata: {name: x, namespace: team-a}\nspec: {}\n";
  const dir = t.testdir({ shared: { "a.yaml": SELECTOR }, dev: { "b.yaml": bucket }, prod: { "b.yaml": bucket } });
  const { stdout } = await runCommand(["lint", "--fix", dir]);
  t.match(stdout, `${dir}/shared/a.yaml:9: IRS-08: remove this entry\n1 repair in 1 file\n`);
  t.equal(read(dir, "shared", "a.yaml"), OF_A);
});

const ROOT = process.getuid?.() === 0 && "root writes every file";

test("reports a file that it cannot write", { skip: ROOT }, async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  chmodSync(dir, 0o555);
  const { status, stderr } = await runCommand(["lint", "--fix", dir]);
  chmodSync(dir, 0o755);
  t.equal(status, 2);
  t.match(stderr, "a.yaml cannot be written: EACCES");
});

test("repairs an object in a template, whose findings have paths in its container", async (t) => {
  const text = `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: x}
spec:
  resources:
  - id: a
    template:
      apiVersion: services.k8s.aws/v1alpha1
      kind: IAMRoleSelector
      metadata: {name: a}
      spec: {arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: {names: [a, a]}}
`;
  const dir = t.testdir({ "a.yaml": text });
  mkdirSync(path.join(dir, "b"));
  writeFileSync(path.join(dir, "b", "b.yaml"), text.replace("name: x", "name: ${y}"));
  await runCommand(["lint", "--fix", dir]);
  t.equal(read(dir, "a.yaml"), text.replace("[a, a]", "[a]"));
  t.match(read(dir, "b", "b.yaml"), "[a, a]", "a file with expressions is a template");
});
