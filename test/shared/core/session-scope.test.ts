import { test } from "tap";
import { MAX_POLICY_LENGTH } from "../../../shared/core/session.ts";
import {
  allowStatements, coversAction, denyStatements, scopeOf, SCOPES, type SessionScope,
} from "../../../shared/core/session-scope.ts";
import { isACKGroup } from "../../../shared/core/ack-groups.ts";
import { BUNDLED_KINDS } from "../../../shared/ack/bundled-types.ts";
import { statements } from "./policy-texts.ts";

const GROUPS = [...SCOPES.keys()];
const S3 = "s3.services.k8s.aws";

test("the scope of a controller as what is allowed, and as what is denied beside other policies", (t) => {
  const scope = scopeOf([S3]);
  const own = ["s3-object-lambda:*", "s3:*", "s3express:*"];
  const passed = { "iam:PassedToService": ["s3.amazonaws.com"] };
  t.same(allowStatements(scope), [
    { Effect: "Allow", Action: own, Resource: "*" },
    { Effect: "Allow", Action: ["iam:PassRole"], Resource: "*", Condition: { StringEquals: passed } },
  ]);
  t.same(denyStatements(scope), [
    { Effect: "Deny", NotAction: ["iam:PassRole", ...own], Resource: "*" },
    { Effect: "Deny", Action: ["iam:PassRole"], Resource: "*", Condition: { StringNotEquals: passed } },
  ]);
  t.end();
});

test("the groups of one sidecar add up, and so do the values of what they restrict", (t) => {
  const scope = scopeOf([S3, "lambda.services.k8s.aws", "eventbridge.services.k8s.aws"]);
  t.ok(["s3:*", "lambda:*", "events:*"].every((action) => scope.actions.includes(action)));
  const passed = scope.restricted.find(({ actions }) => actions.includes("iam:PassRole"));
  t.same(passed?.only, [{
    key: "iam:PassedToService", values: ["events.amazonaws.com", "lambda.amazonaws.com", "s3.amazonaws.com"],
  }]);
  t.notOk(scope.actions.includes("s3:GetObject"), "s3:* covers it");
  const rds = scopeOf(["rds.services.k8s.aws"]).restricted;
  const secrets = rds.find(({ actions }) => actions.includes("secretsmanager:CreateSecret"));
  t.same(secrets?.resources, ["arn:*:secretsmanager:*:*:secret:rds!*"]);
  const secretsManager = scopeOf(["secretsmanager.services.k8s.aws", "rds.services.k8s.aws"]);
  t.notOk(secretsManager.restricted.some(({ actions }) => actions.some((one) => one.startsWith("secretsmanager:"))));
  t.end();
});

test("denies what fulfills none of several restrictions of an action", (t) => {
  const only = [{ key: "iam:A", values: ["a"] }, { key: "iam:B", values: ["b*"] }];
  const scope: SessionScope = { actions: ["s3:*"], restricted: [{ actions: ["iam:X"], resources: ["arn:r"], only }] };
  const Condition = { StringNotEquals: { "iam:A": ["a"] }, StringNotLike: { "iam:B": ["b*"] } };
  t.same(denyStatements(scope)[1], { Effect: "Deny", Action: ["iam:X"], NotResource: ["arn:r"], Condition });
  t.same(allowStatements(scope).length, 4);
  t.end();
});

test("a group without a row is an error that names the way out", (t) => {
  t.throws(() => scopeOf([S3, "new.services.k8s.aws", "toString"]), {
    code: "ERR_SESSION_SCOPE", message: /^What the controllers of new\.services\.k8s\.aws and toString need /,
  });
  t.same(Object.keys(BUNDLED_KINDS.kinds).filter((group) => isACKGroup(group) && !SCOPES.has(group)), []);
  t.end();
});

test("each scope fits into a session policy", (t) => {
  for (const group of GROUPS) {
    const scope = scopeOf([group]);
    for (const one of [allowStatements(scope), denyStatements(scope)]) {
      t.ok(JSON.stringify(statements(...one)).length <= MAX_POLICY_LENGTH, group);
    }
  }
  t.end();
});

test("no two rows of the table restrict patterns that overlap, in any pair of groups", (t) => {
  const overlaps = (a: string, b: string): boolean => a !== b && (coversAction(a, b) || coversAction(b, a));
  const faults = GROUPS.flatMap((one) => GROUPS.flatMap((other) => {
    const { actions, restricted } = scopeOf([one, other]);
    const patterns = restricted.flatMap((row) => row.actions);
    return patterns.filter((pattern) => [...patterns, ...actions].some((action) => overlaps(pattern, action)))
      .map((pattern) => `${one} ${other}: ${pattern}`);
  }));
  t.same(faults, []);
  t.end();
});
