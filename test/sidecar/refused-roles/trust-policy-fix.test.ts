import { test } from "tap";
import type { RoleGrant } from "../../../shared/resolution/grant.ts";
import { NO_EXTRAS } from "../../../shared/model/session.ts";
import { trustPolicyFix } from "../../../sidecar/refused-roles/refused-identities.ts";

const ROLE = "arn:aws:iam::111122223333:role/team-a";
const GRANT: RoleGrant = { verdict: "role", roleARN: ROLE, selectors: ["a"], extras: NO_EXTRAS, grantedBy: {} };

/** Returns the principal that the fix names for the caller. */
function principal(caller: string | null): string {
  const fix = trustPolicyFix(GRANT, caller);
  const before = `in the trust policy of ${ROLE}, allow sts:AssumeRole to `;
  const after = "; or correct spec.arn of the selector";
  if (!fix.startsWith(before) || !fix.endsWith(after)) throw new Error(fix);
  return fix.slice(before.length, -after.length);
}

test("names the role of a session, whose name changes with each start, in each partition", (t) => {
  const sessions = ["aws-sdk-js-session-1790000000000", "eks-cluster-pod-0f6c", "i-0123456789abcdef0"];
  for (const session of sessions) {
    t.equal(
      principal(`arn:aws:sts::999999999999:assumed-role/ack/${session}`),
      "arn:aws:iam::999999999999:role/ack (insert the path of the role, if it has one)",
    );
  }
  for (const partition of ["aws-cn", "aws-us-gov", "aws-iso-b"]) {
    const session = `arn:${partition}:sts::999999999999:assumed-role/ack/s`;
    t.match(principal(session), `arn:${partition}:iam::999999999999:role/ack (`);
  }
  t.end();
});

test("names a user, an account and a role whose path is known by their own ARNs", (t) => {
  for (const arn of [
    "arn:aws:iam::999999999999:user/ack", "arn:aws:iam::999999999999:root", "arn:aws:iam::999999999999:role/team/ack",
    "arn:aws:sts::999999999999:federated-user/ack", "arn:aws:sts::999999999999:assumed-role", "unknown",
  ]) t.equal(principal(arn), arn);
  t.equal(principal(null), "the base identity of the sidecar");
  t.end();
});
