import { test } from "tap";
import { identityChain, type IdentityChain } from "../../../../shared/resolution/identity-chain.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { namespaceObject } from "../objects.ts";
import {
  controllerIdentity, identityInventory, identityObject, refTo, roleARN, roleIdentity, staticIdentity,
} from "./objects.ts";

type Options = Parameters<typeof identityInventory>[1];

/** Returns the chain of the reference for namespace `ns1`, which has the label `team=a`. */
function chainOf(reference: string, objects: readonly JsonObject[], options: Options = {}): IdentityChain {
  const inventory = identityInventory([namespaceObject("ns1", { team: "a" }), ...objects], options);
  return identityChain(inventory, refTo(reference), "ns1");
}

/** Returns `NAME` for each link that is allowed, and `NAME!` for each other link. */
function names({ links }: IdentityChain): string {
  return links.map(({ name, allowed }) => (allowed ? name : `${name}!`)).join(" ");
}

/** Returns role identities `r1` to `rN`, each the source of the one before it. The last has the given source. */
function roles(count: number, source: string): JsonObject[] {
  return Array.from({ length: count }, (_, i) => roleIdentity(`r${i + 1}`, i + 1 < count ? `role/r${i + 2}` : source));
}

test("returns the links from the identity to the source of its credentials", (t) => {
  const chain = chainOf("role/r1", [...roles(2, "static/s"), staticIdentity("s", { list: ["ns1"] })]);
  t.equal(chain.denial, null);
  t.same(chain.links, [
    {
      kind: "AWSClusterRoleIdentity", name: "r1", roleARN: roleARN("r1"), allowed: true,
      reason: "allowedNamespaces allows every namespace",
    },
    {
      kind: "AWSClusterRoleIdentity", name: "r2", roleARN: roleARN("r2"), allowed: true,
      reason: "allowedNamespaces allows every namespace",
    },
    {
      kind: "AWSClusterStaticIdentity", name: "s", roleARN: null, allowed: true,
      reason: "allowedNamespaces.list contains the namespace",
    },
  ]);
  t.same(chain.identities.map(({ name }) => name), ["r1", "r2", "s"]);
  t.end();
});

test("returns one link for a controller identity, a static identity and a service account identity", (t) => {
  const account = identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("sa") }, { namespace: "ns1" });
  const objects = [controllerIdentity(), staticIdentity("s"), account];
  t.equal(names(chainOf("controller", objects)), "default");
  t.equal(names(chainOf("static/s", objects)), "s");
  const { links, denial } = chainOf("account/sa", objects);
  t.equal(denial, null);
  t.same(links, [{
    kind: "AWSServiceAccountIdentity", name: "sa", roleARN: roleARN("sa"), allowed: true,
    reason: "the identity is in the namespace",
  }]);
  t.end();
});

test("ERR_IDENTITY_UNKNOWN: the identity, or a source, does not exist", (t) => {
  t.match(chainOf("role/r1", []), {
    links: [{ name: "r1", roleARN: null, allowed: false, reason: "the identity does not exist" }],
    denial: {
      code: "ERR_IDENTITY_UNKNOWN",
      message: 'AWSClusterRoleIdentity "r1" does not exist. Create the identity, or change the reference.',
    },
  });
  t.match(chainOf("role/r1", [roleIdentity("r1", "static/s")]), {
    denial: {
      code: "ERR_IDENTITY_UNKNOWN",
      message: 'AWSClusterStaticIdentity "s" does not exist. AWSClusterRoleIdentity "r1" names it as its source. '
        + "Create the identity, or change the reference.",
    },
  });
  const elsewhere = identityObject("AWSServiceAccountIdentity", "sa", {}, { namespace: "ns2" });
  t.equal(chainOf("account/sa", [elsewhere]).denial?.code, "ERR_IDENTITY_UNKNOWN", "the identity of another namespace");
  t.end();
});

test("ERR_IDENTITY_UNKNOWN: a controller identity has another name than default", (t) => {
  const other = identityObject("AWSClusterControllerIdentity", "other", { allowedNamespaces: {} });
  t.match(chainOf("controller/other", [other, controllerIdentity()]).denial, {
    code: "ERR_IDENTITY_UNKNOWN",
    message: 'AWSClusterControllerIdentity "other" cannot be used: CAPA uses only the AWSClusterControllerIdentity '
      + 'named "default". Change the name in the reference to default.',
  });
  t.end();
});

test("ERR_IDENTITY_KIND: the kind is unknown or missing, or cannot be a source", (t) => {
  t.match(chainOf("AWSClusterIdentityIdentity/a", []).denial, {
    code: "ERR_IDENTITY_KIND",
    message: 'The kind "AWSClusterIdentityIdentity" of identityRef is not the kind of an identity. Use one of '
      + "AWSClusterControllerIdentity, AWSClusterStaticIdentity, AWSClusterRoleIdentity, AWSServiceAccountIdentity.",
  });
  t.match(chainOf("role/r", [roleIdentity("r", null, {}, { sourceIdentityRef: {} })]).denial, {
    code: "ERR_IDENTITY_KIND", message: /^The kind "" of sourceIdentityRef is not the kind of an identity\./,
  });
  const account = identityObject("AWSServiceAccountIdentity", "sa", {}, { namespace: "ns1" });
  t.match(chainOf("role/r", [roleIdentity("r", "account/sa"), account]).denial, {
    code: "ERR_IDENTITY_KIND",
    message: 'AWSServiceAccountIdentity "sa" is a sourceIdentityRef, but this kind cannot be the source of another '
      + "identity. Use an AWSClusterControllerIdentity, AWSClusterStaticIdentity or AWSClusterRoleIdentity as the "
      + "source.",
  });
  t.end();
});

test("ERR_IDENTITY_NAMESPACE: names the first identity of the chain that does not allow the namespace", (t) => {
  const objects = [
    roleIdentity("r1", "role/r2", { list: ["ns1"] }), roleIdentity("r2", "static/s", { list: ["ns2"] }),
    staticIdentity("s", null),
  ];
  const chain = chainOf("role/r1", objects);
  t.equal(names(chain), "r1 r2! s!", "the chain contains the links after the denied link");
  t.same(chain.denial, {
    code: "ERR_IDENTITY_NAMESPACE",
    reason: "allowedNamespaces.list does not contain the namespace",
    message: 'AWSClusterRoleIdentity "r2" does not allow the namespace "ns1": allowedNamespaces.list does not contain '
      + "the namespace. Add the namespace to allowedNamespaces.list of the identity, or use another identity.",
  });
  t.end();
});

test("ERR_IDENTITY_SELECTOR: the label selector of an identity is not valid", (t) => {
  const selector = { matchExpressions: [{ key: "team", operator: "Is", values: ["a"] }] };
  t.match(chainOf("static/s", [staticIdentity("s", { selector })]).denial, {
    code: "ERR_IDENTITY_SELECTOR",
    message: /^AWSClusterStaticIdentity "s" does not allow the namespace "ns1": .*"Is" is not a valid .*\. Correct/,
  });
  t.end();
});

test("ERR_IDENTITY_CYCLE: an identity is its own source, directly or through others", (t) => {
  t.match(chainOf("role/a", [roleIdentity("a", "role/a")]), {
    links: [
      { name: "a", allowed: true }, { name: "a", allowed: false, reason: "the chain already contains this identity" },
    ],
    denial: {
      code: "ERR_IDENTITY_CYCLE",
      message: 'The sources of the identities form a cycle of AWSClusterRoleIdentities: "a" -> "a". Change the '
        + "sourceIdentityRef of one of them.",
    },
  });
  const objects = [roleIdentity("a", "role/b"), roleIdentity("b", "role/c"), roleIdentity("c", "role/b")];
  t.match(chainOf("role/a", objects).denial, { code: "ERR_IDENTITY_CYCLE", message: /: "b" -> "c" -> "b"\./ });
  t.end();
});

test("ERR_IDENTITY_DEPTH: 8 roles over a source are allowed, and 9 roles are not", (t) => {
  for (const source of ["static/s", "controller"]) {
    const objects = [controllerIdentity(), staticIdentity("s")];
    const eight = chainOf("role/r1", [...objects, ...roles(8, source)]);
    t.equal(eight.denial, null);
    t.equal(eight.links.length, 9);
    const nine = chainOf("role/r1", [...objects, ...roles(9, source)]);
    t.match(nine.denial, {
      code: "ERR_IDENTITY_DEPTH",
      message: 'The chain has more than 8 AWSClusterRoleIdentities; AWSClusterRoleIdentity "r9" is number 9. Change '
        + "the sourceIdentityRef of an identity, so that the chain has fewer roles.",
    });
    t.equal(nine.links.length, 9);
  }
  t.equal(chainOf("role/r1", roles(20_000, "controller")).links.length, 9, "a long chain is not followed");
  t.end();
});

test("ERR_IDENTITY_SECRET: a static identity does not name a Secret", (t) => {
  for (const [secretRef, found] of [
    ["", "secretRef is missing"], [{ name: "a" }, "secretRef is missing"],
    ["a/b", 'secretRef "a/b" is not a valid name'],
  ] as const) {
    t.match(chainOf("role/r", [roleIdentity("r", "static/s"), staticIdentity("s", {}, secretRef)]), {
      links: [{ allowed: true }, { allowed: false, reason: found }],
      denial: {
        code: "ERR_IDENTITY_SECRET",
        message: `AWSClusterStaticIdentity "s" names no Secret: ${found}. Create an identity with another name, whose `
          + "secretRef is the name of a Secret in the namespace of CAPA.",
      },
    });
  }
  t.end();
});

test("a role without a source uses CAPA's credentials without a check in shipped CAPA", (t) => {
  const objects = [roleIdentity("r", null), controllerIdentity({ list: [] })];
  t.equal(chainOf("role/r", objects).denial, null);
  const extended = chainOf("role/r", objects, { runtime: "extended" });
  t.equal(names(extended), "r default!", "the controller identity is checked");
  t.end();
});

test("a selector selects no namespace that the cluster does not have, and in manifests only by the name label", (t) => {
  const selecting = (selector: object, origin: "file" | "cluster"): string => {
    const inventory = identityInventory([staticIdentity("s", { selector })], { origin });
    return names(identityChain(inventory, refTo("static/s"), "ns1"));
  };
  const byName = { matchLabels: { "kubernetes.io/metadata.name": "ns1" } };
  t.equal(selecting(byName, "file"), "s");
  t.equal(selecting(byName, "cluster"), "s!");
  t.equal(selecting({ matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] }, "file"), "s!");
  t.end();
});
