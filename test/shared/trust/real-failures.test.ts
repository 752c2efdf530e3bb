import { test } from "tap";
import { answer } from "../../../shared/trust/trust-question.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

/** A failure from a public issue or the documentation of AWS. `reason` is a part of the reason that is not a yes. */
interface Failure {
  readonly title: string;
  readonly caller: string;
  readonly trust: readonly Fields[];
  readonly parameters?: Fields;
  readonly role?: string;
  readonly verdict: "no" | "unknown";
  readonly reason: string;
}

const SELF = { AWS: "222222222222" };
const FAILURES: readonly Failure[] = [
  {
    title: "configure-aws-credentials#54: tags without sts:TagSession", caller: APP, trust: [allow({ AWS: APP })],
    parameters: { tags: new Map([["team", "a"]]) }, verdict: "no",
    reason: "names the caller in a statement with other actions; add a statement that allows the ARN of the caller "
      + "sts:TagSession without a condition on sts:ExternalId, because the session has tags",
  },
  {
    title: "iambic#357: a source identity without sts:SetSourceIdentity", caller: APP, trust: [allow({ AWS: APP })],
    parameters: { sourceIdentity: "alice" }, verdict: "no",
    reason: "allows the ARN of the caller sts:SetSourceIdentity",
  },
  {
    title: "a controller that cannot send the external ID", caller: APP, verdict: "no",
    trust: [allow({ AWS: APP }, { Condition: { StringEquals: { "sts:ExternalId": "x1" } } })],
    reason: "conditions on sts:ExternalId do not allow the call; the call sends no external ID; ACK can send one only",
  },
  {
    title: "a role in another partition", caller: APP, trust: [], role: "arn:aws-cn:iam::222222222222:role/target",
    verdict: "no", reason: "a role can be assumed only inside its partition",
  },
  {
    title: "scp-alternative-solution#18: a role that assumes itself", caller: ROLE, trust: [allow({ AWS: NEAR })],
    verdict: "no", reason: "since 2022, a role that assumes itself must be named too",
  },
  {
    title: "aws-deployment-framework#235: a deleted and re-created principal", caller: APP, verdict: "no",
    trust: [allow({ AWS: "AROAEXAMPLEEXAMPLEID9" })], reason: "the unique ID of a role or user that has been deleted",
  },
  {
    title: "a condition on the organization", caller: APP, verdict: "unknown", reason: "aws:PrincipalOrgID",
    trust: [allow("*", { Condition: { StringEquals: { "aws:PrincipalOrgID": "o-1" } } })],
  },
  {
    title: "a principal without the path of the role", caller: APP, verdict: "no",
    trust: [allow({ AWS: "arn:aws:iam::111122223333:role/app" })],
    reason: "a principal of the same name in another path",
  },
  {
    title: "a session ARN in aws:PrincipalArn", caller: APP, verdict: "no",
    trust: [allow("*", { Condition: { ArnLike: { "aws:PrincipalArn": "arn:aws:sts::*:assumed-role/app/*" } } })],
    reason: "conditions on aws:PrincipalArn do not allow the call",
  },
  {
    title: "NotPrincipal that lists only the role", caller: NEAR, verdict: "unknown",
    trust: [allow({ AWS: NEAR }), { Effect: "Deny", NotPrincipal: { AWS: NEAR }, Action: "*" }],
    reason: "effect of NotPrincipal without the account or the role",
  },
  {
    title: "an ARN with a wildcard", caller: APP, trust: [allow({ AWS: "arn:aws:iam::111122223333:role/*" })],
    verdict: "no", reason: "an ARN with a wildcard or of another form, which names nobody",
  },
  {
    title: "terrapod#1546: the own account is named, and the caller lacks the permission", caller: NEAR, verdict: "no",
    trust: [allow(SELF)], reason: "no identity policy of the caller allows the call; allow sts:AssumeRole on the role",
  },
  {
    title: "aws-vault#263: more than an hour in role chaining", caller: APP, verdict: "no",
    trust: [allow({ AWS: APP })], parameters: { durationSeconds: 7200 }, reason: "request at most 3600 seconds",
  },
  {
    title: "kubeflow/testing#961: the root user", caller: "arn:aws:iam::111122223333:root", trust: [allow("*")],
    verdict: "no", reason: "the root user of an account cannot assume roles",
  },
];

for (const { title, caller, trust, parameters = {}, role = ROLE, verdict, reason } of FAILURES) {
  test(title, async (t) => {
    const inline = [{ PolicyName: "sts", PolicyDocument: document(grant()) }];
    const data = dataOf(
      exportOf({ RoleDetailList: [roleDetail(ROLE, document(...trust)), roleDetail(NEAR, document())] }),
      exportOf({ RoleDetailList: [roleDetail(APP, document(), { RolePolicyList: inline })] }),
    );
    const call = {
      externalID: null, sourceIdentity: null, sessionName: null, durationSeconds: null, transitiveTagKeys: [],
      tags: new Map(), ...parameters,
    };
    const result = answer({ principalARN: caller, roleARN: role, parameters: call }, data, 1_795_000_000);
    const first = result.actions.find((one) => one.verdict !== "yes");
    t.equal(result.verdict, verdict);
    t.ok(first?.reason.includes(reason), first?.reason ?? "no reason");
  });
}
