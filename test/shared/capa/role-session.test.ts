import { test } from "tap";
import { type Identity, readIdentity, type RoleIdentity } from "../../../shared/capa/identity.ts";
import { chainedDurationDenial, roleSessionDenial } from "../../../shared/capa/role-session.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { roleIdentity } from "../capa-objects.ts";

function isRole(identity: Identity | null): identity is RoleIdentity {
  return identity?.kind === "AWSClusterRoleIdentity";
}

function role(spec: JsonObject): RoleIdentity {
  const identity = readIdentity(roleIdentity("r", "controller", {}, spec), "ack");
  if (!isRole(identity)) throw new Error("not a role identity");
  return identity;
}

const arns = (count: number): string[] => Array.from({ length: count }, (_, i) => `arn:aws:iam::aws:policy/p${i}`);

test("accepts every parameter of AssumeRole at its limits", (t) => {
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key-${i}`, "v".repeat(256)]));
  const accepted: readonly JsonObject[] = [
    {},
    { sessionName: "s".repeat(64), externalID: "e".repeat(1224), durationSeconds: 43_200 },
    { durationSeconds: 900, inlinePolicy: `{"a":"${"x".repeat(2040)}"}` },
    { policyARNs: [...arns(9), "arn:aws-cn:iam::111122223333:policy/team/p"] },
    { tags, transitiveTags: ["KEY-0"] },
  ];
  for (const spec of accepted) t.equal(roleSessionDenial(role(spec)), null, JSON.stringify(spec).slice(0, 80));
  t.end();
});

test("denies each parameter that STS rejects, and does not quote confidential values", (t) => {
  const tags = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`key-${i}`, "v"]));
  const denied: readonly (readonly [JsonObject, string])[] = [
    [{ roleARN: "" }, 'roleARN "" is not the ARN of an IAM role'],
    [{ roleARN: null }, "roleARN is missing"],
    [{ roleARN: 5 }, "roleARN has a wrong type"],
    [{ roleARN: "arn:aws:iam::1111:role/a" }, 'roleARN "arn:aws:iam::1111:role/a" is not the ARN of an IAM role'],
    [{ sessionName: "bad name!" }, 'sessionName "bad name!" contains characters other than letters, digits and'],
    [{ externalID: "p" }, "externalID has 1 character, not 2 to 1224"],
    [{ durationSeconds: 899 }, "durationSeconds 899 is not 900 to 43200"],
    [{ durationSeconds: 43_201 }, "durationSeconds 43201 is not 900 to 43200"],
    [{ durationSeconds: "3600" }, "durationSeconds has a wrong type"],
    [{ inlinePolicy: "planted" }, "inlinePolicy is not a JSON object"],
    [{ inlinePolicy: "[]" }, "inlinePolicy is not a JSON object"],
    [{ inlinePolicy: {} }, "inlinePolicy has a wrong type"],
    [{ inlinePolicy: "planted".repeat(300) }, "inlinePolicy and policyARNs have 2100 characters, more than 2048"],
    [{ inlinePolicy: "{}", policyARNs: ["a".repeat(2048)] }, "inlinePolicy and policyARNs have 2050 characters"],
    [{ policyARNs: arns(11) }, "policyARNs has 11 ARNs, more than 10"],
    [{ policyARNs: ["p"] }, 'policyARNs contains "p", which is not the ARN of an IAM policy'],
    [{ policyARNs: "p" }, "policyARNs has a wrong type"],
    [{ tags: { team: "planted!" } }, "a value in tags contains characters other than"],
    [{ tags: { "": "a" } }, "a key in tags has 0 characters, not 1 to 128"],
    [{ tags: { a: 1 } }, "tags has a wrong type"],
    [{ tags: ["a"] }, "tags has a wrong type"],
    [{ tags }, "tags has 51 tags, more than 50"],
    [{ tags: { a: "1", A: "2" } }, "two keys in tags differ only in case"],
    [{ transitiveTags: ["a"] }, "transitiveTags contains a key that tags does not contain"],
    [{ transitiveTags: [1] }, "transitiveTags has a wrong type"],
  ];
  for (const [spec, fault] of denied) {
    const denial = roleSessionDenial(role(spec));
    t.equal(denial?.code, "ERR_IDENTITY_SESSION", fault);
    t.match(denial?.message, fault);
    t.notMatch(denial?.message, "planted");
  }
  t.equal(
    roleSessionDenial(role({ durationSeconds: 5, externalID: "p" }))?.message,
    'AWSClusterRoleIdentity "r" does not have valid parameters for AssumeRole: externalID has 1 character, not 2 to '
      + "1224; durationSeconds 5 is not 900 to 43200. Correct the fields of the identity.",
  );
  t.end();
});

test("denies a chained session of more than 3600 s, and names the limit", (t) => {
  t.equal(chainedDurationDenial(role({})), null);
  t.equal(chainedDurationDenial(role({ durationSeconds: 3600 })), null);
  t.same(chainedDurationDenial(role({ durationSeconds: 3601 })), {
    code: "ERR_IDENTITY_SESSION",
    message: 'durationSeconds of AWSClusterRoleIdentity "r" is 3601, but its role is assumed with the credentials of a '
      + "session, for which STS allows at most 3600 seconds (role chaining). Set durationSeconds to at most 3600, or "
      + "remove it.",
  });
  t.end();
});
