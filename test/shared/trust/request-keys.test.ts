import { test } from "tap";
import {
  type Action, ACTIONS, type AssumeRoleCall, type Caller, type Request,
} from "../../../shared/trust/assume-role-call.ts";
import { keysOf } from "../../../shared/trust/request-keys.ts";
import { APP, NEAR, requestOf, sessionOf, userOf } from "./trust-cases.ts";

const BOB = userOf(
  "arn:aws:iam::222222222222:user/team/bob", { uniqueID: "AIDAEXAMPLEEXAMPLEID1", tags: new Map([["k", "v"]]) },
);

/** Returns the states of a key: `-` if it is absent, or its values, with `...` if the rest of the value is unknown. */
function states(key: string, request: Request, action: Action = "sts:AssumeRole"): string {
  return keysOf(request, action)(key).map((values) => (
    values?.map(({ text, isPrefix }) => `${text}${isPrefix ? "..." : ""}`).join("+") ?? "-"
  )).join(" | ");
}

function of(caller: Caller, call: Partial<AssumeRoleCall> = {}, fields: Partial<Request> = {}): Request {
  return requestOf(caller, call, fields);
}

test("knows the keys of a session", async (t) => {
  const session = of(sessionOf(APP, { sessionName: "s", tags: new Map([["Team", "a"]]) }));
  const expected = {
    "aws:principalarn": APP, "aws:principalaccount": "111122223333", "aws:principaltype": "AssumedRole",
    "aws:userid": "AROAEXAMPLEEXAMPLEID1:s", "aws:username": "-", "aws:sourceidentity": "-",
    "aws:principaltag/team": "a",
    "aws:principaltag/other": "-", "aws:resourceaccount": "222222222222", "aws:viaawsservice": "false",
    "aws:sourcearn": "-", "aws:federatedprovider": "- | ...", "aws:principalorgid": "- | ...",
    "aws:sourceip": "- | ...",
    "saml:aud": "-", "oidc.eks.eu-west-1.amazonaws.com/id/x:sub": "-", "accounts.google.com:aud": "-",
    "s3:prefix": "-", "sts:durationseconds": "-", "aws:new": "- | ...",
    "aws:currenttime": "2026-11-18T11:06:40Z", "aws:epochtime": "1795000000", "sts:rolesessionname": "...",
  };
  for (const [key, values] of Object.entries(expected)) t.equal(states(key, session), values, key);
  t.equal(states("aws:userid", of(sessionOf(APP))), "AROAEXAMPLEEXAMPLEID1:...");
  t.equal(states("aws:userid", of(sessionOf(APP, { uniqueID: null }))), "...");
  t.equal(states("aws:principalarn", of(sessionOf(APP, { roleARN: null }))), "arn:aws:iam::111122223333:role/...");
  t.equal(states("aws:principaltag/team", of(sessionOf(APP, { tags: null }))), "- | ...");
});

test("knows the keys of a user and of a service", async (t) => {
  const expected = {
    "aws:principaltype": "User", "aws:userid": "AIDAEXAMPLEEXAMPLEID1", "aws:username": "bob",
    "aws:principaltag/k": "v",
    "aws:federatedprovider": "-", "aws:sourceidentity": "-",
  };
  for (const [key, values] of Object.entries(expected)) t.equal(states(key, of(BOB)), values, key);
  const pods = of({ kind: "service", name: "pods.eks.amazonaws.com" });
  t.equal(states("aws:principalservicename", pods), "pods.eks.amazonaws.com");
  t.equal(states("aws:sourcearn", pods), "- | ...");
  t.equal(states("aws:principalarn", pods), "-");
});

test("knows what a call sends, and is certain only for the actions that list the key", async (t) => {
  const tags = { tags: new Map([["Team", "a"]]), transitiveTagKeys: ["Team"] };
  const call = { externalID: "x1", sourceIdentity: "alice", sessionName: "s1", ...tags };
  const request = of(BOB, call, { roleTags: new Map([["k", "r"]]) });
  const of3 = (key: string): string[] => (
    ACTIONS.map((action) => states(key, request, action))
  );
  t.same(of3("sts:externalid"), ["x1", "x1 | -", "x1 | -"]);
  t.same(of3("sts:rolesessionname"), ["s1", "s1 | -", "s1 | -"]);
  t.same(of3("sts:sourceidentity"), ["alice", "alice | -", "alice"]);
  t.same(of3("aws:requesttag/team"), ["a", "a", "a | -"]);
  t.same(of3("aws:tagkeys"), ["Team", "Team", "Team | -"]);
  t.same(of3("sts:transitivetagkeys"), ["Team", "Team", "Team | -"]);
  t.same(of3("aws:resourcetag/k"), ["r", "r", "r"]);
  t.same(["iam:resourcetag/k", "aws:requesttag/other"].map((key) => states(key, request)), ["r", "-"]);
  t.equal(states("aws:resourcetag/k", of(BOB, {}, { roleTags: null })), "- | ...");
  const unsent = ["sts:externalid", "aws:tagkeys", "sts:sourceidentity"];
  t.same(unsent.map((key) => states(key, of(BOB), "sts:TagSession")), ["-", "-", "-"]);
});

test("knows what a session passes on", async (t) => {
  const session = sessionOf(NEAR, { transitiveTags: new Map([["Team", "a"]]), sourceIdentity: "alice" });
  const request = of(session, { tags: new Map([["k", "v"]]) }, { roleTags: new Map([["team", "r"]]) });
  const expected = {
    "aws:requesttag/team": "- | a", "aws:tagkeys": "k | k+Team", "sts:transitivetagkeys": "- | Team",
    "aws:resourcetag/team": "a", "sts:sourceidentity": "alice", "aws:sourceidentity": "alice",
  };
  for (const [key, values] of Object.entries(expected)) t.equal(states(key, request), values, key);
});
