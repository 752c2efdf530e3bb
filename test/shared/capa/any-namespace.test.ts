import { test } from "tap";
import { completeChain, grantToAnyNamespace } from "../../../shared/capa/grant-by-identity.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { controllerIdentity, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const NAMESPACES = [namespaceObject("team-a"), namespaceObject("team-b")];
const QUERY = { scope: null, settings: SETTINGS_BY_DEFAULT };
const only = (name: string): object => ({ list: [name] });

/** Returns the names of the roles and of the static identity that are granted; null if none is granted. */
function granted(objects: readonly JsonObject[], query: Partial<typeof QUERY> | { scope: string } = {}): unknown {
  const inventory = inventoryWith([...NAMESPACES, controllerIdentity(), ...objects]);
  const grant = grantToAnyNamespace(inventory, { kind: "AWSClusterRoleIdentity", name: "r" }, { ...QUERY, ...query });
  return grant === null ? null : [grant.source?.name ?? null, ...grant.roles.map(({ name }) => name)];
}

test("grants a role identity to the first namespace that every identity of its chain allows", (t) => {
  t.same(granted([roleIdentity("r", "controller", only("team-b"))]), [null, "r"]);
  const chain = [roleIdentity("r", "role/s", only("team-b")), roleIdentity("s", "static/k"), staticIdentity("k")];
  t.same(granted(chain), ["k", "s", "r"]);
  t.same(granted(chain, { scope: "team-b" }), ["k", "s", "r"]);
  t.end();
});

test("grants no role that no namespace may use, or whose chain or parameters are not valid", (t) => {
  t.equal(granted([]), null, "the identity does not exist");
  t.equal(granted([roleIdentity("r", "role/missing")]), null);
  t.equal(granted([roleIdentity("r", "role/r")]), null, "a cycle");
  t.equal(granted([roleIdentity("r", "controller", { list: [] })]), null);
  t.equal(granted([roleIdentity("r", "controller", only("team-b"))], { scope: "team-a" }), null);
  const disjoint = [roleIdentity("r", "role/s", only("team-a")), roleIdentity("s", "controller", only("team-b"))];
  t.equal(granted(disjoint), null, "no namespace may use both identities");
  t.equal(granted([roleIdentity("r", "controller", {}, { sessionName: "bad name!" })]), null);
  const settings = { ...SETTINGS_BY_DEFAULT, allowedAccounts: ["999999999999"] };
  t.equal(granted([roleIdentity("r")], { settings }), null, "the account is not allowed");
  t.end();
});

test("tries fewer namespaces if the selectors of the chain have many requirements", (t) => {
  const matchExpressions = Array.from({ length: 6_000 }, (_, i) => ({ key: `k${i}`, operator: "DoesNotExist" }));
  const role = roleIdentity("r", "controller", { selector: { matchExpressions, matchLabels: { last: "true" } } });
  const others = Array.from({ length: 60 }, (_, i) => namespaceObject(`n${i}`));
  const last = namespaceObject("last", { last: "true" });
  t.same(granted([...others.slice(20), last, role]), [null, "r"]);
  t.equal(granted([...others, last, role]), null);
  t.same(granted([...others, last, role], { scope: "last" }), [null, "r"]);
  t.end();
});

test("a chain is complete if it ends at a source", (t) => {
  const kind = "AWSClusterRoleIdentity";
  const inventory = inventoryWith([roleIdentity("r", "role/s"), roleIdentity("s", "role/t"), controllerIdentity(),
    roleIdentity("own")]);
  t.equal(completeChain(inventory, { kind, name: "r" }), null);
  const own = completeChain(inventory, { kind, name: "own" });
  t.same(own?.map(({ name }) => name), ["own", "default"]);
  t.end();
});
