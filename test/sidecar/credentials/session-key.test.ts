import * as fc from "fast-check";
import { test } from "tap";
import type { SessionRequest, SessionTag } from "../../../shared/core/session.ts";
import { type Caller, roleOfSession, sessionKey } from "../../../sidecar/credentials/session.ts";
import { parameters } from "../../shared/property.ts";

interface Session {
  readonly request: SessionRequest;
  readonly caller: Caller;
}

/**
 * Generates one of a few values, because equal values must be frequent. Different lists of these values can be equal
 * when their items are joined.
 */
const text = fc.constantFrom("a", "b", "a,b", '"a"', "[]", "null", "");
const nullable = fc.option(text);
const tag = fc.record<SessionTag>({ key: fc.constantFrom("team", "env", "team=a"), value: text });
const tags = fc.uniqueArray(tag, { selector: ({ key }) => key, maxLength: 3 });
const request = fc.record<SessionRequest>({
  roleARN: fc.constantFrom(
    "arn:aws:iam::111111111111:role/a", "arn:aws:iam::111111111111:role/b", "arn:aws-cn:iam::111111111111:role/a",
  ),
  sessionName: text, durationSeconds: fc.constantFrom(900, 3600), externalID: nullable, sourceIdentity: nullable,
  tags, policy: nullable, policyARNs: fc.uniqueArray(text, { maxLength: 3 }),
  transitiveTagKeys: fc.uniqueArray(text, { maxLength: 2 }),
});
const caller = fc.record<Caller>({
  identity: fc.constantFrom(
    "arn:aws:sts::999999999999:assumed-role/ack", "arn:aws:sts::999999999999:assumed-role/other",
    "arn:aws:iam::999999999999:user/ack",
  ),
  region: fc.constantFrom(null, "eu-west-1", "eu-west-2"),
});
const session = fc.record<Session>({ request, caller });

function keyOf({ request: one, caller: by }: Session): string {
  return sessionKey(one, by);
}

/**
 * Returns the same text for two requests exactly if the requests may share a session. The order of tags and policies
 * has no effect.
 */
function distinct({ request: { tags: all, policyARNs, transitiveTagKeys, ...rest }, caller: by }: Session): string {
  const others = Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const sortedTags = all.map(({ key, value }) => `${key} ${value}`).toSorted();
  const sorted = [sortedTags, policyARNs.toSorted(), transitiveTagKeys.toSorted()];
  return JSON.stringify([by.identity, by.region, others, sorted]);
}

test("two requests whose parameters differ have different keys", (t) => {
  // The second session of a pair is a copy of the first session, except for one field.
  const fields = [
    "roleARN", "sessionName", "durationSeconds", "externalID", "sourceIdentity", "tags", "policy", "policyARNs",
    "transitiveTagKeys", "identity", "region",
  ] as const;
  const pair = fc.tuple(session, session, fc.constantFrom(...fields)).map(([one, other, field]): [Session, Session] => {
    if (field === "identity" || field === "region") {
      return [one, { ...one, caller: { ...one.caller, [field]: other.caller[field] } }];
    }
    return [one, { ...one, request: { ...one.request, [field]: other.request[field] } }];
  });
  const check = ([one, other]: [Session, Session]): boolean =>
    (keyOf(one) === keyOf(other)) === (distinct(one) === distinct(other));
  fc.assert(fc.property(pair, check), parameters(t, 80_000));
  fc.assert(fc.property(fc.tuple(session, session), check), parameters(t, 20_000));
  t.pass("80,000 pairs that differ in at most one field, 20,000 that differ in any");
  t.end();
});

test("the order of tags and policies does not change the session key", (t) => {
  const check = (one: Session): boolean => {
    const { tags: all, policyARNs } = one.request;
    const reversed = { ...one.request, tags: all.toReversed(), policyARNs: policyARNs.toReversed() };
    return keyOf(one) === keyOf({ ...one, request: reversed });
  };
  fc.assert(fc.property(session, check), parameters(t, 1_000));
  t.pass();
  t.end();
});

const REQUEST: SessionRequest = {
  roleARN: "arn:aws:iam::111111111111:role/a", sessionName: "planted-session", durationSeconds: 3600,
  externalID: "planted-external-id", sourceIdentity: "planted-source",
  tags: [{ key: "planted-key", value: "planted-value" }], policy: '{"planted":"policy"}', policyARNs: ["arn:planted"],
  transitiveTagKeys: ["planted-key"],
};

test("the session key depends on the role of the base identity, but not on its session name", (t) => {
  const key = (identity: string): string => sessionKey(REQUEST, { identity, region: "eu-west-1" });
  const ack = "arn:aws:sts::999999999999:assumed-role/ack";
  t.equal(key(`${ack}/pod-1`), key(`${ack}/pod-2`));
  t.not(key(`${ack}/pod-1`), key(`${ack}-2/pod-1`));
  t.not(key(`${ack}/pod-1`), key("arn:aws-cn:sts::999999999999:assumed-role/ack/pod-1"));
  const user = "arn:aws:iam::999999999999:user/a";
  t.not(key(`${user}/b`), key(`${user}/c`), "the path of a user is not a session name");
  t.end();
});

test("the session key contains the role ARN but no other parameter in plain text", (t) => {
  const identity = "arn:aws:sts::999999999999:assumed-role/planted-role/pod";
  const key = sessionKey(REQUEST, { identity, region: "eu-west-1" });
  t.notMatch(key, /planted|eu-west-1|3600/);
  t.equal(roleOfSession(key), REQUEST.roleARN);
  t.end();
});
