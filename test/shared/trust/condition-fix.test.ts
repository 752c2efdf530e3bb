import { test } from "tap";
import type { AssumeRoleCall, Caller } from "../../../shared/trust/assume-role-call.ts";
import { decideAssumeRole } from "../../../shared/trust/assume-role.ts";
import { decisionJSON } from "../../../shared/trust/verdict-text.ts";
import { allow, APP, type Fields, grant, NEAR, policiesOf, requestOf, ROLE, sessionOf, userOf } from "./trust-cases.ts";

interface Asked {
  readonly caller?: Caller;
  readonly call?: Partial<AssumeRoleCall>;
  readonly roleTags?: ReadonlyMap<string, string>;
  readonly identity?: readonly Fields[];
  readonly nowSeconds?: number;
}

const CALLER = sessionOf(APP);
const NOW = 1_795_000_000;

/** Returns the verdict with the reason of a trust policy for APP under these conditions. */
function ask(conditions: Fields, asked: Asked = {}): string {
  const { caller = CALLER, call = {}, roleTags = new Map(), identity = [grant()], nowSeconds = NOW } = asked;
  const request = requestOf(caller, call, { roleTags, nowSeconds });
  const principal = caller.kind === "service" ? { Service: caller.name } : { AWS: ["111122223333", "222222222222"] };
  const trust = [allow(principal, { Action: ["sts:AssumeRole", "sts:TagSession", "sts:Set*"], Condition: conditions })];
  const decision = decideAssumeRole(request, policiesOf({ trust, identity }));
  const { verdict, actions } = decisionJSON(decision, request);
  return [verdict, ...actions.slice(0, 1).map(({ reason }) => reason)].join(": ");
}

const OTHER = "arn:aws:iam::111122223333:role/other";

/** The conditions that no call fulfils as it is, and the fix of each as the reader carries it out. */
const CASES: readonly (readonly [
  conditions: Fields, reason: RegExp, fixed: readonly [conditions: Fields | null, asked?: Asked], asked?: Asked,
])[] = [
  [
    { StringEquals: { "sts:ExternalId": "x1" } },
    /the call sends no external ID; ACK can send one only with the sidecar/,
    [null, { call: { externalID: "x1" } }],
  ],
  [
    { StringEquals: { "sts:ExternalId": "x1" } },
    /the call sends another external ID; correct the annotation external-id/,
    [null, { call: { externalID: "x1" } }], { call: { externalID: "x2" } },
  ],
  [
    { StringEquals: { "sts:RoleSessionName": "s1" } },
    /the call has another session name; set .* annotation session-name/,
    [null, { call: { sessionName: "s1" } }], { call: { sessionName: "s2" } },
  ],
  [
    { StringEquals: { "sts:SourceIdentity": "jane" } }, /sends no source identity; set .* annotation source-identity/,
    [null, { call: { sourceIdentity: "jane" } }],
  ],
  [
    { StringEquals: { "sts:SourceIdentity": "jane" } },
    /sends another source identity; set .* annotation source-identity/,
    [null, { call: { sourceIdentity: "jane" } }], { call: { sourceIdentity: "joe" } },
  ],
  [
    { StringEquals: { "aws:RequestTag/team": "a" } },
    /set the session tags that aws:RequestTag\/team demands with the ann/,
    [null, { call: { tags: new Map([["team", "a"]]) } }],
  ],
  [
    { "ForAnyValue:StringEquals": { "aws:TagKeys": "team" } }, /set the session tags that aws:TagKeys demands/,
    [null, { call: { tags: new Map([["team", "a"]]) } }],
  ],
  [
    { StringEquals: { "aws:PrincipalTag/team": "a" } }, /set the tag "team" that it demands on the caller in IAM/,
    [null, { caller: sessionOf(APP, { tags: new Map([["team", "a"]]) }) }],
  ],
  [
    { StringEquals: { "aws:ResourceTag/team": "a" } }, /set the tag "team" that it demands on the role in IAM/,
    [null, { roleTags: new Map([["team", "a"]]) }],
  ],
  [
    { DateLessThan: { "aws:CurrentTime": "2020-01-01T00:00:00Z" } },
    /the time is 2026-\d\d-\d\dT\S+Z; change the date in DateLessThan aws:CurrentTime, or remove it/,
    [{ DateLessThan: { "aws:CurrentTime": "2030-01-01T00:00:00Z" } }],
  ],
  [
    { ArnLike: { "aws:PrincipalArn": OTHER } },
    /ArnLike aws:PrincipalArn demands "arn:\S+other", and the call has "arn:\S+app", which the caller .*; add it to /,
    [{ ArnLike: { "aws:PrincipalArn": [OTHER, APP] } }],
  ],
  [
    { StringEquals: { "aws:PrincipalArn": "arn:aws:iam::111122223333:role/*" } },
    /; add it .*, because StringEquals reads/,
    [{ StringEquals: { "aws:PrincipalArn": ["arn:aws:iam::111122223333:role/*", APP] } }],
  ],
  [
    { ArnNotLike: { "aws:PrincipalArn": [OTHER, "arn:aws:iam::*:role/team/*"] } },
    /; remove what matches it from the values/,
    [{ ArnNotLike: { "aws:PrincipalArn": OTHER } }],
  ],
  [
    { StringEquals: { "aws:PrincipalAccount": "444455556666" } },
    /the call has "111122223333", which the caller cannot/,
    [{ StringEquals: { "aws:PrincipalAccount": ["444455556666", "111122223333"] } }],
  ],
  [
    { StringLike: { "aws:userid": "AROAOTHEREXAMPLE1:*" } },
    /demands "AROAOTHEREXAMPLE1:\*", and the caller cannot choose/,
    [{ StringLike: { "aws:userid": ["AROAOTHEREXAMPLE1:*", "AROAEXAMPLEEXAMPLEID1:*"] } }],
  ],
  [
    { StringEquals: { "aws:username": "jane" } },
    /no such call has aws:username; remove the condition StringEquals aws:us/,
    [{}],
  ],
  [
    { StringEquals: { "aws:SourceAccount": "222222222222" } },
    /no such call has aws:SourceAccount; remove the condition/,
    [{}],
  ],
  [
    { Bool: { "aws:PrincipalIsAWSService": true } }, /the call has "false", which the caller .*; change the condition$/,
    [{}],
  ],
  [
    { Null: { "aws:PrincipalArn": true } }, /AWS sets aws:PrincipalArn or leaves it out; remove the condition Null/,
    [{}],
  ],
  [
    { StringEquals: { "aws:ResourceAccount": "444455556666" } }, /the call has "222222222222", which the caller cannot/,
    [{ StringEquals: { "aws:ResourceAccount": "222222222222" } }],
  ],
];

for (const [conditions, reason, [fixed, changed = {}], asked = {}] of CASES) {
  test(`the fix of ${JSON.stringify(conditions)} can be followed (${String(reason).slice(0, 40)})`, async (t) => {
    t.match(ask(conditions, asked), new RegExp(`^no: the trust policy names the caller, but .*${reason.source}`));
    t.match(ask(fixed ?? conditions, { ...asked, ...changed }), /^yes/);
  });
}

test("all causes are named, and only all fixes together lead to a yes", async (t) => {
  const both = { StringEquals: { "sts:ExternalId": "x1" }, ArnLike: { "aws:PrincipalArn": OTHER } };
  const reason = ask(both, { identity: [] });
  t.match(reason, /conditions on sts:ExternalId and aws:PrincipalArn do not allow the call, and no identity policy /);
  t.match(
    reason,
    /; the call sends no external ID; .*; add it to the values; allow sts:AssumeRole on the role in the id/,
  );
  const call = { externalID: "x1" };
  const fixed = { ...both, ArnLike: { "aws:PrincipalArn": [OTHER, APP] } };
  t.match(ask(fixed, { call, identity: [] }), /^no: no identity policy/);
  t.match(ask(both, { call }), /^no: .*conditions on aws:PrincipalArn do not/);
  t.match(ask(fixed, { call }), /^yes/);
});

test("the fix is about the statement that is nearest to allow the call", async (t) => {
  const near = sessionOf(NEAR);
  const request = requestOf(near);
  const trust = [
    allow({ AWS: NEAR }, { Condition: { StringEquals: { "sts:ExternalId": "x1", "aws:PrincipalTag/a": "b" } } }),
    allow({ AWS: NEAR }, { Condition: { StringEquals: { "aws:PrincipalTag/team": "a" } } }),
  ];
  const { actions } = decisionJSON(decideAssumeRole(request, policiesOf({ trust })), request);
  t.match(actions[0]?.reason, /but its conditions on aws:PrincipalTag\/team do not allow the call; set the tag "team"/);
});

test("no fix quotes what callers choose", async (t) => {
  for (const key of ["sts:ExternalId", "sts:SourceIdentity", "aws:RequestTag/a", "aws:PrincipalTag/a"]) {
    t.notMatch(ask({ StringEquals: { [key]: "hidden" } }), /hidden/, key);
  }
});

test("the fix of a condition for all values of a key names all of them", async (t) => {
  const service = { caller: { kind: "service", name: "pods.eks.amazonaws.com" }, call: {
    tags: new Map([["a", "1"], ["b", "2"]]), transitiveTagKeys: ["a", "b"],
  } } as const;
  for (const key of ["aws:TagKeys", "sts:TransitiveTagKeys"]) {
    const demand = (...keys: readonly string[]): Fields => ({ "ForAllValues:StringEquals": { [key]: keys } });
    const answer = ask(demand("a"), service);
    t.match(answer, /and the call has (.*), which the caller cannot choose; add them to the values$/);
    const [, named = ""] = /the call has (.*), which/.exec(answer) ?? [];
    t.match(ask(demand(...Array.from(named.matchAll(/"([^"]+)"/g), ([, one = ""]) => one)), service), /^yes/);
  }
});

test("a service and a user get the fixes of what they are", async (t) => {
  const service = { caller: { kind: "service", name: "pods.eks.amazonaws.com" } } as const;
  t.match(
    ask({ StringEquals: { "sts:ExternalId": "x1" } }, service),
    /no such call has sts:ExternalId; remove the cond/,
  );
  t.match(ask({ StringEquals: { "aws:ResourceTag/a": "b" } }, service), /set the tag "a" that it demands on the role/);
  const user = { caller: userOf("arn:aws:iam::111122223333:user/jane") };
  t.match(ask({ ArnEquals: { "aws:PrincipalArn": ROLE } }, user), /and the call has "arn:\S+user\/jane"/);
});
