import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { compareInventories, countsOf, type Impact, isDisruptive } from "../../../shared/diagnosis/impact.ts";
import { clusterObject, controllerIdentity, roleIdentity, staticIdentity, withFields } from "../capa-objects.ts";
import { bucketObject, inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";

const A = "arn:aws:iam::111111111111:role/a";
const B = "arn:aws:iam::222222222222:role/b";

function inventoryOf(objects: readonly JsonObject[]): Inventory {
  return inventoryWith(objects, { origin: "file" });
}

type Objects = readonly JsonObject[];
type Input = readonly [before: Objects, after: Objects, settings?: Partial<DecisionSettings>];

function impacts([before, after, settings = {}]: Input): readonly Impact[] {
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  return drain(compareInventories(inventoryOf(before), inventoryOf(after), all)).impacts;
}

/** Returns each change, with `!` if it is disruptive. */
const changes = (input: Input): string[] =>
  impacts(input).map((impact) => `${impact.change}${isDisruptive(impact) ? "!" : ""}`);

const bucket = bucketObject();
const withRole = (arn: string, name = "a"): JsonObject =>
  selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] } });
const [a, b] = [withRole(A), withRole(A, "b")];
const existing = (ownerAccountID: string): JsonObject =>
  bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID } } });
const inB = existing("222222222222");
const ofLabel = selectorObject("a", { arn: A, resourceLabelSelector: { matchLabels: { x: "y" } } });
const plain = namespaceObject("team-a");
const regional = namespaceObject("team-a", {}, { "services.k8s.aws/default-region": "eu-west-1" });
const owned = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111111111111" });

testRows("reports the change of each resource, and whether it is disruptive", changes, [
  ["no change", [[bucket, a], [bucket, a]]],
  ["a second selector selects the resource", [[bucket, a], [bucket, a, b]], "conflict!"],
  ["the selector is deleted", [[bucket, a], [bucket]], "default!"],
  ["a role in another account", [[bucket, a], [bucket, withRole(B)]], "account!"],
  ["another role of the account", [[bucket, a], [bucket, withRole(`${A}2`)]], "role"],
  ["another selector with the same role", [[bucket, a], [bucket, b]], "selector"],
  ["the account of the default role is unknown", [[bucket], [bucket, a]], "selected"],
  ["the resource exists in the account", [[existing("111111111111")], [existing("111111111111"), a]], "selected"],
  ["the resource exists in another account", [[inB], [inB, a]], "account!"],
  ["the resource moves back to its account", [[inB, a], [inB, withRole(B)]], "role"],
  ["a conflict ends", [[bucket, a, b], [bucket, a]], "selected"],
  ["a conflict ends in another account", [[inB, a, withRole(B, "b")], [inB, a]], "account!"],
  ["another selector joins a conflict", [[bucket, a, b], [bucket, a, b, withRole(A, "c")]], "selector"],
  ["an added resource", [[a], [bucket, a]], "added"],
  ["an added resource in conflict", [[a, b], [bucket, a, b]], "added!"],
  ["a removed resource", [[bucket, a], [a]], "removed"],
  ["other labels", [[bucket, ofLabel], [bucketObject({ labels: { x: "y" } }), ofLabel]], "selected"],
  ["the namespace loses its region", [[bucket, regional], [bucket, plain]], "region"],
  ["the namespace gets a region", [[bucket, plain], [bucket, regional]], "region"],
  ["another account than the controller's", [[bucket], [bucket, a], { controllerAccount: "999999999999" }], "account!"],
  ["the controller's account", [[bucket], [bucket, a], { controllerAccount: "111111111111" }], "selected"],
  ["a fault in the CARM maps", [[bucket, plain], [bucket, owned], { mode: "carm" }], "refused!"],
]);

test("returns the resolutions before and after the change, or null if the resource does not exist", (t) => {
  t.match(impacts([[bucket, a], [bucket, withRole(B)]]), [{
    resource: { kind: "Bucket", namespace: "team-a", name: "b1" },
    before: { outcome: "selected", accountID: "111111111111", roleARN: A, selectors: [{ name: "a" }] },
    after: { outcome: "selected", accountID: "222222222222", roleARN: B },
  }]);
  t.match(impacts([[], [bucket]]), [{ before: null, after: { outcome: "default" } }]);
  t.match(impacts([[bucket], []]), [{ before: { outcome: "default" }, after: null }]);
  t.end();
});

test("counts the resources of both inventories, and sorts the impacts by disruption, name and group", (t) => {
  const [x, y, z] = [bucketObject({ name: "x" }), bucketObject({ name: "y" }), bucketObject({ name: "z" })] as const;
  const other = bucketObject({ namespace: "team-b", name: "x" });
  const queue = { ...bucketObject({ name: "x" }), kind: "Queue" };
  const before = inventoryOf([x, y, other, queue, a]);
  const comparison = drain(compareInventories(before, inventoryOf([x, queue, z, other]), SETTINGS_BY_DEFAULT));
  t.equal(comparison.resources, 5);
  t.same(
    comparison.impacts.map(({ resource: { namespace, kind, name }, change }) => (
      `${change} ${namespace} ${kind} ${name}`
    )),
    ["default team-a Bucket x", "default team-a Queue x", "added team-a Bucket z", "removed team-a Bucket y"],
  );
  t.same(countsOf(comparison.impacts), {
    conflict: 0, refused: 0, default: 2, account: 0, role: 0, region: 0, selected: 0, identity: 0, source: 0,
    secret: 0, selector: 0, wider: 0, narrower: 0, added: 1, removed: 1,
  });
  const groups = ["b.services.k8s.aws", "a.services.k8s.aws"];
  const added = impacts([[], groups.map((group) => ({ ...bucket, apiVersion: `${group}/v1alpha1` }))]);
  t.same(added.map(({ resource }) => resource.group), groups.toReversed());
  t.end();
});

const FOREIGN = { roleARN: "arn:aws:iam::444455556666:role/x" };
const IDENTITIES = [
  controllerIdentity(), staticIdentity("s"), staticIdentity("t"), roleIdentity("r", "static/s"),
  roleIdentity("chained", "role/r"), roleIdentity("foreign", "controller", {}, FOREIGN),
  roleIdentity("twin", "static/s", {}, { roleARN: "arn:aws:iam::111122223333:role/r" }),
];
const cluster = (reference: string | null): JsonObject => clusterObject("c", reference);
const network = { ...cluster(null), kind: "ROSANetwork" };
const [onRole, onChain] = [cluster("role/r"), cluster("role/chained")];
const otherRole = roleIdentity("r", "static/s", {}, { roleARN: "arn:aws:iam::111122223333:role/y" });

testRows("reports the change of each cluster, if the cluster or an identity is replaced",
  ([before, after, ...changed]: [JsonObject | null, JsonObject | null, ...JsonObject[]]) => {
    const objects = (object: JsonObject | null): JsonObject[] => (
      [...IDENTITIES, ...(object === null ? [] : [object])]
    );
    return changes([objects(before), [...objects(after), ...changed]]);
  }, [
    ["no change", [onRole, onRole]],
    ["added", [null, onRole], "added"],
    ["removed", [onRole, null], "removed"],
    ["the account of the controller", [onRole, cluster(null)], "default!"],
    ["a missing identity", [onRole, cluster("role/none")], "refused!"],
    ["another account", [onRole, cluster("role/foreign")], "account!"],
    ["an identity instead of the default", [cluster(null), onRole], "selected"],
    ["CAPA uses no identity", [network, network]],
    ["another static identity", [cluster("static/s"), cluster("static/t")], "identity"],
    ["the account of a static identity is unknown", [cluster("static/s"), onRole], "identity"],
    ["a static identity instead of a role", [onRole, cluster("static/s")], "identity"],
    ["another identity with the same role", [onRole, cluster("role/twin")], "identity"],
    ["another role", [onRole, onChain], "role"],
    ["the role of the identity changes", [onRole, onRole, otherRole], "role"],
    ["the source of the identity changes", [onRole, onRole, roleIdentity("r", "static/t")], "source"],
    ["the role of the source changes", [onChain, onChain, roleIdentity("r", "static/s", {}, FOREIGN)], "source"],
    ["the region", [onRole, withFields(onRole, "spec", { region: "us-east-1" })], "region"],
    ["both are refused", [cluster("role/none"), cluster("role/other")], "identity"],
    ["the cluster is refused for another reason",
      [cluster("static/none"), cluster("static/none"), staticIdentity("none", null)]],
  ]);

test("reports the names of the Secrets if another Secret is used, also by the source of a chain", (t) => {
  for (const reference of ["static/s", "role/chained"]) {
    const after = [...IDENTITIES, staticIdentity("s", {}, "new"), cluster(reference)];
    const found = impacts([[...IDENTITIES, cluster(reference)], after]);
    t.match(found, [{ change: "secret", resource: { name: "c" }, secrets: { before: "s-creds", after: "new" } }]);
    t.equal(countsOf(found).secret, 1);
    t.notOk(found.some(isDisruptive));
  }
  t.end();
});

test("counts the clusters of a deleted identity, and of a namespace whose labels change", (t) => {
  const selecting = staticIdentity("sel", { selector: { matchLabels: { team: "a" } } });
  const clusters = [cluster("static/sel"), clusterObject("d", "role/over"), clusterObject("e", "role/r")];
  const others = [...IDENTITIES, roleIdentity("over", "static/sel"), ...clusters];
  const ns1 = (team: string): JsonObject => namespaceObject("ns1", { team });
  const refused = (...after: Objects): unknown[] => (
    impacts([[...others, selecting, ns1("a")], after]).map(({ change, resource, after: to }) => (
      [change, resource.name, to?.code]
    ))
  );
  const both = (code: string): unknown[] => [["refused", "c", code], ["refused", "d", code]];
  t.same(refused(...others, ns1("a")), both("ERR_IDENTITY_UNKNOWN"));
  t.same(refused(...others, selecting, ns1("b")), both("ERR_IDENTITY_NAMESPACE"));
  t.end();
});
