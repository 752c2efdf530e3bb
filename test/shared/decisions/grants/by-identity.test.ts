import { test } from "tap";
import { grantIdentity, servesIdentities } from "../../../../shared/resolution/grant-by-identity.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import {
  controllerIdentity, identityInventory, identityObject, refTo, roleARN, roleIdentity,
  staticIdentity,
} from "../identities/objects.ts";
import { namespaceObject, put, SETTINGS_BY_DEFAULT } from "../objects.ts";

type Query = Parameters<typeof grantIdentity>[2];
type Decision = ReturnType<typeof grantIdentity>;

const QUERY: Query = { scope: null, settings: SETTINGS_BY_DEFAULT, allowedAudiences: ["sts.amazonaws.com"] };
const NS1 = namespaceObject("ns1", { team: "a" });

function grant(
  reference: string, objects: readonly JsonObject[], query: Partial<Query> = {}, namespace = "ns1",
): Decision {
  const inventory = identityInventory([NS1, ...objects]);
  return grantIdentity(inventory, { ...refTo(reference), namespace }, { ...QUERY, ...query });
}

/** Returns the names of the roles in the order of their calls, the source and the verdict. */
function summary(decision: Decision): string {
  if (decision.verdict === "denied") return `${decision.code}: ${decision.message}`;
  if (decision.verdict === "base") return "base";
  const names = decision.roles.map(({ name }) => name);
  return [decision.source?.name ?? "base", ...names].join(" > ");
}

test("grants the base identity for the controller identity", (t) => {
  t.equal(summary(grant("controller", [controllerIdentity()])), "base");
  t.end();
});

test("returns the roles of a chain in the order in which they are assumed", (t) => {
  const objects = [
    controllerIdentity(), staticIdentity("s"), roleIdentity("a", "role/b"), roleIdentity("b", "role/c"),
    roleIdentity("c", "static/s"), roleIdentity("d"), roleIdentity("e", null),
  ];
  t.equal(summary(grant("role/a", objects)), "s > c > b > a");
  t.equal(summary(grant("role/d", objects)), "base > d");
  t.equal(summary(grant("role/e", objects)), "base > e", "shipped CAPA assumes a role without a source itself");
  t.equal(summary(grant("static/s", objects)), "s");
  t.end();
});

test("denies an identity that the namespace may not use, with the code of the chain", (t) => {
  const objects = [
    controllerIdentity(), staticIdentity("s", { list: ["ns2"] }), roleIdentity("a", "static/s"),
    roleIdentity("loop", "role/loop"), roleIdentity("lost", "role/missing"), roleIdentity("text", "controller", "test"),
    roleIdentity("list", "controller", ["test"]), staticIdentity("empty", {}, ""),
    ...Array.from({ length: 9 }, (_, i) => roleIdentity(`r${i}`, i === 8 ? "controller" : `role/r${i + 1}`)),
  ];
  t.match(summary(grant("role/a", objects)), /^ERR_IDENTITY_NAMESPACE: AWSClusterStaticIdentity "s" does not allow/);
  t.match(summary(grant("role/loop", objects)), /^ERR_IDENTITY_CYCLE: /);
  t.match(summary(grant("role/lost", objects)), /^ERR_IDENTITY_UNKNOWN: AWSClusterRoleIdentity "missing" does/);
  t.match(summary(grant("role/text", objects)), /^ERR_IDENTITY_NAMESPACE: .* allowedNamespaces is not an object/);
  t.match(summary(grant("role/list", objects)), /^ERR_IDENTITY_NAMESPACE: .* allowedNamespaces is not an object/);
  t.match(summary(grant("static/empty", objects)), /^ERR_IDENTITY_SECRET: /);
  t.match(summary(grant("role/r0", objects)), /^ERR_IDENTITY_DEPTH: /);
  t.equal(summary(grant("role/r1", objects)), "base > r8 > r7 > r6 > r5 > r4 > r3 > r2 > r1", "8 roles are allowed");
  t.match(summary(grant("Bucket/a", objects)), /^ERR_IDENTITY_KIND: The kind "Bucket" of identityRef/);
  t.match(summary(grant("controller/other", objects)), /^ERR_IDENTITY_UNKNOWN: /);
  t.end();
});

function account(spec: JsonObject = {}, namespace = "ns1"): JsonObject {
  return identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("sa"), ...spec }, { namespace });
}

test("grants a service account identity in its own namespace only, with each runtime", (t) => {
  for (const runtime of ["ack", "extended"] as const) {
    const inventory = identityInventory([NS1, namespaceObject("ns2"), account()], { runtime });
    const decide = (namespace: string): Decision =>
      grantIdentity(inventory, { ...refTo("account/sa"), namespace }, QUERY);
    const granted = decide("ns1");
    t.equal(summary(granted), "sa", runtime);
    t.match(granted, { verdict: "identity", source: { kind: "AWSServiceAccountIdentity", namespace: "ns1" } });
    t.equal(
      summary(decide("ns2")),
      'ERR_IDENTITY_UNKNOWN: AWSServiceAccountIdentity "sa" does not exist. Create the identity in the namespace of '
        + "the object that uses it, or change the reference.",
      runtime,
    );
  }
  const source = summary(grant("role/a", [account(), roleIdentity("a", "account/sa")]));
  t.match(source, /^ERR_IDENTITY_KIND: AWSServiceAccountIdentity "sa" is a sourceIdentityRef/);
  t.end();
});

test("denies a service account identity whose audience or account is not allowed, or whose fields are invalid", (t) => {
  const decide = (spec: JsonObject, query: Partial<Query> = {}): string =>
    summary(grant("account/sa", [account(spec)], query));
  const foreign = { audiences: ["sts.amazonaws.com", "https://kubernetes.default.svc"] };
  t.match(decide(foreign), /^ERR_IDENTITY_AUDIENCE: The audience "https:\/\/kubernetes\.default\.svc" of AWSServ/);
  t.match(decide({}, { allowedAudiences: [] }), /^ERR_IDENTITY_AUDIENCE: The audience "sts\.amazonaws\.com" of/);
  t.equal(decide(foreign, { allowedAudiences: foreign.audiences }), "sa");
  t.match(decide({ inlinePolicy: "{" }), /^ERR_IDENTITY_SESSION: AWSServiceAccountIdentity "sa" does not have valid/);
  const settings = { ...SETTINGS_BY_DEFAULT, allowedAccounts: ["999999999999"] };
  t.match(decide({}, { settings }), /^ERR_IDENTITY_ACCOUNT: The role of AWSServiceAccountIdentity "sa" is in acc/);
  t.end();
});

test("denies a namespace that does not exist or that is outside of the scope of the sidecar", (t) => {
  const objects = [controllerIdentity()];
  t.match(summary(grant("controller", objects, {}, "ns2")), /^ERR_NAMESPACE_UNKNOWN: Namespace "ns2" is not in/);
  t.equal(
    summary(grant("controller", objects, { scope: "ns2" })),
    "ERR_SELECTOR_NOT_GRANTED: This sidecar serves only namespace ns2 (--scope-namespace), not ns1.",
  );
  t.equal(summary(grant("controller", objects, { scope: "ns1" })), "base");
  t.end();
});

test("denies a role whose parameters are not valid, that is too long in a chain, or in a wrong account", (t) => {
  const long = { durationSeconds: 7200 };
  const objects = [
    controllerIdentity(), staticIdentity("s"), roleIdentity("first", "static/s", {}, long),
    roleIdentity("second", "role/other", {}, long), roleIdentity("other", "static/s"),
    roleIdentity("bad", "controller", {}, { inlinePolicy: "{" }), roleIdentity("over-bad", "role/bad"),
  ];
  t.equal(summary(grant("role/first", objects)), "s > first", "an access key is not a session");
  t.match(summary(grant("role/second", objects)), /^ERR_IDENTITY_SESSION: durationSeconds of .* "second" is 7200/);
  t.match(summary(grant("role/over-bad", objects)), /^ERR_IDENTITY_SESSION: AWSClusterRoleIdentity "bad" /);
  const only = (...allowedAccounts: string[]): Partial<Query> => ({
    settings: { ...SETTINGS_BY_DEFAULT, allowedAccounts },
  });
  t.equal(
    summary(grant("role/other", objects, only("999999999999"))),
    'ERR_IDENTITY_ACCOUNT: The role of AWSClusterRoleIdentity "other" is in account 111122223333, which is not in '
      + "--allowed-accounts. Use a role of an allowed account, or add the account.",
  );
  t.equal(summary(grant("role/other", objects, only("111122223333"))), "s > other");
  t.end();
});

test("denies a missing identity temporarily while its kind is not listed", (t) => {
  const inventory = identityInventory([NS1, roleIdentity("a", "static/s")]);
  const unlist = (kind: string, type: "listed" | "unlisted"): void => {
    inventory.apply([{ type, collection: "identities", item: `${kind}.infrastructure.cluster.x-k8s.io` }]);
  };
  const codeOf = (reference: string): string => (
    summary(grantIdentity(inventory, { ...refTo(reference), namespace: "ns1" }, QUERY))
  );
  unlist("AWSClusterStaticIdentity", "unlisted");
  t.equal(
    codeOf("role/a"),
    "ERR_NOT_READY: The identities of kind AWSClusterStaticIdentity are not listed yet. Retry in a moment. If the "
      + "error persists, /readyz states its cause.",
  );
  t.match(codeOf("role/b"), /^ERR_IDENTITY_UNKNOWN: /, "the role identities are listed");
  inventory.apply([put(roleIdentity("c", "static/s", { list: ["ns2"] }))]);
  t.match(codeOf("role/c"), /^ERR_IDENTITY_NAMESPACE: /);
  unlist("AWSClusterStaticIdentity", "listed");
  t.match(codeOf("role/a"), /^ERR_IDENTITY_UNKNOWN: /);
  t.end();
});

test("serves identities only for the group of CAPA", (t) => {
  t.equal(servesIdentities({ groups: ["infrastructure.cluster.x-k8s.io"] }), true);
  t.equal(servesIdentities({ groups: ["s3.services.k8s.aws", "controlplane.cluster.x-k8s.io"] }), false);
  t.end();
});
