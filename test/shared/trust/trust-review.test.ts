import { test } from "tap";
import { TypeSet } from "../../../shared/core/resource-types.ts";
import { unassumedNotes } from "../../../shared/trust/trust-target.ts";
import { callerOf, identityTarget, problemsOf, reviewOf, selectorTarget } from "./review.ts";
import { allow, APP, type Fields, NEAR, ROLE } from "./trust-cases.ts";

const NAMED = [allow({ AWS: APP })];
const TAGGED = allow({ AWS: APP }, { Action: "sts:TagSession" });
const ID = "AROAEXAMPLEEXAMPLEID1";
const EXTERNAL_ID = { Condition: { StringEquals: { "sts:ExternalId": "x1" } } };
const PODS = callerOf({ credentials: "pod-identity" });

test("finds nothing in a role that its callers can assume and nobody else", async (t) => {
  t.same(problemsOf(selectorTarget(), { trust: NAMED }), []);
  t.same(problemsOf(selectorTarget(), { trust: [...NAMED, TAGGED], callers: [PODS] }), []);
});

test("gives each reason of a no a code of its own", async (t) => {
  const select = (trust: readonly Fields[], callers = [callerOf()]): string[] => (
    problemsOf(selectorTarget(), { trust, callers })
  );
  t.same(select([]), [
    `TR-01 ${APP} cannot assume the role: no statement of the trust policy allows the caller sts:AssumeRole`,
  ]);
  t.same(select([allow({ AWS: APP }, EXTERNAL_ID)]), [
    `TR-03 ${APP} cannot assume the role: the trust policy names the caller, but its conditions on sts:ExternalId do `
    + "not allow the call",
  ]);
  t.same(select(NAMED, [PODS]), [
    `TR-04 ${APP} cannot assume the role: no statement of the trust policy allows the caller sts:TagSession, but it `
    + "names the caller in a statement with other actions",
  ]);
  const both = allow({ AWS: APP }, { ...EXTERNAL_ID, Action: ["sts:AssumeRole", "sts:TagSession"] });
  t.match(select([both], [PODS]), [/^TR-03 /, /^TR-04 .* role: sts:TagSession: the trust policy names the caller/]);
  t.match(select([allow({ AWS: ID })]), [/^TR-05 .*, but it contains the unique ID of a role or user/]);
  const capa = [callerOf({ via: "capa" })];
  t.same(problemsOf(identityTarget({ durationSeconds: 7200 }), { trust: NAMED, callers: capa }), [
    `TR-06 ${APP} cannot assume the role: the duration of 7200 seconds exceeds the 3600 seconds of role chaining; `
    + "request at most 3600 seconds",
  ]);
  const long = identityTarget({ durationSeconds: 7200, sessionName: "?" });
  t.match(problemsOf(long, { trust: NAMED, callers: capa }), [/^TR-01 .* the session name is /]);
});

test("takes the fix of the check if it is better than that of trust", async (t) => {
  const fixes = (trust: readonly Fields[]): (string | null)[] => (
    reviewOf({ trust }).problemsOf(selectorTarget()).map(({ fix }) => fix)
  );
  t.match(fixes([]), [/^add a statement that allows the ARN of the caller sts:AssumeRole/]);
  t.match(fixes([allow({ AWS: APP }, EXTERNAL_ID)]), [/^the call sends no external ID; ACK can send one only with /]);
  t.same(fixes([allow({ AWS: ID })]), [null]);
  const byName = { Condition: { StringEquals: { "sts:RoleSessionName": "x1" } } };
  t.match(fixes([allow({ AWS: APP }, byName)]), [/^the call has another session name; set /]);
});

test("says once what is missing for an unknown, whatever its actions are", async (t) => {
  t.same(problemsOf(selectorTarget(), { trust: null, callers: [PODS] }), [
    `TR-02 whether ${APP} can assume the role depends on what the input does not contain: trust policy ${ROLE}`,
  ]);
  t.match(problemsOf(selectorTarget(), { trust: NAMED, callers: [callerOf({ credentials: null })] }), [
    /^TR-02 .* does not contain: the credentials of the caller, because EKS Pod Identity adds session tags/,
  ]);
});

test("lists callers with the same problem together, and the source of an identity in place of them", async (t) => {
  const other = callerOf({ arn: NEAR });
  t.match(problemsOf(selectorTarget(), { trust: [], callers: [callerOf(), callerOf({ via: "sidecar" }), other] }), [
    `TR-01 ${APP} cannot assume the role: no statement of the trust policy allows the caller sts:AssumeRole`,
    `TR-01 ${NEAR} cannot assume the role: the caller does not exist in the export of its account; check the ARN and `
    + "its path",
  ]);
  const source = { roleARN: NEAR, tags: [], hasOtherBase: false };
  const capa = [callerOf({ via: "capa" })];
  const [chained] = problemsOf(identityTarget({}, source), { trust: [], callers: capa });
  t.match(chained, /^TR-01 \S+:role\/near cannot assume/);
});

test("warns of the unique ID of a deleted principal beside callers that are trusted", async (t) => {
  t.same(problemsOf(selectorTarget(), { trust: [allow({ AWS: [APP, ID, ID] })] }), [
    `TR-05 (warn) the trust policy contains the unique ID of a deleted role or user: ${ID}`,
  ]);
  t.same(problemsOf(selectorTarget(), { trust: [...NAMED, { ...allow({ AWS: ID }), Effect: "Deny" }] }), []);
});

test("warns of tags and session policies only besides those of EKS Pod Identity", async (t) => {
  const trust = [...NAMED, TAGGED, allow({ AWS: NEAR }, { Action: ["sts:AssumeRole", "sts:TagSession"] })];
  const tags = [{ key: "team", value: "a" }];
  const sidecar = callerOf({ via: "sidecar", credentials: "pod-identity" });
  const size = (...[target, ...callers]: [ReturnType<typeof selectorTarget>, ...typeof PODS[]]): string[] => (
    problemsOf(target, { trust, callers, intended: [NEAR] }).filter((one) => one.startsWith("TR-07"))
  );
  const besides = (what: string): string[] => [
    `TR-07 the session has ${what} besides the six tags of EKS Pod Identity, which alone take up to 74% of the size `
    + "that STS allows",
  ];
  t.same(size(selectorTarget({ tags }), sidecar), besides("tags"));
  t.same(size(selectorTarget({ tags }), PODS), [], "ACK sends no tags");
  t.same(size(selectorTarget({ tags }), callerOf({ via: "sidecar" })), [], "IRSA adds no tags");
  t.same(size(selectorTarget(), sidecar), []);
  const scoped = selectorTarget({ scope: "service" });
  t.same(size(scoped, sidecar), besides("a session policy"));
  t.same(size(selectorTarget({ policyARNs: ["arn:aws:iam::aws:policy/A"] }), sidecar), besides("a session policy"));
  t.same(size(scoped, PODS), [], "ACK sends no policies");
  t.same(size({ kind: "map", name: "map", roleARN: ROLE }, sidecar), []);
  const limited = identityTarget({ tags, hasInlinePolicy: true });
  t.same(size(limited, sidecar), besides("tags and a session policy"));
  t.same(size(limited, { ...PODS, via: "capa" }), besides("a session policy"));
  t.same(size(identityTarget({ hasManagedPolicies: true }), { ...PODS, via: "capa" }), [], "CAPA does not send them");
  t.same(size(identityTarget({ hasManagedPolicies: true }), sidecar), besides("a session policy"));
  const source = { roleARN: NEAR, tags, hasOtherBase: false };
  t.same(size(identityTarget({}, source), sidecar), besides("tags"), "tags of the source are passed on");
  t.same(size(identityTarget({}, source), { ...PODS, via: "capa" }), []);
  t.same(size(identityTarget({}, { ...source, hasOtherBase: true }), sidecar), [], "a user starts the chain");
});

test("reports a selector whose kinds no known controller manages", async (t) => {
  const types = new TypeSet([{ group: "sqs.services.k8s.aws", version: "", kind: "" }]);
  const queues = { ...selectorTarget(), types };
  const s3 = callerOf({ groups: ["s3.services.k8s.aws"] });
  t.match(problemsOf(queues, { trust: NAMED, callers: [s3] }), [/^TR-02 no known controller manages/]);
  t.same(problemsOf(queues, { trust: NAMED, callers: [callerOf({ groups: ["sqs.services.k8s.aws"] })] }), []);
  const wrong = callerOf({ arn: NEAR, groups: ["s3.services.k8s.aws"] });
  t.same(problemsOf(queues, { trust: NAMED, callers: [wrong, callerOf()] }), [], "the other is never asked");
  t.match(problemsOf(selectorTarget(), { trust: NAMED, callers: [wrong] }), [/^TR-01/], "it selects every kind");
  t.same(problemsOf(identityTarget(), { trust: NAMED, callers: [s3] }), [], "no caller is CAPA");
});

test("claims nothing of a trust policy that cannot be read", async (t) => {
  t.match(problemsOf(selectorTarget(), { trust: [{ Effect: "Maybe" }] }), [/^TR-02 /]);
});

test("notes for which kinds of objects no program assumes roles", async (t) => {
  const targets = [selectorTarget(), identityTarget(), identityTarget()];
  t.same(unassumedNotes(targets, ["sidecar"]), []);
  t.same(unassumedNotes(targets, ["ack"]), [
    "the roles of each AWSClusterRoleIdentity are not examined: no known caller assumes them; pass --caller with --via "
    + "sidecar or capa",
  ]);
  t.match(unassumedNotes(targets, ["capa"]), [/^the roles of each IAMRoleSelector .* or eks-capability$/]);
});

test("leaves a text that is not the ARN of a role to other checks", async (t) => {
  t.same(problemsOf({ kind: "map", name: "m/k", roleARN: "team-a" }, { trust: [] }), []);
  const source = { roleARN: "x", tags: [], hasOtherBase: false };
  const capa = [callerOf({ via: "capa" })];
  t.match(problemsOf(identityTarget({}, source), { trust: NAMED, callers: capa }), [
    /^TR-01 x cannot assume the role: the role, or that of the source, is not the ARN of an IAM role/,
  ]);
});

test("a role and its reviews stay the same, in whatever order they are asked", async (t) => {
  const review = reviewOf({ trust: [allow("*")] });
  const source = { roleARN: NEAR, tags: [], hasOtherBase: false };
  const codes = (target: Parameters<typeof review.problemsOf>[0]): string[] => (
    review.problemsOf(target).map(({ code }) => code)
  );
  const first = codes(selectorTarget());
  t.same(first, ["TR-08"]);
  t.same(codes(identityTarget({}, source)), ["TR-08"]);
  t.same(codes(selectorTarget()), first);
  t.throws(() => reviewOf({ trust: [], callers: [callerOf({ arn: "111122223333" })] }), { message: /is not the ARN/ });
});
