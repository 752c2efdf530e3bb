import { test } from "tap";
import { readReferrer, referenceOf, type Referrer } from "../../../shared/capa/referrer.ts";
import { CONTROL_PLANE, INFRASTRUCTURE } from "../capa-objects.ts";

const REF = { kind: "AWSClusterRoleIdentity", name: "r" };
const DEFAULT = { kind: "AWSClusterControllerIdentity", name: "default" };

const KINDS: readonly (readonly [group: string, kind: string])[] = [
  [INFRASTRUCTURE, "AWSCluster"], [INFRASTRUCTURE, "AWSClusterTemplate"], [INFRASTRUCTURE, "ROSANetwork"],
  [INFRASTRUCTURE, "ROSARoleConfig"], [CONTROL_PLANE, "AWSManagedControlPlane"],
  [CONTROL_PLANE, "AWSManagedControlPlaneTemplate"], [CONTROL_PLANE, "ROSAControlPlane"],
];

function read(group: string, kind: string, spec: object, metadata: object = { name: "a" }): Referrer | null {
  const isTemplate = kind.endsWith("Template");
  return readReferrer({
    apiVersion: `${group}/v1beta2`, kind, metadata, spec: isTemplate ? { template: { spec } } : spec,
  });
}

for (const [group, kind] of KINDS) {
  test(`${kind}: reads the reference and the region`, (t) => {
    const metadata = {
      name: "a", namespace: "ns1", deletionTimestamp: "2026-01-01T00:00:00Z", annotations: { x: "1" },
      labels: { "cluster.x-k8s.io/cluster-name": "c1" },
    };
    const referrer = read(group, kind, { identityRef: REF, region: "eu-west-1" }, metadata);
    t.match(referrer, {
      group, kind, version: "v1beta2", namespace: "ns1", name: "a", written: REF, region: "eu-west-1",
      clusterName: "c1", deleting: true, annotations: new Map([["x", "1"]]),
    });
    t.end();
  });

  test(`${kind}: a missing reference stands for the controller identity, except in ROSA kinds of shipped CAPA`, (t) => {
    for (const spec of [{}, { identityRef: null }]) {
      const referrer = read(group, kind, spec);
      t.match(referrer, { written: null, namespace: "default", clusterName: null, region: null, deleting: false });
      const isDefaulted = kind !== "ROSANetwork" && kind !== "ROSARoleConfig";
      t.same(referrer === null ? referrer : referenceOf(referrer, "ack"), isDefaulted ? DEFAULT : null);
      t.same(referrer === null ? referrer : referenceOf(referrer, "extended"), DEFAULT);
    }
    t.end();
  });
}

test("reads the name of the Cluster from the first owner of this kind, else from the label", (t) => {
  const labels = { "cluster.x-k8s.io/cluster-name": "label" };
  const owner = { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Cluster", name: "owner" };
  const of = (ownerReferences: unknown, more: object = { labels }): unknown => (
    read(INFRASTRUCTURE, "AWSCluster", {}, { name: "a", ownerReferences, ...more })?.clusterName
  );
  t.equal(of([{ ...owner, apiVersion: "v1" }, { ...owner, kind: "Machine" }, owner, { ...owner, name: "b" }]), "owner");
  for (const owners of [undefined, null, "x", [], [null], ["x"], [{}], [{ ...owner, name: "" }], { 0: owner }]) {
    t.equal(of(owners), "label");
  }
  t.equal(of([], { labels: { "cluster.x-k8s.io/cluster-name": "" } }), null);
  t.equal(of([{ ...owner, apiVersion: "cluster.x-k8s.io" }], {}), null, "an apiVersion without a version is not valid");
  t.end();
});

test("reads a reference of a wrong type as an empty reference, not as a missing reference", (t) => {
  for (const identityRef of ["r", [], 5, {}, { kind: 1, name: null }]) {
    t.match(read(INFRASTRUCTURE, "AWSCluster", { identityRef }), { written: { kind: "", name: "" } });
  }
  t.end();
});

test("returns null for a kind without a reference, and reads an object without a name", (t) => {
  t.equal(read(INFRASTRUCTURE, "AWSMachine", {}), null);
  t.equal(read(CONTROL_PLANE, "AWSCluster", {}), null, "the kind belongs to another group");
  t.match(read(INFRASTRUCTURE, "AWSCluster", {}, {}), { name: null });
  t.end();
});
