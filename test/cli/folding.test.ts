import { test } from "tap";
import { field } from "../../shared/formats/json.ts";
import { runCommand } from "./run-command.ts";

const bucket = (name: string): string => `---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: ${name}, namespace: team-a, annotations: {services.k8s.aws/region: "\${REGION}"}}
spec: {name: a}
`;

test("impact prints each different denial once, unless --verbose is set", async (t) => {
  const selector = (name: string): string => (
    `---\napiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: ${name}}\nspec: {arn: x}\n`
  );
  const dir = t.testdir({ "state.yaml": bucket("a") });
  const argv = ["impact", "--from", dir, "-"];
  const stdin = selector("s1") + selector("s2");
  const { stdout } = await runCommand(argv, { stdin });
  t.match(stdout, /\n-:5: deny IRS-02 IAMRoleSelector s1 spec\.arn: [^\n]+ \(and 1 more: -:10\)\n {4}fix: /);
  t.equal((await runCommand([...argv, "-v"], { stdin })).stdout.match(/deny IRS-02/g)?.length, 2);
});

test("findings that differ only in their objects are one entry, unless --verbose is set", async (t) => {
  const files = ["a", "b", "c", "d", "e"].map((name) => [`${name}.yaml`, bucket(name)] as const);
  const dir = t.testdir(Object.fromEntries([["0.yaml", bucket("x") + bucket("y")], ...files]));
  const { stdout } = await runCommand(["lint", dir]);
  const [first = "", fix = "", last = ""] = stdout.replaceAll(dir, "").split("\n");
  t.match(first, /^\/0\.yaml:4: warn ACK-10 Bucket team-a\/x \S+: "\$\{REGION\}" is not rendered/);
  t.ok(first.endsWith(" (and 6 more: /0.yaml:9, /a.yaml:4, /b.yaml:4, ...)"), first);
  t.match(fix, /^ {4}fix: render/);
  t.equal(last, "7 checked, 0 denied, 7 warned; some checks need more input (-v for details)");
  const all = await runCommand(["lint", dir, "--verbose"]);
  t.equal(all.stdout.match(/ACK-10/g)?.length, 7);
  const json = await runCommand(["lint", dir, "-o", "json"]);
  const findings = field(JSON.parse(json.stdout), "findings");
  t.equal(Array.isArray(findings) && findings.length, 7, "JSON is complete");
  const two = await runCommand(["lint", `${dir}/a.yaml`, `${dir}/b.yaml`]);
  t.match(two.stdout, /\(and 1 more: [^,]*\/b\.yaml:4\)\n/);
});

test("if there are many different findings, those of one check are one entry", async (t) => {
  const names = Array.from({ length: 12 }, (_, i) => `R${i}`);
  const many = names.map((name) => bucket(name.toLowerCase()).replace("REGION", name)).join("") + bucket("r12");
  const stdin = many + bucket("r13");
  const { stdout } = await runCommand(["lint", "-"], { stdin });
  t.match(stdout, /^-:4: warn ACK-10 Bucket team-a\/r0 [^\n]+ \(and 13 with other messages: -v lists all\)\n {4}fix: /);
  t.equal(stdout.match(/ACK-10/g)?.length, 1);
  const last = await runCommand(["lint", "-"], { stdin: bucket("a") + stdin });
  t.match(last.stdout, / \(and 2 more, 12 with other messages: -v lists all\)\n/);
  t.equal((await runCommand(["lint", "-", "-v"], { stdin })).stdout.match(/ACK-10/g)?.length, 14);
});
