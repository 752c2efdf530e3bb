import { test } from "tap";
import { runCommand } from "./run-command.ts";

const API = "infrastructure.cluster.x-k8s.io/v1beta2";

/** Returns a role identity that no cluster uses. */
function roleIdentity(name: string, roleARN: string, allowed: string): string {
  return `apiVersion: ${API}\nkind: AWSClusterRoleIdentity\nmetadata: {name: ${name}}\n`
    + `spec:\n  roleARN: ${roleARN}\n  allowedNamespaces: ${allowed}\n`
    + "  sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}\n---\n";
}

const ARN = "arn:aws:iam::111122223333:role/a";
const BUCKET = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: b, namespace: ns}\n---\n";

test("resolve reports each identity that the webhook would deny, also an unused one, and exits with 1", async (t) => {
  const bad = roleIdentity("bad", "arn:aws:iam::1:role/a", "{selector: {matchLabels: {-a: b}}}");
  const stdin = `${BUCKET}${bad}${roleIdentity("good", ARN, "{}")}`;
  const { status, stdout, stderr } = await runCommand(["resolve", "-"], { stdin });
  t.equal(status, 1);
  t.match(stdout, /b .*default/);
  t.match(stderr, /^AWSClusterRoleIdentity "bad" is faulty, and the webhook would deny it:\n {2}CI-06 .*\n {2}CI-20 /m);
  t.notMatch(stderr, '"good"');
});

test("resolve exits with 0 if identities have only warnings, waivable faults or values of a template", async (t) => {
  const policies = roleIdentity("policies", ARN, "{list: [a]}\n  policyARNs: ['arn:aws:iam::aws:policy/Read']");
  for (const identity of [roleIdentity("all", ARN, "{}"), policies, roleIdentity("r", "${ROLE_ARN}", "{list: [a]}")]) {
    const { status, stderr } = await runCommand(["resolve", "-"], { stdin: BUCKET + identity });
    t.equal(status, 0, stderr);
    t.equal(stderr, "");
  }
});
