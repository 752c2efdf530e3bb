import type { Resolution } from "../../../shared/core/resolution.ts";
import { test } from "tap";
import { readReferrer } from "../../../shared/capa/referrer.ts";
import { IDENTITY_ROLES, resolveReferrer } from "../../../shared/capa/resolve-identity.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, identityObject, roleARN, roleIdentity, staticIdentity,
} from "../capa-objects.ts";
import { inventoryWith } from "../objects.ts";

type Options = Parameters<typeof inventoryWith>[1];

function resolve(object: JsonObject, objects: readonly JsonObject[], options: Options = {}): Resolution | null {
  const referrer = readReferrer(object);
  if (referrer === null) return null;
  return resolveReferrer(inventoryWith(objects, options), referrer, { region: "us-east-1" });
}

const OBJECTS = [
  controllerIdentity(), staticIdentity("s"), roleIdentity("r1", "role/r2"), roleIdentity("r2", "static/s"),
];

test("an allowed role identity has the outcome selected, its role, and the chain to its source", (t) => {
  const reason = "allowedNamespaces allows every namespace";
  t.same(resolve(clusterObject("c", "role/r1"), OBJECTS), {
    outcome: "selected",
    via: "identity",
    selectors: [],
    roleARN: roleARN("r1"),
    accountID: "111122223333",
    region: { value: "eu-west-1", from: "resource" },
    code: null,
    message: 'AWSClusterRoleIdentity "r1" provides the credentials, with the credentials of AWSClusterRoleIdentity '
      + '"r2", AWSClusterStaticIdentity "s".',
    chain: [
      { kind: "AWSClusterRoleIdentity", name: "r1", roleARN: roleARN("r1"), allowed: true, reason },
      { kind: "AWSClusterRoleIdentity", name: "r2", roleARN: roleARN("r2"), allowed: true, reason },
      { kind: "AWSClusterStaticIdentity", name: "s", roleARN: null, allowed: true, reason },
    ],
  });
  t.end();
});

test("a static identity is selected without a role and an account", (t) => {
  t.match(resolve(clusterObject("c", "static/s"), OBJECTS), {
    outcome: "selected", roleARN: null, accountID: null, code: null,
    message: 'AWSClusterStaticIdentity "s" provides the credentials.',
  });
  t.end();
});

test("the controller identity has the outcome default, also if identityRef is missing", (t) => {
  for (const reference of ["controller", null]) {
    t.match(resolve(clusterObject("c", reference), OBJECTS), {
      outcome: "default", via: "identity", roleARN: null, accountID: null, code: null,
      message: 'AWSClusterControllerIdentity "default" allows the namespace, so CAPA uses its own credentials.',
      chain: [{ kind: "AWSClusterControllerIdentity", name: "default", allowed: true }],
    });
  }
  t.end();
});

test("a denied chain has the code and the message of the denial, and no role", (t) => {
  t.match(resolve(clusterObject("c", null), [controllerIdentity({ list: ["ns2"] })]), {
    outcome: "refused", via: "identity", roleARN: null, accountID: null, code: "ERR_IDENTITY_NAMESPACE",
    message: /^AWSClusterControllerIdentity "default" does not allow the namespace "ns1"/,
    chain: [{ name: "default", allowed: false }],
  });
  t.match(resolve(clusterObject("c", null), []), { outcome: "refused", code: "ERR_IDENTITY_UNKNOWN" });
  t.end();
});

test("a controller identity that manifests omit is the one that CAPA creates, unless it is only a source", (t) => {
  const inFiles: Options = { origin: "file" };
  for (const kind of ["AWSCluster", "ROSAControlPlane"]) {
    for (const reference of ["controller", null]) {
      const group = kind === "AWSCluster" ? "infrastructure" : "controlplane";
      const object = { ...clusterObject("c", reference), apiVersion: `${group}.cluster.x-k8s.io/v1beta2`, kind };
      t.match(resolve(object, [], inFiles), {
        outcome: "default", via: "identity", roleARN: null, code: null,
        message: 'AWSClusterControllerIdentity "default" is not in the manifests. CAPA creates it for every namespace, '
          + "and uses its own credentials.",
        chain: [{ kind: "AWSClusterControllerIdentity", name: "default", roleARN: null, allowed: true }],
      });
      t.match(resolve(object, []), { outcome: "refused", code: "ERR_IDENTITY_UNKNOWN" });
    }
  }
  const cluster = clusterObject("c", null);
  t.match(resolve(cluster, [controllerIdentity({ list: ["ns2"] })], inFiles), { code: "ERR_IDENTITY_NAMESPACE" });
  const unknown = { outcome: "refused", code: "ERR_IDENTITY_UNKNOWN" };
  t.match(resolve(clusterObject("c", "role/r"), [roleIdentity("r", "controller")], inFiles), unknown);
  t.match(resolve(clusterObject("c", "AWSClusterControllerIdentity/other"), [], inFiles), unknown);
  t.end();
});

test("a ROSANetwork without identityRef uses the credentials of shipped CAPA, without a check", (t) => {
  const network = { ...clusterObject("n", null), kind: "ROSANetwork" };
  const objects = [controllerIdentity({ list: [] })];
  t.match(resolve(network, objects), {
    outcome: "default", code: null, chain: [],
    message: "Shipped CAPA uses its own credentials for a ROSANetwork without identityRef, and does not check the "
      + "namespace.",
  });
  t.match(resolve(network, objects, { runtime: "extended" }), { outcome: "refused", code: "ERR_IDENTITY_NAMESPACE" });
  t.end();
});

test("an AWSServiceAccountIdentity is refused for shipped CAPA, and selected with --runtime extended", (t) => {
  const objects = [
    identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("sa") }, { namespace: "ns1" }),
  ];
  t.match(resolve(clusterObject("c", "account/sa"), objects), {
    outcome: "refused", code: "ERR_IDENTITY_KIND",
    message: 'AWSServiceAccountIdentity "sa" cannot be used, because shipped CAPA does not have this kind. Use another '
      + "kind of identity, or --runtime extended if your controller supports the kind.",
    chain: [{ name: "sa", roleARN: null, allowed: false, reason: "shipped CAPA does not have this kind" }],
  });
  t.match(resolve(clusterObject("c", "account/sa"), objects, { runtime: "extended" }), {
    outcome: "selected", roleARN: roleARN("sa"), accountID: "111122223333",
  });
  t.end();
});

test("a role that is missing or is not an ARN has no account, and the region falls back to the setting", (t) => {
  const identityRef = { kind: "AWSClusterRoleIdentity", name: "r" };
  const cluster = { ...clusterObject("c", "role/r"), spec: { identityRef } };
  t.match(resolve(cluster, [roleIdentity("r", null, {}, { roleARN: "x" })]), {
    outcome: "selected", roleARN: "x", accountID: null, region: { value: "us-east-1", from: "controller" },
  });
  t.match(resolve(cluster, [roleIdentity("r", null, {}, { roleARN: null })]), { roleARN: null, accountID: null });
  t.end();
});

test("an inventory without an identity knows no roles of clusters", (t) => {
  t.same(IDENTITY_ROLES.knownIn(inventoryWith([], { origin: "file" })), { hasRoles: false, readsNamespace: true });
  t.same(IDENTITY_ROLES.knownIn(inventoryWith(OBJECTS, { origin: "file" })), { hasRoles: true, readsNamespace: true });
  t.end();
});
