import { resourceOf } from "../../../shared/core/ack-resource.ts";
import { NAMESPACE_OWNERS } from "../../../shared/carm/namespace-owners.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { test } from "tap";
import { Inventory } from "../../../shared/core/inventory.ts";
import {
  bucketObject, inventoryWith, kindObject, namespaceObject, put, removal, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

const byLabel = (labels: object): object => ({
  arn: ROLE,
  namespaceSelector: { labelSelector: { matchLabels: labels } },
});

function inventoryOf(...objects: Parameters<typeof put>[0][]): Inventory {
  return inventoryWith(objects);
}

// resolve.property.test.ts compares the selectors of namespaces after any changes with a second implementation.
test("stores selectors, namespaces and kinds, and ignores objects of other kinds", (t) => {
  const inventory = inventoryOf(
    bucketObject(),
    { kind: "Namespace" },
    {},
    selectorObject("a", { arn: ROLE }),
    namespaceObject("n"),
  );
  inventory.apply([
    removal("apps", "Deployment", "a"),
    removal("services.k8s.aws", "FieldExport", "a"),
    removal("example.com", "IAMRoleSelector", "a"),
    removal("example.com", "Namespace", "n"),
  ]);
  t.same(
    [[...inventory.of(SELECTORS).keys()], inventory.namespaces.has("n"), inventory.namespaces.has("team-a")],
    [["a"], true, false],
  );
  t.end();
});

test("updates the effective and malformed selectors if a selector changes or is removed", (t) => {
  const inventory = inventoryOf(selectorObject("a", { arn: ROLE }));
  const stored = (): unknown => [
    [...inventory.of(SELECTORS).keys()],
    [...inventory.of(SELECTORS).malformed.keys()],
    [...inventory.of(SELECTORS).faulty.keys()],
  ];
  t.same(stored(), [["a"], [], []]);
  inventory.apply([put(selectorObject("a", { arn: "" }))]);
  t.same(stored(), [[], ["a"], ["a"]]);
  inventory.apply([put(selectorObject("a", { arn: "arn:aws:iam::111122223333:user/jane" }))]);
  t.same(stored(), [["a"], [], ["a"]], "the webhook denies the selector at admission, but controllers accept it");
  t.equal(inventory.of(SELECTORS).get("a")?.grantable, false);
  inventory.apply([
    removal("services.k8s.aws", "IAMRoleSelector", "a"),
    removal("services.k8s.aws", "IAMRoleSelector", "a"),
  ]);
  t.same(stored(), [[], [], []]);
  t.end();
});

test("returns the current labels of a namespace, or only the name label if it is unknown", (t) => {
  const inventory = inventoryOf(namespaceObject("n", { a: "b" }, { c: "d" }));
  t.same(inventory.namespaces.labelsOf("n"), new Map([["a", "b"], ["kubernetes.io/metadata.name", "n"]]));
  t.same(inventory.namespaces.annotationsOf("n"), new Map([["c", "d"]]));
  inventory.apply([put(namespaceObject("n"))]);
  t.same([inventory.namespaces.labelsOf("n").size, inventory.namespaces.annotationsOf("n").size], [1, 0]);
  inventory.apply([removal("", "Namespace", "n"), removal("", "Namespace", "n")]);
  t.equal(inventory.namespaces.has("n"), false);
  t.same(inventory.namespaces.labelsOf("n"), new Map([["kubernetes.io/metadata.name", "n"]]));
  t.equal(inventory.namespaces.annotationsOf("n").size, 0);
  t.end();
});

test("reports whether any effective selector depends on namespace labels", (t) => {
  const inventory = inventoryOf(selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["n"] } }));
  t.equal(inventory.of(SELECTORS).readsNamespaceLabels, false);
  inventory.apply([put(selectorObject("b", byLabel({ a: "b" }))), put(selectorObject("c", byLabel({ "": "b" })))]);
  t.equal(inventory.of(SELECTORS).readsNamespaceLabels, true);
  inventory.apply([put(selectorObject("b", { arn: ROLE }))]);
  t.equal(inventory.of(SELECTORS).readsNamespaceLabels, false, "a malformed selector is ignored");
  t.end();
});

test("returns the versions of a kind from the last state of its CustomResourceDefinition", (t) => {
  const group = "s3.services.k8s.aws";
  const inventory = inventoryOf(
    kindObject("Bucket", group, [
      { name: "v1", served: true, storage: false },
      { name: "v2", served: true, storage: true },
      { name: "v0", served: false, storage: false },
    ]),
  );
  t.same(inventory.kinds.versions(group, "Bucket"), {
    plural: "buckets", uid: null, storage: "v2", served: ["v1", "v2"],
  });
  t.equal(inventory.kinds.versions(group, "Object"), null);
  inventory.apply([put(kindObject("Bucket", group, [{ name: "v1", served: true, storage: false }]))]);
  t.equal(inventory.kinds.versions(group, "Bucket"), null);
  inventory.apply([
    put(kindObject("Bucket", group, [{ name: "v1", served: true, storage: true }])),
    removal("apiextensions.k8s.io", "CustomResourceDefinition", `buckets.${group}`),
  ]);
  t.equal(inventory.kinds.versions(group, "Bucket"), null);
  for (const spec of [undefined, { versions: {} }, { versions: [null, { storage: true }] }]) {
    t.doesNotThrow(() =>
      inventory.apply([
        put({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "x" }, spec }),
      ]),
    );
  }
  inventory.apply([removal("apiextensions.k8s.io", "CustomResourceDefinition", "never-seen")]);
  t.end();
});

test("returns each CustomResourceDefinition with its name and UID, also without a storage version", (t) => {
  const group = "s3.services.k8s.aws";
  const stored = kindObject("Bucket", group, [{ name: "v1", served: true, storage: true }]);
  const metadata = { name: "buckets.s3.services.k8s.aws", uid: "u1" };
  const inventory = inventoryOf({ ...stored, metadata }, kindObject("Object", group, []));
  t.same([...inventory.kinds.definitions()], [
    { group, kind: "Bucket", name: "buckets.s3.services.k8s.aws", uid: "u1" },
    { group, kind: "Object", name: "objects.s3.services.k8s.aws", uid: null },
  ]);
  t.end();
});

test("finds the current effective selectors for a role", (t) => {
  const other = `${ROLE}-2`;
  const inventory = inventoryOf(
    selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["n"] } }),
    selectorObject("b", { arn: ROLE }),
  );
  const named = (arn: string): string[] => [...inventory.of(SELECTORS).ofRole(arn)].map(({ name }) => name).toSorted();
  t.same([named(ROLE), named(other)], [["a", "b"], []]);
  inventory.apply([put(selectorObject("a", { arn: other })), put(selectorObject("b", { arn: "not-an-arn" }))]);
  t.same([named(ROLE), named(other), named("not-an-arn")], [[], ["a"], []], "a malformed selector has no effect");
  inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "a")]);
  t.same(named(other), []);
  t.end();
});

test("groups the selectors of a role by their session settings", (t) => {
  const tagged = (name: string, id: string): Parameters<typeof put>[0] => (
    selectorObject(name, { arn: ROLE }, { annotations: { "ack-role-resolver.io/external-id": id } })
  );
  const inventory = inventoryOf(
    selectorObject("a", { arn: ROLE }), tagged("b", "x-1"), tagged("c", "x-2"), selectorObject("d", { arn: ROLE }),
    tagged("e", "x-1"),
  );
  const groups = (): string[][] => Array.from(inventory.of(SELECTORS).sessionsOfRole(ROLE), (selectors) => (
    Array.from(selectors, ({ name }) => name)
  ));
  t.same(groups(), [["a", "d"], ["b", "e"], ["c"]]);
  t.equal(inventory.of(SELECTORS).ofRole(ROLE).size, 5);
  for (const name of ["a", "d", "c"]) inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", name)]);
  t.same(groups(), [["b", "e"]]);
  t.equal(inventory.of(SELECTORS).ofRole(ROLE).size, 2);
  t.end();
});

test("finds the namespaces with a label, and by the name label the namespace itself", (t) => {
  const { namespaces } = inventoryOf(namespaceObject("a", { team: "x" }), namespaceObject("b", { team: "x" }));
  const labels = [["team", "x"], ["team", "y"], ["kubernetes.io/metadata.name", "a"],
    ["kubernetes.io/metadata.name", "c"]] as const;
  t.same(labels.map(([key, value]) => [...namespaces.withLabel(key, value)]), [["a", "b"], [], ["a"], []]);
  t.same(labels.map(([key, value]) => namespaces.countWithLabel(key, value)), [2, 0, 1, 0]);
  t.end();
});

test("lists the namespaces that currently have CARM annotations", (t) => {
  const owner = { "services.k8s.aws/owner-account-id": "111122223333" };
  const inventory = inventoryOf(
    namespaceObject("a", {}, owner),
    namespaceObject("b", {}, { "services.k8s.aws/team-id": "x" }),
    namespaceObject("c"),
    namespaceObject("kube-system", {}, owner),
  );
  t.same([...inventory.of(NAMESPACE_OWNERS).names], ["a", "b"]);
  t.same([...inventory.namespaces.names], ["a", "b", "c", "kube-system"]);
  inventory.apply([put(namespaceObject("a")), removal("", "Namespace", "b")]);
  t.same([...inventory.of(NAMESPACE_OWNERS).names], []);
  t.end();
});

test("throws an error if nothing gives an object its role, or grants roles in the mode", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, { kindOf: () => null, roleSources: [] });
  const message = "nothing gives Bucket.s3.services.k8s.aws a role";
  t.throws(() => inventory.sourceOf(resourceOf(bucketObject()), SETTINGS_BY_DEFAULT), { message });
  t.throws(() => inventory.granterIn("carm"), { message: "nothing grants roles in mode carm" });
  t.end();
});
