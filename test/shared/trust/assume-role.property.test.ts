import * as fc from "fast-check";
import { test } from "tap";
import type { AssumeRoleCall, Caller } from "../../../shared/trust/assume-role-call.ts";
import type { Answer } from "../../../shared/trust/three-values.ts";
import { parameters } from "../property.ts";
import {
  allow, APP, decide, type Documents, type Fields, NEAR, requestOf, ROLE, sessionOf, userOf,
} from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/bob";

const caller: fc.Arbitrary<Caller> = fc.oneof(
  fc.tuple(fc.constantFrom(APP, NEAR, ROLE), fc.constantFrom("s", null)).map(([arn, sessionName]) => (
    sessionOf(arn, { sessionName })
  )),
  fc.constantFrom<Caller>(
    userOf(BOB), sessionOf(APP, { roleARN: null }), sessionOf(NEAR, { tags: null, sourceIdentity: "alice" }),
    sessionOf(NEAR, { transitiveTags: new Map([["team", "a"]]) }), { kind: "service", name: "pods.eks.amazonaws.com" },
  ),
);
const call: fc.Arbitrary<Partial<AssumeRoleCall>> = fc.record({
  externalID: fc.constantFrom("x1", "x2"), sourceIdentity: fc.constant("alice"),
  sessionName: fc.constantFrom("x1", "alice"),
  tags: fc.constantFrom(new Map([["team", "a"]]), new Map([["Team", "b"], ["cost", "c"]])),
}, { requiredKeys: [] });

const operator = fc.tuple(
  fc.constantFrom("", "ForAllValues:", "ForAnyValue:"),
  fc.constantFrom(
    "StringEquals", "StringNotEquals", "StringLike", "StringNotLike", "ArnLike", "ArnNotEquals", "Null", "Bool",
  ),
  fc.constantFrom("", "IfExists"),
).map((parts) => parts.join(""));
const key = fc.constantFrom(
  "sts:ExternalId", "sts:RoleSessionName", "sts:SourceIdentity", "aws:RequestTag/team", "aws:TagKeys",
  "aws:PrincipalTag/team", "aws:PrincipalArn", "aws:userid", "aws:username", "aws:PrincipalOrgID", "saml:aud",
  "aws:SourceIp",
);
const value = fc.constantFrom(
  "x1", "a", "*", "team", "${aws:username}", "${aws:PrincipalTag/team}", NEAR, "true", "alice",
);
const keys = fc.dictionary(key, fc.array(value, { maxLength: 2 }), { maxKeys: 2 });
const condition = fc.dictionary(operator, keys, { maxKeys: 2 });
const action = fc.constantFrom("sts:AssumeRole", "sts:*", "*", "sts:TagSession", "sts:SetSourceIdentity");
const aws = fc.constantFrom(
  "*", "222222222222", "arn:aws:iam::111122223333:root", APP, NEAR, ROLE, BOB, "AROAEXAMPLEEXAMPLEID1", "role/*",
  "arn:aws:sts::222222222222:assumed-role/near/s",
);
const principal = fc.oneof(
  fc.constantFrom("*", { Service: "pods.eks.amazonaws.com" }),
  fc.record({ AWS: fc.array(aws, { minLength: 1, maxLength: 3 }) }),
);
const effect = fc.constantFrom("Allow", "Allow", "Deny");
const trustStatement: fc.Arbitrary<Fields> = fc.oneof(
  fc.record({ Effect: effect, Principal: principal, Action: action, Condition: condition }, {
    requiredKeys: ["Effect", "Principal", "Action"],
  }),
  fc.record({ Effect: effect, NotPrincipal: principal, Action: action }),
);
const identityStatement: fc.Arbitrary<Fields> = fc.record({
  Effect: effect, Action: action, Condition: condition,
  Resource: fc.constantFrom(
    "*", ROLE, "arn:aws:iam::*:role/*", "arn:aws:s3:::*", "arn:aws:iam::222222222222:role/${aws:username}",
  ),
}, { requiredKeys: ["Effect", "Action", "Resource"] });
const identities = fc.array(identityStatement, { maxLength: 3 });
const documents: fc.Arbitrary<Documents> = fc.record({
  trust: fc.array(trustStatement, { maxLength: 3 }), identity: identities, boundary: identities, session: identities,
}, { requiredKeys: ["trust"] });

const BOTH = fc.tuple(caller, call, documents);

function verdict(...[from, parts, policies]: [Caller, Partial<AssumeRoleCall>, Documents]): Answer {
  return decide(requestOf(from, parts), policies).verdict;
}

test("an unconditional deny of any side always wins", async (t) => {
  const everyone = { AWS: ["111122223333", "222222222222"], Service: "pods.eks.amazonaws.com" };
  const deny = { Effect: "Deny", Action: "*", Resource: "*" };
  const side = fc.constantFrom("identity", "boundary", "session", "trust");
  fc.assert(fc.property(BOTH, side, ([from, parts, policies], changed) => {
    const own = changed === "trust" ? { ...allow(everyone), Effect: "Deny" } : deny;
    return verdict(from, parts, { ...policies, [changed]: [...policies[changed] ?? [], own] }) === "no";
  }), parameters(t, 1_000));
});

const ORDER: Readonly<Record<Answer, number>> = { no: 0, unknown: 1, yes: 2 };

test("an additional allow never makes a verdict worse, nor an additional deny better", async (t) => {
  fc.assert(fc.property(BOTH, trustStatement, identityStatement, ([from, parts, policies], trust, identity) => {
    const before = verdict(from, parts, policies);
    const after = [
      { side: trust, policies: { ...policies, trust: [...policies.trust ?? [], trust] } },
      { side: identity, policies: { ...policies, identity: [...policies.identity ?? [], identity] } },
    ];
    return after.every(({ side, policies: more }) => {
      const difference = ORDER[verdict(from, parts, more)] - ORDER[before];
      return side["Effect"] === "Allow" ? difference >= 0 : difference <= 0;
    });
  }), parameters(t, 2_000));
});

test("a verdict is unknown only until the missing input is known", async (t) => {
  fc.assert(fc.property(BOTH, ([from, parts, policies]) => {
    const certain = verdict(from, parts, policies);
    const unread: readonly Documents[] = [
      { ...policies, trust: null }, { ...policies, identity: null }, { ...policies, boundary: null },
    ];
    const unknown = { sessionName: null, roleARN: null, tags: null, uniqueID: null };
    const less = [
      ...unread.map((one) => verdict(from, parts, one)),
      verdict(from.kind === "session" ? { ...from, ...unknown } : from, { ...parts, sessionName: null }, policies),
    ];
    return less.every((one) => one === "unknown" || one === certain);
  }), parameters(t, 2_000));
});

test("an unknown verdict, and no other, names what is missing", async (t) => {
  fc.assert(fc.property(BOTH, ([from, parts, policies]) => {
    const { verdict: answer, missing } = decide(requestOf(from, parts), policies);
    return (answer === "unknown") === (missing.length > 0);
  }), parameters(t, 1_000));
});
