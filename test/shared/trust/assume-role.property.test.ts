import * as fc from "fast-check";
import { test } from "tap";
import type { AssumeRoleCall, Caller } from "../../../shared/trust/assume-role-call.ts";
import type { Answer } from "../../../shared/trust/three-values.ts";
import { parameters } from "../property.ts";
import { call, caller, documents, identityStatement, trustStatement } from "./trust-arbitraries.ts";
import { allow, decide, type Documents, requestOf } from "./trust-cases.ts";

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
    const vague = from.kind === "session" ? { ...from, ...unknown } : from;
    const less = [
      ...unread.map((one) => verdict(from, parts, one)),
      verdict(vague, { ...parts, sessionName: null }, policies),
      decide(requestOf(from, parts, { roleTags: null }), policies).verdict,
      ...unread.map((one) => decide(requestOf(vague, parts, { roleTags: null }), one).verdict),
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
