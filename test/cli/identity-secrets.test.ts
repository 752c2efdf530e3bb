import { test } from "tap";
import { runCommand } from "./run-command.ts";

const PLANTED = "PLANTED-VALUE";
const FLAG = ["--identity-secret-namespace", "capa-system"];
const MANIFESTS = `
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: documented}
spec: {secretRef: documented-creds, allowedNamespaces: {list: [team-a]}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: missing}
spec: {secretRef: no-such-secret, allowedNamespaces: {list: [team-a]}}
---
apiVersion: v1
kind: Secret
metadata:
  name: documented-creds
  namespace: capa-system
  creationTimestamp: "2020-01-01T00:00:00Z"
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData": {"accessKeyID": "${PLANTED}"}}'
stringData: {accessKeyID: ${PLANTED}1, secretAccessKey: ${PLANTED}2}
`;

interface Result {
  readonly findings: readonly { readonly name: string; readonly code: string; readonly severity: string }[];
}

const isOfSecret = ({ code }: { readonly code: string }): boolean => code === "CI-10";

/** Runs a command that prints JSON. Returns `NAME SEVERITY CODE` for each finding about Secrets. */
async function secretLines(...argv: readonly string[]): Promise<string[]> {
  const { stdout } = await runCommand([...argv, "-o", "json"], { stdin: MANIFESTS });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the JSON of the command
  const { findings } = JSON.parse(stdout) as Result;
  return findings.filter(isOfSecret).map(({ name, code, severity }) => `${name} ${severity} ${code}`);
}

const WRONG_CASE = ["documented deny CI-10", "documented deny CI-10"];

test("lint, audit and impact report the Secrets of static identities", async (t) => {
  t.same(await secretLines("lint", "-", ...FLAG), WRONG_CASE);
  t.same(await secretLines("lint", "-", "--complete", ...FLAG), [...WRONG_CASE, "missing warn CI-10"]);
  t.same(await secretLines("audit", "-", ...FLAG), WRONG_CASE);
  const folder = t.testdir({ "state.yaml": MANIFESTS });
  t.same(await secretLines("impact", "-", "--from", folder, ...FLAG, "--check", "CI-10=deny"), [
    "documented warn CI-10", "documented warn CI-10",
  ]);
});

test("no output of a command contains the value of a Secret", async (t) => {
  const broken = `${MANIFESTS}---\napiVersion: v1\nkind: Secret\ndata: {a: !!int ${PLANTED}, b: *${PLANTED}}\n`;
  for (const stdin of [MANIFESTS, broken]) {
    for (const output of ["text", "json", "sarif", "junit"]) {
      const argv = ["lint", "-", "--log-level", "debug", "-o", output, ...FLAG];
      const { stdout, stderr } = await runCommand(argv, { stdin });
      t.notMatch(`${stdout}${stderr}`, PLANTED);
      t.ok(stdout.length > 0);
    }
    for (const command of ["audit", "resolve"]) {
      const { stdout, stderr } = await runCommand([command, "-"], { stdin });
      t.notMatch(`${stdout}${stderr}`, PLANTED);
    }
  }
});
