import { test } from "tap";
import { identityChain, type IdentityChain } from "../../../shared/capa/identity-chain.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { inventoryWith, namespaceObject } from "../objects.ts";
import { controllerIdentity, identityObject, refTo, roleARN, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { testRows } from "../rows.ts";

type Options = Parameters<typeof inventoryWith>[1];
type Input = readonly [reference: string, objects: readonly JsonObject[], options?: Options];

/** Returns the chain of the reference for namespace `ns1`, which has the label `team=a`. */
function chainOf([reference, objects, options = {}]: Input): IdentityChain {
  const inventory = inventoryWith([namespaceObject("ns1", { team: "a" }), ...objects], options);
  return identityChain(inventory, refTo(reference), "ns1");
}

/** Returns `NAME` for each link that is allowed, and `NAME!` for each other link. */
function names({ links }: IdentityChain): string {
  return links.map(({ name, allowed }) => (allowed ? name : `${name}!`)).join(" ");
}

/** Returns the names of the links, and the code and the message of the denial. */
function lines(input: Input): string[] {
  const chain = chainOf(input);
  return [names(chain), ...(chain.denial === null ? [] : [`${chain.denial.code} ${chain.denial.message}`])];
}

/** Returns role identities `r1` to `rN`, each the source of the one before it. The last has the given source. */
function roles(count: number, source: string): JsonObject[] {
  return Array.from({ length: count }, (_, i) => roleIdentity(`r${i + 1}`, i + 1 < count ? `role/r${i + 2}` : source));
}

const account = (namespace: string): JsonObject =>
  identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("sa") }, { namespace });
const ALL = [controllerIdentity(), staticIdentity("s"), account("ns1")];

test("returns the links from the identity to the source of its credentials", (t) => {
  const chain = chainOf(["role/r1", [...roles(2, "static/s"), staticIdentity("s", { list: ["ns1"] })]]);
  const link = (name: string): object => ({
    kind: "AWSClusterRoleIdentity", name, roleARN: roleARN(name), allowed: true,
    reason: "allowedNamespaces allows every namespace",
  });
  t.equal(chain.denial, null);
  t.same(chain.links, [link("r1"), link("r2"), {
    kind: "AWSClusterStaticIdentity", name: "s", roleARN: null, allowed: true,
    reason: "allowedNamespaces.list contains the namespace",
  }]);
  t.same(chain.identities.map(({ name }) => name), ["r1", "r2", "s"]);
  t.same(chainOf(["account/sa", ALL]).links, [{
    kind: "AWSServiceAccountIdentity", name: "sa", roleARN: roleARN("sa"), allowed: true,
    reason: "the identity is in the namespace",
  }]);
  t.end();
});

test("the links of a denied chain have a reason, and the denial too", (t) => {
  t.match(chainOf(["role/r1", []]), {
    links: [{ name: "r1", roleARN: null, allowed: false, reason: "the identity does not exist" }],
  });
  const cycle = chainOf(["role/a", [roleIdentity("a", "role/a")]]);
  t.match(cycle.links, [{ allowed: true }, { allowed: false, reason: "the chain already contains this identity" }]);
  const other = chainOf(["static/s", [staticIdentity("s", { list: ["ns2"] })]]);
  t.equal(other.denial?.reason, "allowedNamespaces.list does not contain the namespace");
  for (const [secretRef, reason] of [
    ["", "secretRef is missing"], [{ name: "a" }, "secretRef is missing"],
    ["a/b", 'secretRef "a/b" is not a valid name'],
  ] as const) t.match(chainOf(["static/s", [staticIdentity("s", {}, secretRef)]]).links, [{ allowed: false, reason }]);
  t.end();
});

const UNKNOWN = (kind: string, name: string, why = ""): string =>
  `ERR_IDENTITY_UNKNOWN ${kind} "${name}" does not exist. ${why}Create the identity, or change the reference.`;
const chained = [
  roleIdentity("r1", "role/r2", { list: ["ns1"] }), roleIdentity("r2", "static/s", { list: ["ns2"] }),
  staticIdentity("s", null),
];
const cyclic = [roleIdentity("a", "role/b"), roleIdentity("b", "role/c"), roleIdentity("c", "role/b")];
const otherController = identityObject("AWSClusterControllerIdentity", "other", { allowedNamespaces: {} });
const TOO_DEEP = 'ERR_IDENTITY_DEPTH The chain has more than 8 AWSClusterRoleIdentities; AWSClusterRoleIdentity "r9" '
  + 'is '
  + "number 9. Change the sourceIdentityRef of an identity, so that the chain has fewer roles.";
const wrongOperator = { matchExpressions: [{ key: "team", operator: "Is", values: ["a"] }] };
const withoutSource = [roleIdentity("r", null), controllerIdentity({ list: [] })];
const byName = staticIdentity("s", { selector: { matchLabels: { "kubernetes.io/metadata.name": "ns1" } } });

testRows("follows a chain to its source, and denies it at the first identity that cannot be used", lines, [
  ["the controller identity", ["controller", ALL], "default"],
  ["a static identity", ["static/s", ALL], "s"],
  ["a missing identity", ["role/r1", []], "r1!", UNKNOWN("AWSClusterRoleIdentity", "r1")],
  ["a missing source", ["role/r1", [roleIdentity("r1", "static/s")]], "r1 s!",
    UNKNOWN("AWSClusterStaticIdentity", "s", 'AWSClusterRoleIdentity "r1" names it as its source. ')],
  ["the identity of another namespace", ["account/sa", [account("ns2")]], "sa!", /^ERR_IDENTITY_UNKNOWN /],
  ["another controller identity", ["controller/other", [otherController, controllerIdentity()]], "other!",
    'ERR_IDENTITY_UNKNOWN AWSClusterControllerIdentity "other" cannot be used: CAPA uses only the '
      + 'AWSClusterControllerIdentity named "default". Change the name in the reference to default.'],
  ["an unknown kind", ["AWSClusterIdentityIdentity/a", []], "a!",
    'ERR_IDENTITY_KIND The kind "AWSClusterIdentityIdentity" of identityRef is not the kind of an identity. Use one of '
      + "AWSClusterControllerIdentity, AWSClusterStaticIdentity, AWSClusterRoleIdentity, AWSServiceAccountIdentity."],
  ["a source without a kind", ["role/r", [roleIdentity("r", null, {}, { sourceIdentityRef: {} })]], /^r /,
    /^ERR_IDENTITY_KIND The kind "" of sourceIdentityRef is not the kind of an identity\./],
  ["a kind that cannot be a source", ["role/r", [roleIdentity("r", "account/sa"), account("ns1")]], "r sa!",
    'ERR_IDENTITY_KIND AWSServiceAccountIdentity "sa" is a sourceIdentityRef, but this kind cannot be the source of '
      + "another identity. Use an AWSClusterControllerIdentity, AWSClusterStaticIdentity or AWSClusterRoleIdentity as "
      + "the source."],
  ["the first identity that does not allow the namespace; the chain contains the links after it",
    ["role/r1", chained], "r1 r2! s!",
    'ERR_IDENTITY_NAMESPACE AWSClusterRoleIdentity "r2" does not allow the namespace "ns1": allowedNamespaces.list '
      + 'does '
      + "not contain the namespace. Add the namespace to allowedNamespaces.list of the identity, or use another "
      + "identity."],
  ["an invalid selector", ["static/s", [staticIdentity("s", { selector: wrongOperator })]], "s!",
    /^ERR_IDENTITY_SELECTOR AWSClusterStaticIdentity "s" does not allow .* "ns1": .*"Is" is not .*\. Correct/],
  ["its own source", ["role/a", [roleIdentity("a", "role/a")]], "a a!",
    'ERR_IDENTITY_CYCLE The sources of the identities form a cycle of AWSClusterRoleIdentities: "a" -> "a". Change the '
      + "sourceIdentityRef of one of them."],
  ["a cycle of others", ["role/a", cyclic], "a b c b!", /^ERR_IDENTITY_CYCLE .*: "b" -> "c" -> "b"\./],
  ["8 roles over a static identity", ["role/r1", [...ALL, ...roles(8, "static/s")]], "r1 r2 r3 r4 r5 r6 r7 r8 s"],
  ["8 roles over the controller", ["role/r1", [...ALL, ...roles(8, "controller")]], "r1 r2 r3 r4 r5 r6 r7 r8 default"],
  ["9 roles", ["role/r1", [...ALL, ...roles(9, "static/s")]], "r1 r2 r3 r4 r5 r6 r7 r8 r9!", TOO_DEEP],
  ["20,000 roles, which are not followed", ["role/r1", roles(20_000, "controller")], "r1 r2 r3 r4 r5 r6 r7 r8 r9!",
    TOO_DEEP],
  ["no Secret", ["role/r", [roleIdentity("r", "static/s"), staticIdentity("s", {}, "")]], "r s!",
    'ERR_IDENTITY_SECRET AWSClusterStaticIdentity "s" names no Secret: secretRef is missing. Create an identity with '
      + "another name, whose secretRef is the name of a Secret in the namespace of CAPA."],
  ["shipped CAPA does not check a role without a source", ["role/r", withoutSource], "r"],
  ["the controller identity is checked", ["role/r", withoutSource, { runtime: "extended" }], "r default!", /^ERR_/],
]);

test("a selector selects no namespace that the cluster does not have, and in manifests only by the name label", (t) => {
  const selecting = (identity: JsonObject, origin: "file" | "cluster"): string =>
    names(identityChain(inventoryWith([identity], { origin }), refTo("static/s"), "ns1"));
  t.equal(selecting(byName, "file"), "s");
  t.equal(selecting(byName, "cluster"), "s!");
  const noTier = { matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] };
  t.equal(selecting(staticIdentity("s", { selector: noTier }), "file"), "s!");
  t.end();
});
