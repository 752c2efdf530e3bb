import { test } from "tap";
import { RESOURCE_JUDGE } from "../../../shared/ack/resource-judge.ts";
import { SELECTOR_ROLES } from "../../../shared/ack/resolve.ts";
import { readReferrer } from "../../../shared/capa/referrer.ts";
import { IDENTITY_ROLES } from "../../../shared/capa/resolve-identity.ts";
import { resourceOf } from "../../../shared/core/ack-resource.ts";
import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, controllerIdentity, roleIdentity } from "../capa-objects.ts";
import {
  bucketObject, inventoryWith, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

const NAMESPACE = namespaceObject("team-a");
const OF_TEAM = { labelSelector: { matchLabels: { team: "a" } } };
const SELECTOR = selectorObject("a", { arn: ROLE, namespaceSelector: OF_TEAM });
const CARM = { ...SETTINGS_BY_DEFAULT, mode: "carm" } as const;

function cluster(reference: string): JsonObject {
  return clusterObject("c", reference);
}

test("a source of roles says which session a role uses", (t) => {
  const labeled = namespaceObject("team-a", { team: "a" });
  const inventory = inventoryWith([labeled, SELECTOR, controllerIdentity(), roleIdentity("r"), namespaceObject("ns1")]);
  const ofBucket = resolve(inventory, resourceOf(bucketObject({ namespace: "team-a" })), SETTINGS_BY_DEFAULT);
  t.match(SELECTOR_ROLES.sessionOf?.(ofBucket, inventory), { defaultName: "default name" });
  t.equal(SELECTOR_ROLES.sessionOf?.({ ...ofBucket, selectors: [] }, inventory), null, "the controller's own role");
  const removed = inventoryWith([labeled]);
  t.equal(SELECTOR_ROLES.sessionOf?.(ofBucket, removed), null, "a selector that was removed meanwhile");
  const roleOf = (reference: string): Resolution => {
    const referrer = readReferrer(cluster(reference));
    if (referrer === null) throw new Error("not a cluster");
    return resolve(inventory, referrer, SETTINGS_BY_DEFAULT);
  };
  t.match(IDENTITY_ROLES.sessionOf?.(roleOf("role/r"), inventory), { defaultName: "name that CAPA chooses" });
  t.equal(IDENTITY_ROLES.sessionOf?.(roleOf("controller"), inventory), null, "the credentials of CAPA");
  t.equal(IDENTITY_ROLES.sessionOf?.({ ...roleOf("role/r"), chain: [] }, inventory), null);
  t.end();
});

test("a source of roles says which objects an update of a Namespace moves", (t) => {
  const inventory = inventoryWith([NAMESPACE, SELECTOR]);
  const moved = (old: JsonObject, object: JsonObject, settings = SETTINGS_BY_DEFAULT): boolean | null => (
    inventory.movedBy({ old, object }, settings)?.({ group: "s3.services.k8s.aws", kind: "Bucket" }) ?? null
  );
  const labeled = namespaceObject("team-a", { team: "a" });
  t.equal(moved(NAMESPACE, labeled), true, "a selector selects it now");
  t.equal(moved(NAMESPACE, NAMESPACE), null, "nothing changes");
  t.equal(moved(NAMESPACE, namespaceObject("team-a", { other: "x" })), false, "no selector reads the label");
  t.equal(moved(NAMESPACE, labeled, CARM), null, "in mode carm, labels choose no role");
  const owned = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111122223333" });
  t.equal(moved(NAMESPACE, owned, CARM), true, "the annotation chooses the account");
  t.equal(inventory.movedBy({ old: NAMESPACE, object: owned }, CARM)?.({ group: "apps", kind: "Deployment" }), false);
  t.end();
});

test("the judge of resources reports nothing for another object", (t) => {
  const referrer = readReferrer(cluster("controller"));
  if (referrer === null) throw new Error("not a cluster");
  const inventory = inventoryWith([NAMESPACE]);
  const object = { resource: referrer, resolution: resolve(inventory, referrer, SETTINGS_BY_DEFAULT) };
  const scope = { inventory, settings: SETTINGS_BY_DEFAULT };
  t.same([...RESOURCE_JUDGE.problems?.(object, scope) ?? []], []);
  t.same(RESOURCE_JUDGE.findings?.(object, scope), []);
  t.end();
});
