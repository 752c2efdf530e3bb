import { test } from "tap";
import { field } from "../../shared/formats/json.ts";
import { runCommand } from "./run-command.ts";

const bucket = (name: string): string => `---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: ${name}, namespace: team-a, annotations: {services.k8s.aws/region: "\${REGION}"}}
spec: {name: a}
`;

test("impact prints each different denial once, unless --log-level debug is set", async (t) => {
  const selector = (name: string): string => (
    `---\napiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: ${name}}\nspec: {arn: x}\n`
  );
  const dir = t.testdir({ "state.yaml": bucket("a") });
  const argv = ["impact", "--from", dir, "-"];
  const stdin = selector("s1") + selector("s2");
  const { stdout } = await runCommand(argv, { stdin });
  t.match(stdout, "\n-:5: deny IRS-02 IAMRoleSelector s1 spec.arn and 1 more: -:10\n");
  t.equal((await runCommand([...argv, "--log-level", "debug"], { stdin })).stdout.match(/deny IRS-02/g)?.length, 2);
});

test("findings that differ only in their objects are one entry, unless --log-level debug is set", async (t) => {
  const files = ["a", "b", "c", "d", "e"].map((name) => [`${name}.yaml`, bucket(name)] as const);
  const dir = t.testdir(Object.fromEntries([["0.yaml", bucket("x") + bucket("y")], ...files]));
  const { stdout } = await runCommand(["lint", dir]);
  const [first = "", message = "", fix = "", last = ""] = stdout.replaceAll(dir, "").split("\n");
  t.match(first, /^\/0\.yaml:4: warn ACK-10 Bucket team-a\/x \S+ and 6 more: /);
  t.ok(first.endsWith(" and 6 more: /0.yaml:9, /a.yaml:4, /b.yaml:4, ..."), first);
  t.match([message, fix], [/^ {4}"\$\{REGION\}" is not rendered/, /^ {4}fix: render/]);
  t.equal(last, "7 checked, 0 denied, 7 warned, 0 not judged");
  const all = await runCommand(["lint", dir, "--log-level", "debug"]);
  t.equal(all.stdout.match(/ACK-10/g)?.length, 7);
  const json = await runCommand(["lint", dir, "-o", "json"]);
  const findings = field(JSON.parse(json.stdout), "findings");
  t.equal(Array.isArray(findings) && findings.length, 7, "JSON is complete");
  const two = await runCommand(["lint", `${dir}/a.yaml`, `${dir}/b.yaml`]);
  t.match(two.stdout, /and 1 more: [^,]*\/b\.yaml:4\n/);
});
