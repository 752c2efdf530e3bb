import { test } from "tap";
import { limitChange, type SessionLimits, widenings } from "../../../shared/core/session-change.ts";

const [S3, READ] = ["arn:aws:iam::aws:policy/AmazonS3FullAccess", "arn:aws:iam::aws:policy/ReadOnlyAccess"];
const ALLOW = { Effect: "Allow", Action: "s3:*", Resource: "*" };
const DENY = { Effect: "Deny", Action: "s3:DeleteBucket", Resource: "*" };
const NONE: SessionLimits = { policy: null, policyARNs: [], scope: null };
const listing = (...policyARNs: readonly string[]): SessionLimits => ({ ...NONE, policyARNs });
const inline = (...statements: readonly object[]): SessionLimits => (
  { ...NONE, policy: JSON.stringify({ Statement: statements }) }
);

test("tells what lets sessions do more", (t) => {
  const told = (before: SessionLimits, after: SessionLimits): readonly string[] => widenings(before, after, "none");
  t.same(told(listing(S3), NONE), ["no session policy is left"]);
  t.same(told(NONE, listing(S3)), [], "a first policy limits");
  t.same(told(listing(S3, READ), listing(S3)), [`"${READ}" is gone, and can have denied something`]);
  const dated = (Version: string): SessionLimits => (
    { ...NONE, policy: JSON.stringify({ Version, Statement: [ALLOW] }) }
  );
  t.same(told(dated("2012-10-17"), dated("2008-10-17")), ["the session policy has another Version"]);
  t.same(told(listing(S3), listing(S3, READ)), [`the session policies also allow what "${READ}" allows`]);
  t.same(told(inline(ALLOW), inline(ALLOW, DENY)), []);
  t.same(told(inline(ALLOW, DENY), inline(ALLOW)), ["the session policy lacks a statement that denied"]);
  t.same(told(inline(ALLOW), inline({ ...ALLOW, Action: "*" })), [
    "the session policy has another statement that allows",
  ]);
  t.same(told(listing(S3), { ...inline(ALLOW), policyARNs: [S3] }).length, 1, "STS allows what one of them allows");
  t.same(told({ ...NONE, scope: "service" }, NONE), ["the session scope ends"]);
  t.same(widenings({ ...NONE, scope: "service" }, NONE, "service"), [], "the default is the scope");
  t.same(widenings(NONE, { ...NONE, scope: "none" }, "service"), ["the session scope ends"]);
  t.same(
    told(NONE, { ...NONE, scope: "none" }), ["the session scope of sidecars with --session-scope=service ends"],
    "sidecars can have another default",
  );
  t.end();
});

test("tells the direction of a change", (t) => {
  t.equal(limitChange(NONE, listing(S3), "none"), "narrower");
  t.equal(limitChange(listing(S3), NONE, "none"), "wider");
  t.equal(limitChange(listing(S3), listing(READ), "none"), "wider", "both");
  t.equal(limitChange(inline(ALLOW), inline(ALLOW), "none"), null);
  t.end();
});
