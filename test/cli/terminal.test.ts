import { test } from "tap";
import { runCommand } from "./run-command.ts";

const escape = String.raw`\e[2J\n`;
const MANIFESTS = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: "evil${escape}"}
spec: {arn: "arn:aws:iam::111122223333:role/${escape}", namespaceSelector: {names: ["team-a${escape}"]}}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: "Bucket${escape}"
metadata: {name: "b${escape}", namespace: "team-a${escape}", annotations: {services.k8s.aws/region: "eu${escape}"}}
---
`;

test("escapes control characters and line breaks that manifests contain", async (t) => {
  for (const [argv, stdin] of [
    [["lint", "-"], MANIFESTS],
    [["resolve", "-"], MANIFESTS],
    [["resolve", "-", "--explain"], MANIFESTS],
    [["resolve", "-"], MANIFESTS + MANIFESTS],
    [["audit", "-"], MANIFESTS],
    [["lint", "-"], `"${escape}": 1\n"${escape}": 2\n`],
  ] as const) {
    const { stdout, stderr } = await runCommand(argv, { stdin });
    const printed = stdout + stderr;
    t.match(printed, String.raw`\u001b[2J\u000a`, argv.join(" "));
    t.notMatch(printed, "\u001b", argv.join(" "));
  }
});
