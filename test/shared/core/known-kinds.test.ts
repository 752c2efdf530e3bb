import { isLikeCAPAKind } from "../../../shared/core/capa-kinds.ts";
import { test } from "tap";
import { KindStore } from "../../../shared/core/kind-store.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { droppedFields } from "../../../shared/core/shape.ts";
import { kindObject, ROLE, selectorObject } from "../objects.ts";

const SELECTORS = "iamroleselectors.services.k8s.aws";

function stored(openAPIV3Schema?: JsonObject): {
  readonly name: string;
  readonly storage: boolean;
  readonly served: boolean;
} {
  return {
    name: "v1alpha1",
    storage: true,
    served: true,
    ...(openAPIV3Schema === undefined ? {} : { schema: { openAPIV3Schema } }),
  };
}

const definition = (...versions: Parameters<typeof kindObject>[2]): JsonObject =>
  kindObject("IAMRoleSelector", "services.k8s.aws", versions);

test("lists the storage version of each installed ACK kind", (t) => {
  const kinds = new KindStore();
  kinds.put(kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1", storage: false, served: true }, stored()]));
  kinds.put(kindObject("Widget", "example.com", [stored()]));
  kinds.put(kindObject("Table", "dynamodb.services.k8s.aws", [{ name: "v1", storage: false, served: true }]));
  kinds.put(definition(stored()));
  t.same([...kinds.installedTypes()], [{ group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" }]);
  kinds.remove({ name: "buckets.s3.services.k8s.aws" });
  t.same([...kinds.installedTypes()], []);
  t.end();
});

test("the version to read and write is the storage version if it is served, else the first served version", (t) => {
  const kinds = new KindStore();
  const group = "infrastructure.cluster.x-k8s.io";
  const servedOf = (...versions: Parameters<typeof kindObject>[2]): string | null => {
    kinds.put(kindObject("AWSCluster", group, versions));
    return kinds.servedVersion(group, "AWSCluster");
  };
  t.equal(kinds.servedVersion(group, "AWSCluster"), null, "the kind is not installed");
  t.equal(servedOf({ name: "v1beta1", storage: false, served: true }, stored()), "v1alpha1");
  const notServed = { name: "v1beta1", storage: true, served: false };
  t.equal(servedOf(notServed, { name: "v1beta2", storage: false, served: true }), "v1beta2");
  t.equal(servedOf(notServed), null);
  t.end();
});

test("returns the fields of the IAMRoleSelector storage version while the CRD exists", (t) => {
  const kinds = new KindStore();
  const unknown = (): unknown[] =>
    kinds.selectorFields === null
      ? []
      : [
          ...droppedFields(
            kinds.selectorFields,
            selectorObject("a", { arn: ROLE, other: "x" }),
            selectorObject("a", {}),
          ),
        ];
  t.equal(kinds.selectorFields, null);
  kinds.put(definition(stored({ properties: { spec: { properties: { arn: { type: "string" } } } } })));
  t.same(unknown(), [["spec", "other"]]);
  kinds.put(definition(stored({ properties: { spec: { properties: { other: { type: "string" } } } } })));
  t.same(unknown(), [["spec", "arn"]]);
  kinds.put(definition({ ...stored({ properties: {} }), storage: false }));
  t.equal(kinds.selectorFields, null, "the kind has no storage version");
  kinds.put(definition(stored({ properties: {} })));
  t.not(kinds.selectorFields, null);
  kinds.remove({ name: SELECTORS });
  t.equal(kinds.selectorFields, null);
  t.end();
});

test("a kind of CAPA is not a misspelling of one", (t) => {
  const group = "infrastructure.cluster.x-k8s.io";
  t.equal(isLikeCAPAKind({ group, kind: "AWSCluster" }), false);
  t.equal(isLikeCAPAKind({ group, kind: "AWSClustre" }), true);
  t.end();
});
