import {
  type Arbitrary, array, assert, asyncProperty, constantFrom, option, property, record, subarray,
} from "fast-check";
import { test } from "tap";
import { isJsonObject, type JsonObject, parseJSON } from "../../../shared/formats/json.ts";
import { ResolverError } from "../../../shared/formats/errors.ts";
import { combinedPolicies, type SessionPolicies } from "../../../shared/core/session-policies.ts";
import { allowStatements, scopeOf, type SessionScope } from "../../../shared/core/session-scope.ts";
import { statements } from "./policy-texts.ts";
import { allowsCall, type Call, simulates } from "./session-evaluators.ts";

const NONE: SessionPolicies = { policy: null, policyARNs: [] };
const S3 = scopeOf(["s3.services.k8s.aws"]);
const ROLE = "arn:aws:iam::111122223333:role/x";
const CALLS: readonly Call[] = [
  ["s3:CreateBucket", "arn:aws:s3:::x"], ["s3:GetObject", "arn:aws:s3:::x/y"], ["sqs:CreateQueue", "arn:aws:sqs:r:1:x"],
  ["iam:CreateUser", "arn:aws:iam::111122223333:user/x"], ["lambda:CreateFunction", "arn:aws:lambda:r:1:function:x"],
].map(([action = "", resource = ""]) => ({ action, resource, context: {} }));
const PASSES: readonly Call[] = ["s3.amazonaws.com", "lambda.amazonaws.com", "ec2.amazonaws.com"].map((service) => (
  { action: "iam:PassRole", resource: ROLE, context: { "iam:PassedToService": service } }
));

/** What the managed policies allow. */
const MANAGED: ReadonlyMap<string, JsonObject> = new Map([
  ["arn:aws:iam::aws:policy/AmazonS3FullAccess", statements({ Effect: "Allow", Action: "s3:*" })],
  ["arn:aws:iam::aws:policy/AdministratorAccess", statements({ Effect: "Allow" })],
]);

const statement: Arbitrary<JsonObject> = record({
  Effect: constantFrom("Allow", "Allow", "Deny"), Action: constantFrom("*", "s3:*", "s3:Get*", "iam:*", "lambda:*"),
  Resource: constantFrom("*", "arn:aws:s3:::x", ROLE),
});
const policies = record({
  policy: option(array(statement, { maxLength: 3 }).map((all) => textOf(all))),
  policyARNs: subarray([...MANAGED.keys()]),
});
function textOf(all: readonly JsonObject[]): string {
  return JSON.stringify(statements({ Effect: "Allow", Action: "sns:*" }, ...all));
}

const groups = constantFrom(null, ["s3"], ["lambda"], ["s3", "lambda"], ["sqs", "iam"]);
const call = constantFrom(...CALLS, ...PASSES);

function scopeFor(services: readonly string[] | null): SessionScope | null {
  return services === null ? null : scopeOf(services.map((service) => `${service}.services.k8s.aws`));
}

/** Whether a session with these policies may make the call; a session without policies may do all. */
function allows({ policy, policyARNs }: SessionPolicies, made: Call): boolean {
  const inline = policy === null ? undefined : parseJSON(policy);
  const all = [inline, ...policyARNs.map((arn) => MANAGED.get(arn))].filter(isJsonObject);
  return all.length === 0 || allowsCall(all, made);
}

/** Returns the combination; null if the request is denied. */
function combined(...args: Parameters<typeof combinedPolicies>): SessionPolicies | null {
  try {
    return combinedPolicies(...args);
  } catch (error) {
    if (error instanceof ResolverError) return null;
    throw error;
  }
}

test("a session allows a call if and only if the selector, the request and the scope each allow it", (t) => {
  let [denied, allowed] = [0, 0];
  assert(property(policies, policies, groups, call, (own, requested, services, made) => {
    const scope = scopeFor(services);
    const result = combined(own, requested, scope);
    denied += result === null ? 1 : 0;
    if (result === null) return true;
    const inScope = scope === null || allowsCall([statements(...allowStatements(scope))], made);
    const expected = allows(own, made) && allows(requested, made) && inScope;
    allowed += expected ? 1 : 0;
    return allows(result, made) === expected;
  }), { numRuns: 10_000 });
  t.ok(denied > 100 && allowed > 100, `${denied} denied, ${allowed} allowed`);
  t.end();
});

test("so says another evaluator", async (t) => {
  const inline = policies.map(({ policy }) => ({ policy, policyARNs: [] }));
  const judged = constantFrom(...CALLS.slice(0, 2), ...PASSES);
  await assert(asyncProperty(inline, groups, judged, async (own, services, made) => {
    const scope = scopeFor(services);
    const result = combined(own, NONE, scope);
    const policy = result?.policy === undefined || result.policy === null ? null : parseJSON(result.policy);
    return !isJsonObject(policy) || await simulates(policy, made) === allowsCall([policy], made);
  }), { numRuns: 1000 });
  t.end();
});

test("a client that asks for everything gets the scope, and no more than the selector's policies", (t) => {
  const everything = { policy: JSON.stringify(statements({ Effect: "Allow" })), policyARNs: [] };
  const own = { policy: null, policyARNs: ["arn:aws:iam::aws:policy/AmazonS3FullAccess"] };
  const scoped = combinedPolicies(NONE, everything, S3);
  const allowed = [...CALLS, ...PASSES].filter((made) => allows(scoped, made));
  t.same(allowed, [...CALLS.slice(0, 2), ...PASSES.slice(0, 1)]);
  t.throws(() => combinedPolicies(own, everything, null), { code: "ERR_SESSION_POLICY" });
  const text = { policy: "[]", policyARNs: [] };
  t.throws(() => combinedPolicies(NONE, text, S3), { code: "ERR_SESSION_POLICY" });
  t.end();
});

test("says what to do if the scope is too long", (t) => {
  const everywhere = scopeOf(["iam", "ec2", "rds", "documentdb"].map((service) => `${service}.services.k8s.aws`));
  const split = { code: "ERR_SESSION_SCOPE", message: /Run a sidecar for each group, or/ };
  t.throws(() => combinedPolicies(NONE, NONE, everywhere), split);
  const long = { policy: JSON.stringify(statements({ Sid: "x".repeat(2000), Effect: "Allow" })), policyARNs: [] };
  t.throws(() => combinedPolicies(long, NONE, S3), { message: /Shorten the session policy, or/ });
  t.end();
});
