import { test } from "tap";
import { pendingSelectors } from "../../../shared/ack/pending-selectors.ts";
import { pendingIdentities } from "../../../shared/capa/pending-identities.ts";
import { objectMeta } from "../../../shared/formats/object-meta.ts";
import { objectProblems } from "../../../shared/diagnosis/problems.ts";
import { resolve } from "../../../shared/core/resolve.ts";
import { resourceOf } from "../../../shared/core/ack-resource.ts";
import { controllerIdentity, roleIdentity } from "../capa-objects.ts";
import { bucketObject, inventoryWith, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

test("the state of a pending selector is that of the stored one, also of a malformed one", (t) => {
  const selectors = pendingSelectors("ack");
  const inventory = inventoryWith([
    selectorObject("a", { arn: ROLE }, { uid: "1", resourceVersion: "2" }),
    selectorObject("b", { arn: "" }, { uid: "3", resourceVersion: "4" }),
  ]);
  t.match(selectors.stateIn(inventory, "a"), { uid: "1", resourceVersion: "2" });
  t.match(selectors.stateIn(inventory, "b"), { uid: "3", resourceVersion: "4" });
  t.equal(selectors.stateIn(inventory, "c"), undefined);
  t.end();
});

test("a pending role identity that is too large keeps only what can form a cycle", (t) => {
  const identities = pendingIdentities("ack");
  const reduced = identities.reduce(roleIdentity("a", "role/b"));
  t.same(identities.widen(reduced), {
    ...reduced, spec: { sourceIdentityRef: { kind: "AWSClusterRoleIdentity", name: "b" } },
  });
  t.match(identities.read(roleIdentity("a")), { name: "a" });
  t.equal(identities.read(controllerIdentity()), null, "no other identity has a source");
  const inventory = inventoryWith([]);
  const input = { old: null, requester: null, origin: "cluster" } as const;
  t.equal(identities.compare({ ...input, object: controllerIdentity() }, inventory), null);
  const deletion = { ...input, object: roleIdentity("a"), operation: "DELETE" } as const;
  t.equal(identities.compare(deletion, inventory), null, "a deletion ends a chain");
  t.end();
});

test("objects without a role have no problems of a role", (t) => {
  const inventory = inventoryWith([namespaceObject("team-a")]);
  const resolution = resolve(inventory, resourceOf(bucketObject()), SETTINGS_BY_DEFAULT);
  const meta = { deleting: false, uid: null, ...objectMeta(namespaceObject("team-a")) };
  const scope = { inventory, settings: SETTINGS_BY_DEFAULT };
  t.same([...objectProblems({ resource: meta, resolution }, scope)], []);
  t.end();
});
