import { test } from "tap";
import {
  accountOfIdentity, type Identity, readIdentity, referenceKey,
} from "../../../shared/capa/identity.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  controllerIdentity, identityObject, INFRASTRUCTURE, roleARN, roleIdentity, staticIdentity,
} from "../capa-objects.ts";

const read = (object: JsonObject): Identity | null => readIdentity(object, "ack");

test("reads the fields of each kind of identity, in both versions", (t) => {
  for (const version of ["v1beta1", "v1beta2"]) {
    const inVersion = (object: JsonObject): JsonObject => ({ ...object, apiVersion: `${INFRASTRUCTURE}/${version}` });
    const meta = { namespace: "", uid: null, resourceVersion: null, allowedNamespaces: { type: "all" } };
    t.same(read(inVersion(controllerIdentity())), { kind: "AWSClusterControllerIdentity", name: "default", ...meta });
    t.same(read(inVersion(staticIdentity("s"))), {
      kind: "AWSClusterStaticIdentity", name: "s", ...meta, secretName: "s-creds",
    });
    t.same(read(inVersion(roleIdentity("r", "static/s"))), {
      kind: "AWSClusterRoleIdentity", name: "r", ...meta, roleARN: roleARN("r"), sessionName: null, externalID: null,
      durationSeconds: null, inlinePolicy: null, policyARNs: [], tags: [], transitiveTags: [],
      mistyped: [], source: { kind: "AWSClusterStaticIdentity", name: "s" },
    });
  }
  t.end();
});

test("reads every parameter of AssumeRole in a role identity", (t) => {
  const parameters = {
    sessionName: "capa", externalID: "id-1", durationSeconds: 3600, inlinePolicy: "{}", policyARNs: ["arn:p"],
    transitiveTags: ["team"],
  };
  const identity = read(roleIdentity("r", "controller", {}, { ...parameters, tags: { team: "a", cost: "b" } }));
  t.match(identity, { ...parameters, tags: [{ key: "cost", value: "b" }, { key: "team", value: "a" }] });
  t.end();
});

test("reads an AWSServiceAccountIdentity with its namespace and its defaults", (t) => {
  const kind = "AWSServiceAccountIdentity";
  t.match(read(identityObject(kind, "sa", { roleARN: roleARN("r") }, { namespace: "ns1" })), {
    kind, namespace: "ns1", roleARN: roleARN("r"), audiences: ["sts.amazonaws.com"], expirationSeconds: 86_400,
  });
  const spec = { audiences: ["a"], expirationSeconds: 3600 };
  t.match(read(identityObject(kind, "sa", spec)), { namespace: "default", roleARN: null, ...spec });
  t.end();
});

test("reads empty, zero and wrong values as missing", (t) => {
  const wrong = {
    roleARN: 5, sessionName: "", externalID: "", durationSeconds: 0, inlinePolicy: {}, policyARNs: "a", tags: [],
  };
  t.match(read(roleIdentity("r", null, {}, wrong)), {
    roleARN: null, sessionName: null, externalID: null, durationSeconds: null, inlinePolicy: null, policyARNs: [],
    tags: [], source: null, mistyped: ["roleARN", "inlinePolicy", "policyARNs", "tags"],
  });
  t.match(read(roleIdentity("r", null, {}, { durationSeconds: 1.5, sourceIdentityRef: "s" })), {
    durationSeconds: null, source: { kind: "", name: "" },
  });
  t.match(read(staticIdentity("s", {}, { name: "creds", namespace: "capa-system" })), { secretName: null });
  t.match(read(identityObject("AWSClusterStaticIdentity", "s", null)), { secretName: null });
  t.end();
});

test("an identity that exceeds a limit allows no namespace", (t) => {
  const list = Array.from({ length: 20_001 }, (_, i) => `ns${i}`);
  t.same(read(staticIdentity("s", { list }))?.kind, "AWSClusterStaticIdentity");
  t.match(read(staticIdentity("s", { list })), {
    allowedNamespaces: { type: "none", reason: "the object has more than 20000 values" },
  });
  const many = Object.fromEntries(list.map((key) => [key, "v"]));
  t.match(read(roleIdentity("r", "role/s", {}, { tags: many, policyARNs: list, sessionName: {} })), {
    allowedNamespaces: { type: "none", reason: "the object has more than 20000 values" },
    roleARN: roleARN("r"), tags: [], policyARNs: [], sessionName: null, mistyped: [],
    excess: "the object has more than 20000 values", source: { kind: "AWSClusterRoleIdentity", name: "s" },
  }, "only the small fields are read");
  t.end();
});

test("returns null for an object that is not an identity", (t) => {
  const role = roleIdentity("r");
  t.equal(read({ ...role, apiVersion: "example.com/v1beta2" }), null);
  t.equal(read({ ...role, kind: "AWSClusterIdentityIdentity" }), null);
  t.match(read({ ...role, metadata: {} }), { name: "", roleARN: roleARN("r") });
  t.equal(read({}), null);
  t.end();
});

test("returns the account of a role, and null for an identity without a role or with another text", (t) => {
  const accountOf = (object: JsonObject): string | null => {
    const identity = read(object);
    return identity === null ? null : accountOfIdentity(identity);
  };
  t.equal(accountOf(roleIdentity("r")), "111122223333");
  t.equal(accountOf(roleIdentity("r", null, {}, { roleARN: null })), null);
  t.equal(accountOf(roleIdentity("r", null, {}, { roleARN: "x" })), null);
  t.equal(accountOf(staticIdentity("s")), null);
  t.end();
});

test("keys of identities are equal only for the same kind, name and namespace of a service account identity", (t) => {
  const key = (kind: string, name: string, namespace: string): string => referenceKey({ kind, name }, namespace);
  t.equal(key("AWSClusterRoleIdentity", "a", "ns1"), key("AWSClusterRoleIdentity", "a", "ns2"));
  t.not(key("AWSServiceAccountIdentity", "a", "ns1"), key("AWSServiceAccountIdentity", "a", "ns2"));
  t.not(key("AWSServiceAccountIdentity", 'a","b', "c"), key("AWSServiceAccountIdentity", "b", 'c","a'));
  t.end();
});
