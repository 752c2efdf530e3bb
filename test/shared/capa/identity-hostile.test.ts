import { describeIdentity } from "../../../shared/core/capa-kinds.ts";
import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { test } from "tap";
import { accountText, readIdentity } from "../../../shared/capa/identity.ts";
import { identityChain, visitUsers } from "../../../shared/capa/identity-chain.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain, type Paced } from "../../../shared/formats/paced.ts";
import { capaLines, denials } from "../core/capa-lines.ts";
import { inventoryWith, namespaceObject } from "../objects.ts";
import { clusterObject, ownedBy, refTo, roleIdentity, staticIdentity } from "../capa-objects.ts";

const LONG = "a".repeat(1_000_000);

test("identities, namespaces and labels can have the names of properties of JavaScript objects", (t) => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const labels: unknown = JSON.parse(`{"${name}": "x"}`);
    const selector = { matchLabels: labels };
    const inventory = inventoryWith([
      staticIdentity(name, { list: [name] }, "creds"), staticIdentity("by-label", { selector }),
      roleIdentity("r", `static/${name}`), { ...namespaceObject("labeled"), metadata: { name: "labeled", labels } },
      namespaceObject(name), namespaceObject("ns1"),
    ]);
    const denial = (identity: string, namespace: string): unknown => (
      identityChain(inventory, refTo(identity), namespace).denial?.code ?? null
    );
    t.equal(denial(`static/${name}`, name), null);
    t.equal(denial("role/r", name), null);
    t.equal(denial(`static/${name}`, "ns1"), "ERR_IDENTITY_NAMESPACE");
    const isKey = name !== "__proto__";
    t.equal(denial("static/by-label", "labeled"), isKey ? null : "ERR_IDENTITY_SELECTOR", "not a valid label key");
    t.equal(denial("static/by-label", "ns1"), isKey ? "ERR_IDENTITY_NAMESPACE" : "ERR_IDENTITY_SELECTOR");
    t.equal(denial(`${name}/x`, "ns1"), "ERR_IDENTITY_KIND");
  }
  t.equal(identityChain(inventoryWith([]), refTo("static/__proto__"), "ns1").denial?.code, "ERR_IDENTITY_UNKNOWN");
  t.end();
});

test("names are compared exactly: case, trailing dots, spaces, other alphabets and an empty name count", (t) => {
  const inventory = inventoryWith([staticIdentity("s", { list: ["ns1", ""] }), namespaceObject("ns1")]);
  for (const namespace of ["NS1", "ns1.", " ns1", "ns1\n", "ns１", "nѕ1", "ns1\u200b"]) {
    t.equal(identityChain(inventory, refTo("static/s"), namespace).denial?.code, "ERR_IDENTITY_NAMESPACE", namespace);
  }
  for (const name of ["S", "s.", "s ", "ѕ", ""]) {
    t.equal(identityChain(inventory, { ...refTo("static/s"), name }, "ns1").denial?.code, "ERR_IDENTITY_UNKNOWN", name);
  }
  for (const kind of ["awsclusterstaticidentity", "AWSClusterStaticIdentity ", "AWSClusterStaticIdentity."]) {
    t.equal(identityChain(inventory, { kind, name: "s" }, "ns1").denial?.code, "ERR_IDENTITY_KIND", kind);
  }
  t.end();
});

test("no message contains a long name or kind", (t) => {
  t.equal(describeIdentity({ kind: "AWSClusterRoleIdentity", name: "r" }), 'AWSClusterRoleIdentity "r"');
  t.ok(describeIdentity({ kind: LONG, name: LONG }).length < 500);
  const sibling = ownedBy("c", { ...clusterObject("x", null), spec: { identityRef: { kind: LONG, name: LONG } } });
  const [line = "", ...others] = capaLines("AC-06", ownedBy("c", clusterObject("c", "role/r")), { objects: [sibling] });
  t.match(line, /^warn AC-06 /);
  t.ok(line.length < 1_000);
  t.same(others, []);
  t.end();
});

test("the text of an account contains no long text", (t) => {
  const text = (object: ReturnType<typeof staticIdentity>): string | null => {
    const identity = readIdentity(object, "ack");
    return identity === null ? "" : accountText(identity, identity);
  };
  t.equal(text(staticIdentity("s", {}, "creds")), "the account of Secret creds");
  const named = text(staticIdentity("s", {}, LONG)) ?? "";
  t.match(named, /^the account of Secret "a+"… \(1000000 characters\)$/);
  t.ok(named.length < 300);
  t.equal(text(roleIdentity("r", null, {}, { roleARN: `arn:aws:iam::${LONG}:role/x` })), null);
  t.equal(text(roleIdentity("r", null, {}, { roleARN: "arn:aws:iam::11112222333:role/x" })), null, "11 digits");
  t.equal(text(roleIdentity("r")), "account 111122223333");
  t.end();
});

function chainOf(roles: number): JsonObject[] {
  return Array.from({ length: roles }, (_, i) => roleIdentity(`r${i}`, i === 0 ? "static/s" : `role/r${i - 1}`));
}

/** Runs the task and returns the number of its pauses. */
function pausesOf(work: Paced<void>): number {
  let pauses = 0;
  while (work.next().done !== true) pauses++;
  return pauses;
}

test("the scan of the users of an identity pauses, and ends at the maximum length of a chain", (t) => {
  const chain = chainOf(1_000);
  const clusters = Array.from({ length: 1_000 }, (_, i) => clusterObject(`c${i}`, `role/r${i}`));
  const inventory = inventoryWith([staticIdentity("s"), ...chain, ...clusters]);
  const source = inventory.of(IDENTITIES).get(refTo("static/s"), "");
  if (source === null) throw new Error("the identity is missing");
  const names: (string | null)[] = [];
  drain(visitUsers(inventory, source, ({ name }) => names.push(name) > 0));
  t.same(names, ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"], "a chain has at most 8 roles");
  names.length = 0;
  drain(visitUsers(inventory, source, ({ name }) => names.push(name) < 3));
  t.same(names, ["c0", "c1", "c2"], "the visitor ends the scan");
  const fan = Array.from({ length: 10_000 }, (_, i) => roleIdentity(`f${i}`, "static/s"));
  t.ok(pausesOf(visitUsers(inventoryWith([staticIdentity("s"), ...fan]), source, () => true)) > 10_000);
  t.end();
});

test("CI-07 still finds the users of a chain with 8 roles, and cycles end", (t) => {
  const old = staticIdentity("s");
  const objects = [old, ...chainOf(8), clusterObject("c", "role/r7")];
  t.same(denials(staticIdentity("s", { list: [] }), { objects, old }), ["CI-07"]);
  const cycle = [roleIdentity("a", "role/b"), roleIdentity("b", "role/a"), clusterObject("c", "role/a")];
  t.same(denials(roleIdentity("a", "role/b", { list: [] }), { objects: cycle, old: roleIdentity("a", "role/b") }), []);
  t.end();
});
