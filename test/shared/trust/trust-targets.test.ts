import type { RoleTargets } from "../../../shared/core/role-target.ts";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { controllerIdentity, roleARN, roleIdentity, staticIdentity } from "../capa-objects.ts";
import { inventoryWith, mapObject, ROLE, selectorObject } from "../objects.ts";

function found(...objects: readonly JsonObject[]): RoleTargets {
  return inventoryWith(objects).roleTargets({ ackSystemNamespace: "ack-system" });
}

test("finds the roles of selectors and of the CARM maps", async (t) => {
  const spec = { arn: ROLE, namespaceSelector: { names: ["a"] } };
  const metadata = { annotations: { "ack-role-resolver.io/external-id": "x1" } };
  const { targets, omitted } = found(
    selectorObject("team-a", spec, metadata), selectorObject("wide", { arn: roleARN("wide") }),
    mapObject("ack-role-account-map", { 111122223333: roleARN("m") }),
    mapObject("ack-role-team-map", { a: roleARN("t") }),
    mapObject("ack-role-team-map", { b: roleARN("elsewhere") }, "other"),
  );
  t.same(omitted, []);
  t.match(targets, [
    { kind: "selector", name: "team-a", roleARN: ROLE, namespace: "a", extras: { externalID: "x1" } },
    { kind: "selector", name: "wide", namespace: null },
    { kind: "map", name: "ack-role-account-map/111122223333", roleARN: roleARN("m") },
    { kind: "map", name: "ack-role-team-map/a", roleARN: roleARN("t") },
  ]);
  t.equal(targets.length, 4);
  t.same(found(selectorObject("bad", { arn: "team-a" })), {
    targets: [], omitted: ['IAMRoleSelector "bad" is not examined: it is malformed, and controllers ignore it'],
  });
});

test("finds the role that assumes the role of an identity", async (t) => {
  const tags = { tags: { team: "a", other: "b" }, transitiveTags: ["TEAM"] };
  const { targets, omitted } = found(
    controllerIdentity(), staticIdentity("keys"), roleIdentity("none", null), roleIdentity("own"),
    roleIdentity("middle", "role/own", {}, tags), roleIdentity("last", "role/middle"),
    roleIdentity("user", "static/keys"),
    roleIdentity("second", "role/user"), roleIdentity("lost", "role/gone"), roleIdentity("a", "role/b"),
    roleIdentity("b", "role/a"), roleIdentity("empty", null, {}, { roleARN: null }), roleIdentity("next", "role/empty"),
  );
  t.match(targets.map((one) => ({ ...one })), [
    { name: "none", source: null, roleARN: roleARN("none") }, { name: "own", source: null },
    {
      name: "middle", source: { roleARN: roleARN("own"), tags: [], hasOtherBase: false },
      session: { transitiveTags: ["TEAM"] },
    },
    { name: "last", source: { roleARN: roleARN("middle"), tags: [{ key: "team", value: "a" }], hasOtherBase: false } },
    { name: "second", source: { roleARN: roleARN("user"), hasOtherBase: true } },
    { name: "empty", source: null, roleARN: "" }, { name: "next", source: { roleARN: "", hasOtherBase: false } },
  ]);
  t.equal(targets.length, 7);
  t.same(omitted, [
    'AWSClusterRoleIdentity "user" is not examined: the user of AWSClusterStaticIdentity "keys" is not known',
    'AWSClusterRoleIdentity "lost" is not examined: its source AWSClusterRoleIdentity "gone" does not exist',
    'AWSClusterRoleIdentity "a" is not examined: its sources form a cycle, or are too many',
    'AWSClusterRoleIdentity "b" is not examined: its sources form a cycle, or are too many',
  ]);
});
