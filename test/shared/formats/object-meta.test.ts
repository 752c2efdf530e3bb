import { test } from "tap";
import {
  field, isJsonObject, type JsonObject, stringAt, stringMap,
} from "../../../shared/formats/json.ts";
import { isSelector } from "../../../shared/core/ack-groups.ts";
import { apiVersionOf, objectMeta, splitAPIVersion } from "../../../shared/formats/object-meta.ts";
import { readSelectorSpec } from "../../../shared/core/iamroleselector.ts";
import { namespaceObject, selectorObject } from "../objects.ts";

test("splits an apiVersion into group and version, and joins them again", (t) => {
  for (const [apiVersion, group, version] of [
    ["v1", "", "v1"],
    ["s3.services.k8s.aws/v1alpha1", "s3.services.k8s.aws", "v1alpha1"],
    ["s3.services.k8s.aws", "s3.services.k8s.aws", ""],
    ["", "", ""],
  ] as const) {
    t.same(splitAPIVersion(apiVersion), { group, version });
    t.equal(apiVersionOf({ group, version }), apiVersion);
  }
  t.end();
});

test("treats metadata of the wrong type as missing", (t) => {
  const absent = {
    group: "",
    version: "",
    kind: "",
    namespace: "",
    name: "",
    resourceVersion: null,
    labels: new Map(),
    annotations: new Map(),
  };
  t.same(objectMeta({}), absent);
  t.same(objectMeta({ apiVersion: 1, kind: [], metadata: "x" }), absent);
  t.same(
    objectMeta({ metadata: { name: 5, namespace: null, resourceVersion: 7, labels: ["a"], annotations: { a: 1 } } }),
    absent,
  );
  t.match(objectMeta(namespaceObject("n", { a: "b" })), {
    kind: "Namespace",
    version: "v1",
    name: "n",
    labels: new Map([["a", "b"]]),
  });
  t.end();
});

test("reads only own fields of an object, including a field named __proto__", (t) => {
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- as it comes over the wire
  const object: JsonObject = JSON.parse('{"__proto__": {"a": "own"}, "a": {"b": "c"}}');
  t.same(
    [
      stringAt(object, "__proto__", "a"),
      stringAt(object, "a", "b"),
      stringAt(object, "a"),
      stringAt(object, "a", "b", "c"),
      stringAt(object, "x", "y"),
    ],
    ["own", "c", null, null, null],
  );
  t.equal(field({}, "constructor"), undefined);
  t.same([{}, [], null, "x", undefined].map(isJsonObject), [true, false, false, false, false]);
  t.same(stringMap(null), new Map());
  t.end();
});

test("recognizes an IAMRoleSelector by its kind and group, in any version", (t) => {
  t.equal(isSelector(selectorObject("a", {})), true);
  for (const change of [{ apiVersion: "services.k8s.aws/v2" }])
    t.equal(isSelector({ ...selectorObject("a", {}), ...change }), true);
  for (const change of [
    { apiVersion: undefined },
    { apiVersion: "services.k8s.aws" },
    { apiVersion: "s3.services.k8s.aws/v1" },
    { kind: "IAMRoleSelectorList" },
  ])
    t.equal(isSelector({ ...selectorObject("a", {}), ...change }), false);
  t.end();
});

test("reads fields of the wrong type as empty, and preserves list positions", (t) => {
  t.same(readSelectorSpec({ spec: 5 }), {
    name: "",
    uid: null,
    resourceVersion: null,
    arn: null,
    namespaceSelector: null,
    resourceTypeSelector: null,
    resourceLabelSelector: null,
  });
  const parsed = readSelectorSpec(selectorObject("a", {
    arn: {}, namespaceSelector: { names: [1, "a"], labelSelector: [] }, resourceTypeSelector: [5, { kind: "K" }],
    resourceLabelSelector: { matchLabels: 1, matchExpressions: [null, { key: "k", operator: "In", values: ["v", 2] }] },
  }));
  t.same(
    [parsed.arn, parsed.namespaceSelector, parsed.resourceTypeSelector],
    [
      null,
      { names: ["", "a"], labelSelector: null },
      [
        { group: "", version: "", kind: "", apiVersion: null },
        { group: "", version: "", kind: "K", apiVersion: null },
      ],
    ],
  );
  t.same(parsed.resourceLabelSelector, {
    matchLabels: new Map(),
    matchExpressions: [
      { key: "", operator: "", values: [] },
      { key: "k", operator: "In", values: ["v", ""] },
    ],
  });
  t.end();
});
