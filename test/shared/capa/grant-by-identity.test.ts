import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { test } from "tap";
import { grantIdentity, servesIdentities } from "../../../shared/capa/grant-by-identity.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { controllerIdentity, identityObject, refTo, roleARN, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { inventoryWith, namespaceObject, put, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";

// grant-by-identity.property.test.ts compares the verdicts with the identities that objects can use.
type Query = Parameters<typeof grantIdentity>[2] & { readonly namespace?: string; readonly runtime?: "extended" };
type Decision = ReturnType<typeof grantIdentity>;

const QUERY: Query = { scope: null, settings: SETTINGS_BY_DEFAULT, allowedAudiences: ["sts.amazonaws.com"] };
const NS1 = namespaceObject("ns1", { team: "a" });

type Input = readonly [reference: string, objects: readonly JsonObject[], query?: Partial<Query>];
function grant([reference, objects, { namespace = "ns1", runtime, ...query } = {}]: Input): Decision {
  const inventory = inventoryWith([NS1, ...objects], runtime === undefined ? {} : { runtime });
  return grantIdentity(inventory, { ...refTo(reference), namespace }, { ...QUERY, ...query });
}

/** Returns the source and the names of the roles in the order of their calls, or the code and message of the denial. */
function summary(decision: Decision): string {
  if (decision.verdict === "denied") return `${decision.code}: ${decision.message}`;
  if (decision.verdict === "base") return "base";
  return [decision.source?.name ?? "base", ...decision.roles.map(({ name }) => name)].join(" > ");
}
const text = (input: Input): string[] => [summary(grant(input))];

const LONG = { durationSeconds: 7200 };
const OBJECTS = [
  controllerIdentity(), staticIdentity("s"), roleIdentity("a", "role/b"), roleIdentity("b", "role/c"),
  roleIdentity("c", "static/s"), roleIdentity("d"), roleIdentity("e", null),
  roleIdentity("long", "static/s", {}, LONG), roleIdentity("chained", "role/c", {}, LONG),
  roleIdentity("bad", "controller", {}, { inlinePolicy: "{" }), roleIdentity("over-bad", "role/bad"),
  roleIdentity("loop", "role/loop"), roleIdentity("lost", "role/missing"), roleIdentity("text", "controller", "test"),
  roleIdentity("list", "controller", ["test"]), staticIdentity("empty", {}, ""),
  staticIdentity("other", { list: ["ns2"] }), roleIdentity("denied", "static/other"),
  ...Array.from({ length: 9 }, (_, i) => roleIdentity(`r${i}`, i === 8 ? "controller" : `role/r${i + 1}`)),
];
const account = (spec: JsonObject = {}): JsonObject =>
  identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("sa"), ...spec }, { namespace: "ns1" });
const only = (...allowedAccounts: string[]): Partial<Query> => (
  { settings: { ...SETTINGS_BY_DEFAULT, allowedAccounts } }
);
const foreign = ["sts.amazonaws.com", "https://kubernetes.default.svc"];
const NO_OBJECT = /^ERR_IDENTITY_NAMESPACE: .* allowedNamespaces is not an object/;

testRows("returns the roles of a chain in the order in which they are assumed, or the code of its denial", text, [
  ["the controller identity", ["controller", OBJECTS], "base"],
  ["a chain", ["role/a", OBJECTS], "s > c > b > a"],
  ["a role of the controller", ["role/d", OBJECTS], "base > d"],
  ["shipped CAPA assumes a role without a source itself", ["role/e", OBJECTS], "base > e"],
  ["a static identity", ["static/s", OBJECTS], "s"],
  ["a source that does not allow the namespace", ["role/denied", OBJECTS],
    /^ERR_IDENTITY_NAMESPACE: AWSClusterStaticIdentity "other" does not allow/],
  ["a cycle", ["role/loop", OBJECTS], /^ERR_IDENTITY_CYCLE: /],
  ["a missing source", ["role/lost", OBJECTS], /^ERR_IDENTITY_UNKNOWN: AWSClusterRoleIdentity "missing" does/],
  ["a text instead of the namespaces", ["role/text", OBJECTS], NO_OBJECT],
  ["a list instead of the namespaces", ["role/list", OBJECTS], NO_OBJECT],
  ["no Secret", ["static/empty", OBJECTS], /^ERR_IDENTITY_SECRET: /],
  ["9 roles", ["role/r0", OBJECTS], /^ERR_IDENTITY_DEPTH: /],
  ["8 roles", ["role/r1", OBJECTS], "base > r8 > r7 > r6 > r5 > r4 > r3 > r2 > r1"],
  ["no kind of an identity", ["Bucket/a", OBJECTS], /^ERR_IDENTITY_KIND: The kind "Bucket" of identityRef/],
  ["another controller identity", ["controller/other", OBJECTS], /^ERR_IDENTITY_UNKNOWN: /],
  ["an access key is not a session", ["role/long", OBJECTS], "s > long"],
  ["a session that is too long in a chain", ["role/chained", OBJECTS],
    /^ERR_IDENTITY_SESSION: durationSeconds of .* "chained" is 7200/],
  ["invalid parameters of a source", ["role/over-bad", OBJECTS],
    /^ERR_IDENTITY_SESSION: AWSClusterRoleIdentity "bad" /],
  ["an account that is not allowed", ["role/c", OBJECTS, only("999999999999")],
    'ERR_IDENTITY_ACCOUNT: The role of AWSClusterRoleIdentity "c" is in account 111122223333, which is not in '
      + "--allowed-accounts. Use a role of an allowed account, or add the account."],
  ["an allowed account", ["role/c", OBJECTS, only("111122223333")], "s > c"],
  ["a namespace that does not exist", ["controller", OBJECTS, { namespace: "ns2" }],
    /^ERR_NAMESPACE_UNKNOWN: Namespace "ns2" is not in/],
  ["another scope", ["controller", OBJECTS, { scope: "ns2" }],
    "ERR_SELECTOR_NOT_GRANTED: This sidecar serves only namespace ns2 (--scope-namespace), not ns1."],
  ["the scope", ["controller", OBJECTS, { scope: "ns1" }], "base"],
]);

const MISSING = 'ERR_IDENTITY_UNKNOWN: AWSServiceAccountIdentity "sa" does not exist. Create the identity in the '
  + 'namespace '
  + "of the object that uses it, or change the reference.";
const NS2 = namespaceObject("ns2");
testRows("grants a service account identity in its own namespace only, if its audience and account are allowed", text, [
  ["shipped CAPA", ["account/sa", [account()]], "sa"],
  ["--runtime extended", ["account/sa", [account()], { runtime: "extended" }], "sa"],
  ["another namespace", ["account/sa", [NS2, account()], { namespace: "ns2" }], MISSING],
  ["another namespace with --runtime extended",
    ["account/sa", [NS2, account()], { namespace: "ns2", runtime: "extended" }], MISSING],
  ["as a source", ["role/a", [account(), roleIdentity("a", "account/sa")]],
    /^ERR_IDENTITY_KIND: AWSServiceAccountIdentity "sa" is a sourceIdentityRef/],
  ["another audience", ["account/sa", [account({ audiences: foreign })]],
    /^ERR_IDENTITY_AUDIENCE: The audience "https:\/\/kubernetes\.default\.svc" of AWSServ/],
  ["no allowed audience", ["account/sa", [account()], { allowedAudiences: [] }],
    /^ERR_IDENTITY_AUDIENCE: The audience "sts\.amazonaws\.com" of/],
  ["allowed audiences", ["account/sa", [account({ audiences: foreign })], { allowedAudiences: foreign }], "sa"],
  ["an invalid policy", ["account/sa", [account({ inlinePolicy: "{" })]],
    /^ERR_IDENTITY_SESSION: AWSServiceAccountIdentity "sa" does not have valid/],
  ["an account that is not allowed", ["account/sa", [account()], only("999999999999")],
    /^ERR_IDENTITY_ACCOUNT: The role of AWSServiceAccountIdentity "sa" is in acc/],
]);

test("the grant of a service account identity names its kind and namespace", (t) => {
  const source = { kind: "AWSServiceAccountIdentity", namespace: "ns1" };
  t.match(grant(["account/sa", [account()]]), { verdict: "identity", source });
  t.end();
});

test("denies a missing identity temporarily while its kind is not listed", (t) => {
  const inventory = inventoryWith([NS1, roleIdentity("a", "static/s")]);
  const change = (type: "listed" | "unlisted"): void => {
    const item = "AWSClusterStaticIdentity.infrastructure.cluster.x-k8s.io";
    inventory.apply([{ type, store: IDENTITIES, item }]);
  };
  const codeOf = (reference: string): string => (
    summary(grantIdentity(inventory, { ...refTo(reference), namespace: "ns1" }, QUERY))
  );
  change("unlisted");
  t.equal(
    codeOf("role/a"),
    "ERR_NOT_READY: The identities of kind AWSClusterStaticIdentity are not listed yet. Retry in a moment. If the "
      + "error persists, /readyz states its cause.",
  );
  t.match(codeOf("role/b"), /^ERR_IDENTITY_UNKNOWN: /, "the role identities are listed");
  inventory.apply([put(roleIdentity("c", "static/s", { list: ["ns2"] }))]);
  t.match(codeOf("role/c"), /^ERR_IDENTITY_NAMESPACE: /);
  change("listed");
  t.match(codeOf("role/a"), /^ERR_IDENTITY_UNKNOWN: /);
  t.end();
});

test("serves identities only for the group of CAPA", (t) => {
  t.equal(servesIdentities({ groups: ["infrastructure.cluster.x-k8s.io"] }), true);
  t.equal(servesIdentities({ groups: ["s3.services.k8s.aws", "controlplane.cluster.x-k8s.io"] }), false);
  t.end();
});
