import * as fc from "fast-check";
import { test } from "tap";
import type { SessionRequest, SessionTag } from "../../../shared/decisions/selectors/session.ts";
import { type Asker, roleOfSession, sessionKey, SessionKeys } from "../../../sidecar/credentials/session-key.ts";
import { parameters } from "../../shared/decisions/property.ts";

interface Wanted {
  readonly request: SessionRequest;
  readonly asker: Asker;
}

/** Few values of each, also such as look alike when they are only joined. */
const text = fc.constantFrom("a", "b", "a,b", '"a"', "[]", "null", "");
const nullable = fc.option(text);
const tags = fc.uniqueArray(fc.record<SessionTag>({ key: fc.constantFrom("team", "env", "team=a"), value: text }), { selector: ({ key }) => key, maxLength: 3 });
const request = fc.record<SessionRequest>({
  roleARN: fc.constantFrom("arn:aws:iam::111111111111:role/a", "arn:aws:iam::111111111111:role/b", "arn:aws-cn:iam::111111111111:role/a"),
  sessionName: text, durationSeconds: fc.constantFrom(900, 3600), externalID: nullable, sourceIdentity: nullable, tags, policy: nullable,
  policyARNs: fc.uniqueArray(text, { maxLength: 3 }),
});
const asker = fc.record<Asker>({
  identity: fc.constantFrom("arn:aws:sts::999999999999:assumed-role/ack", "arn:aws:sts::999999999999:assumed-role/other", "arn:aws:iam::999999999999:user/ack"),
  region: fc.constantFrom(null, "eu-west-1", "eu-west-2"),
});
const wanted = fc.record<Wanted>({ request, asker });

function keyOf({ request: one, asker: who }: Wanted): string {
  return sessionKey(one, who);
}

/** What must be equal for a session to be shared, whatever the order. */
function distinct({ request: { tags: all, policyARNs, ...rest }, asker: who }: Wanted): string {
  const sorted = [all.map(({ key, value }) => `${key} ${value}`).toSorted(), policyARNs.toSorted()];
  return JSON.stringify([who.identity, who.region, Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)), sorted]);
}

test("no two requests that differ in anything share a session", (t) => {
  // One field of the first is put into the second, so that they mostly differ in one or two.
  const fields = ["roleARN", "sessionName", "durationSeconds", "externalID", "sourceIdentity", "tags", "policy", "policyARNs", "identity", "region"] as const;
  const pair = fc.tuple(wanted, wanted, fc.constantFrom(...fields)).map(([one, other, field]): [Wanted, Wanted] => {
    if (field === "identity" || field === "region") return [one, { ...one, asker: { ...one.asker, [field]: other.asker[field] } }];
    return [one, { ...one, request: { ...one.request, [field]: other.request[field] } }];
  });
  const check = ([one, other]: [Wanted, Wanted]): boolean => (keyOf(one) === keyOf(other)) === (distinct(one) === distinct(other));
  fc.assert(fc.property(pair, check), parameters(t, 5_000));
  fc.assert(fc.property(fc.tuple(wanted, wanted), check), parameters(t, 1_000));
  t.pass("5,000 pairs that differ in one field at most, 1,000 in any");
  t.end();
});

test("the order of tags and policies makes no other session", (t) => {
  const check = (one: Wanted): boolean => {
    const { tags: all, policyARNs } = one.request;
    return keyOf(one) === keyOf({ ...one, request: { ...one.request, tags: all.toReversed(), policyARNs: policyARNs.toReversed() } });
  };
  fc.assert(fc.property(wanted, check), parameters(t, 1_000));
  t.pass();
  t.end();
});

const REQUEST: SessionRequest = {
  roleARN: "arn:aws:iam::111111111111:role/a", sessionName: "planted-session", durationSeconds: 3600, externalID: "planted-external-id",
  sourceIdentity: "planted-source", tags: [{ key: "planted-key", value: "planted-value" }], policy: '{"planted":"policy"}', policyARNs: ["arn:planted"],
};

test("another session of one base role shares, another base role does not", (t) => {
  const key = (identity: string): string => sessionKey(REQUEST, { identity, region: "eu-west-1" });
  const ack = "arn:aws:sts::999999999999:assumed-role/ack";
  t.equal(key(`${ack}/pod-1`), key(`${ack}/pod-2`));
  t.not(key(`${ack}/pod-1`), key(`${ack}-2/pod-1`));
  t.not(key(`${ack}/pod-1`), key("arn:aws-cn:sts::999999999999:assumed-role/ack/pod-1"));
  t.not(key("arn:aws:iam::999999999999:user/a/b"), key("arn:aws:iam::999999999999:user/a/c"), "a user's path is none");
  t.end();
});

test("a key tells the role and nothing else that was asked for", (t) => {
  const key = sessionKey(REQUEST, { identity: "arn:aws:sts::999999999999:assumed-role/planted-role/pod", region: "eu-west-1" });
  t.notMatch(key, /planted|eu-west-1|3600/);
  t.equal(roleOfSession(key), REQUEST.roleARN);
  t.end();
});

test("a key that is kept is the one that would be made, whatever is asked for on one basis in turn", (t) => {
  const grantedBy = {};
  const keys = new SessionKeys();
  const check = ([one, other]: [Wanted, Wanted]): boolean =>
    [one, { ...one }, { ...one, request: { ...one.request, tags: other.request.tags } }, { ...one, asker: other.asker }, other].every((each) => keys.keyOf(grantedBy, each.request, each.asker) === keyOf(each));
  fc.assert(fc.property(fc.tuple(wanted, wanted), check), parameters(t, 1_000));
  t.pass();
  t.end();
});
