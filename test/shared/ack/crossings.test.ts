import { test } from "tap";
import { objectExcess } from "../../../shared/core/limits.ts";
import { formatFieldPath, type JsonObject } from "../../../shared/formats/json.ts";
import { crossingsOf } from "../../../shared/ack/crossings.ts";
import { fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { bucketObject } from "../objects.ts";

/** Returns `KIND PATH NAMESPACE/NAME` for each crossing of the object. */
function crossings(object: JsonObject): string[] {
  return crossingsOf(object).map(({ kind, path, namespace, name }) => (
    `${kind} ${formatFieldPath(path)} ${namespace}/${name}`
  ));
}

/** Returns the crossings of a resource of namespace team-a. */
const inSpec = (spec: unknown): string[] => crossings(bucketObject({}, { spec }));

test("only another namespace is a crossing: a missing, empty or equal one is the own namespace", (t) => {
  for (const [namespace, crosses] of [[undefined, 0], [null, 0], ["", 0], ["team-a", 0], ["team-b", 1], [7, 0]]) {
    const about = String(namespace);
    t.equal(inSpec({ roleRef: { from: { name: "r", namespace } } }).length, crosses, about);
    t.equal(inSpec({ password: { name: "s", namespace, key: "k" } }).length, crosses, about);
    const to = { kind: "secret", name: "s", ...(typeof namespace === "string" && { namespace }) };
    t.equal(crossings(fieldExport("e", "team-a", to)).length, crosses, about);
  }
  const spec = { roleRef: { from: { name: "r", namespace: "default" } } };
  t.same(crossings(bucketObject({ namespace: "" }, { spec })), [], "kubectl creates it in namespace default");
  t.same(crossings(fieldExport("e", "team-a", { kind: "secret", name: "s", namespace: "team-b" })), [
    "export spec.to team-b/s",
  ]);
  t.end();
});

test("finds references and Secrets at any depth, in the order of the fields", (t) => {
  const secret = { namespace: "b", name: "s", key: "k" };
  const from = { namespace: "b", name: "r" };
  t.same(inSpec({
    roleRef: { from }, subnetRefs: [{ from: { name: "own" } }, { from }], masterUserPassword: secret,
    rules: [{ groups: [{ groupRef: { from } }] }], users: [{ passwords: [{ name: "own", key: "k" }, secret] }],
    environment: { variables: { PASSWORD: secret } }, exportTo: secret, certificateOutput: secret,
  }), [
    "reference spec.roleRef.from b/r", "reference spec.subnetRefs[1].from b/r", "secret spec.masterUserPassword b/s",
    "reference spec.rules[0].groups[0].groupRef.from b/r", "secret spec.users[0].passwords[1] b/s",
    "secret spec.environment.variables.PASSWORD b/s", "secret-output spec.exportTo b/s",
    "secret-output spec.certificateOutput b/s",
  ]);
  t.end();
});

test("no other object with a namespace is a reference, also if it is malformed", (t) => {
  const specs: readonly unknown[] = [
    undefined, null, "x", [], { namespace: "metadata-tables", name: "bucket" }, { namespace: "AWS/S3", key: "k" },
    { selectors: [{ namespace: "b", labels: {} }] }, { metric: { namespace: "AWS/SQS", metricName: "m" } },
    { attachments: [{ key: "SourceUrl", name: "a", values: ["b"] }] }, { range: { from: 1, to: 2 } },
    { email: { from: "a@b.c" } }, { from: { namespace: "b", name: "n", key: "k" } },
    { ref: { from: { namespace: "b", name: 7 } } }, { password: { namespace: "b", name: "", key: "k" } },
    { password: { namespace: "b", name: "n", key: 7 } }, { target: { namespace: "b", name: "n", key: "k", more: 1 } },
  ];
  for (const spec of specs) t.same(inSpec(spec), [], JSON.stringify(spec));
  for (const spec of [[], { to: { namespace: "team-b" } }, { to: "team-b" }]) {
    t.same(crossings({ ...fieldExport("e", "team-a", { kind: "secret", name: "s" }), spec }), []);
  }
  t.end();
});

test("visits every level that a reviewed object may have, and no more", (t) => {
  const nested = (levels: number): JsonObject => {
    let spec: JsonObject = { roleRef: { from: { namespace: "b", name: "r" } } };
    for (let level = 0; level < levels; level++) spec = { a: spec };
    return bucketObject({}, { spec });
  };
  const specs = Array.from({ length: 100 }, (_, levels) => nested(levels));
  const deepest = specs.findLast((one) => objectExcess(one) === null);
  t.equal(crossingsOf(deepest ?? {}).length, 1);
  t.equal(crossingsOf(nested(100_000)).length, 0, "the stack does not overflow; the limit check denies such an object");
  t.end();
});
