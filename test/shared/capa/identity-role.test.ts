import type { JsonObject } from "../../../shared/formats/json.ts";
import { identityObject, roleARN, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { type CapaCase, testCases } from "../core/capa-lines.ts";

const LIST = { list: ["team-a"] };

/** A role identity in which no check finds a fault, with changes. */
function role(rest: JsonObject = {}): JsonObject {
  return roleIdentity("r", "controller", LIST, rest);
}

function account(spec: JsonObject): JsonObject {
  return identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("sa"), ...spec },
    { namespace: "team-a" });
}

const POLICY = "arn:aws:iam::aws:policy/ReadOnlyAccess";
const SECRETS = { identitySecretNamespace: "capa-system" };

/** The Secret of the static identity `s`, with an access key and the other keys. */
function secretOfS(keys: readonly string[]): JsonObject {
  const data = Object.fromEntries(["AccessKeyID", "SecretAccessKey", ...keys].map((key) => [key, "YQ=="]));
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "s-creds", namespace: "capa-system" }, data };
}

const CASES: readonly CapaCase[] = [
  ["CI-20", "the role is missing", role({ roleARN: null }), [/^deny CI-20 spec\.roleARN: the role is missing\./]],
  ["CI-20", "the role is empty", role({ roleARN: "" }), [/^deny CI-20 spec\.roleARN: the role is missing\./]],
  ["CI-20", "the role is not an ARN", role({ roleARN: "capa" }), [/"capa" is not the ARN of .* it is not an ARN/]],
  ["CI-20", "the account has 9 digits", role({ roleARN: "arn:aws:iam::123456789:role/CAPARole" }),
    [/its account is "123456789", not 12 digits/]],
  ["CI-20", "another kind", staticIdentity("s"), []],
  ["CI-21", "the session name has a space", role({ sessionName: "bad name!" }),
    [/^deny CI-21 spec\.sessionName: "bad name!" contains characters other than/]],
  ["CI-21", "the external ID is too short", role({ externalID: "a" }),
    [/spec\.externalID: the external ID has 1 character, not 2 to 1224/]],
  ["CI-21", "valid texts", role({ externalID: "ab:c", sessionName: "capa" }), []],
  ["CI-21", "the key of a tag is reserved", role({ tags: { "AWS:team": "a" } }),
    [/spec\.tags: a key in tags starts with aws:, which is reserved for AWS/]],
  ["CI-21", "a tag has an invalid value, and a transitive tag has no tag",
    role({ tags: { team: "a|b" }, transitiveTags: ["Team", "stage"] }),
    [/spec\.tags: a value in tags contains characters other than/, /spec\.transitiveTags: .* tags does not contain/]],
  ["CI-22", "the policy is not JSON", role({ inlinePolicy: "allow all" }),
    [/^deny CI-22 spec\.inlinePolicy: inlinePolicy is not a JSON object/]],
  ["CI-22", "the policy is too long", role({ inlinePolicy: `{"a": "${"x".repeat(2048)}"}` }),
    [/spec\.inlinePolicy: inlinePolicy and policyARNs have 2,?057 characters, more than 2048/]],
  ["CI-22", "the ARNs are invalid, too many and too long", role({ policyARNs: Array(11).fill("x".repeat(200)) }),
    [/spec\.policyARNs: inlinePolicy and policyARNs have 2,?200 characters/, /has 11 ARNs, more than 10/,
      /contains "x+.*" ?.*, which is not the ARN of an IAM policy/]],
  ["CI-22", "a policy", role({ inlinePolicy: "{}" }), []],
  ["CI-22", "the policy contains characters that STS rejects", role({ inlinePolicy: '{"a": "\u{4e00}"}' }),
    [/inlinePolicy contains characters other than tab, line breaks and U\+0020 to U\+00FF/]],
  ["CI-23", "policyARNs", role({ policyARNs: [POLICY] }),
    [/^deny CI-23 spec\.policyARNs: shipped CAPA ignores policyARNs\. Write/]],
  ["CI-23", "policyARNs with --runtime extended", role({ policyARNs: ["a"] }), [],
    { settings: { runtime: "extended" } }],
  ["CI-24", "a chained session of 2 hours", roleIdentity("r", "role/b", LIST, { durationSeconds: 7200 }),
    [/^deny CI-24 spec\.durationSeconds: 7200 is more than 3600, and the source is a role/]],
  ["CI-23", "policyARNs of a kind that only other versions of CAPA have", account({ policyARNs: [POLICY] }), []],
  ["CI-24", "a session of 2 hours over the controller", role({ durationSeconds: 7200 }),
    [/^warn CI-24 spec\.durationSeconds: 7200 is more than 3600, and the source is usually a session/]],
  ["CI-24", "a session of 2 hours without a source, with --runtime extended",
    roleIdentity("r", null, LIST, { durationSeconds: 7200 }), [/the source is usually a session/],
    { settings: { runtime: "extended" } }],
  ["CI-24", "a session of 2 hours over a Secret with a session token",
    roleIdentity("r", "static/s", LIST, { durationSeconds: 7200 }),
    [/^deny CI-24 .*: 7200 is more than 3600, and the Secret of the source has a SessionToken/],
    { objects: [staticIdentity("s"), secretOfS(["SessionToken"])], settings: SECRETS }],
  ["CI-24", "a session of 2 hours over a Secret without a session token",
    roleIdentity("r", "static/s", LIST, { durationSeconds: 7200 }), [],
    { objects: [staticIdentity("s"), secretOfS([])], settings: SECRETS }],
  ["CI-24", "a session of 2 hours over a Secret that does not exist",
    roleIdentity("r", "static/s", LIST, { durationSeconds: 7200 }), [],
    { objects: [staticIdentity("s")], settings: SECRETS }],
  ["CI-24", "a session of 2 hours over a Secret whose keys are unknown",
    roleIdentity("r", "static/s", LIST, { durationSeconds: 7200 }), [],
    { objects: [staticIdentity("s"), { ...secretOfS([]), data: null }], settings: SECRETS }],
  ["CI-24", "a session of 2 hours over a Secret, without --identity-secret-namespace",
    roleIdentity("r", "static/s", LIST, { durationSeconds: 7200 }), [], { objects: [staticIdentity("s")] }],
  ["CI-24", "a session of 2 hours with a token", account({ durationSeconds: 7200 }), []],
  ["CI-37", "a token that no sidecar requests",
    account({ tags: { team: "a" }, expirationSeconds: 60, audiences: Array(11).fill("a") }),
    [/^deny CI-37 spec\.audiences: audiences has 11 values/, /expirationSeconds 60 is not 600/,
      /spec\.tags: tags and transitiveTags cannot be sent with a token of a ServiceAccount/]],
  ["CI-37", "a transitive tag", account({ transitiveTags: ["a"] }), [/spec\.transitiveTags: tags and/]],
  ["CI-37", "the defaults", account({}), []],
  ["CI-24", "a session of 13 hours", role({ durationSeconds: 46_800 }), [/46800 is not 900 to 43200/]],
  ["CI-24", "a session of 2 hours over a source that does not exist",
    roleIdentity("r", "static/s", LIST, { durationSeconds: 7200 }), [], { settings: SECRETS }],
  ["CI-24", "a session of 1 minute", role({ durationSeconds: 60 }), [/60 is not 900 to 43200/]],
];

testCases(CASES);
