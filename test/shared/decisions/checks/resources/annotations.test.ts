import { test } from "tap";
import { selectorObject } from "../../objects.ts";
import { annotated, CLUSTER_OBJECTS, findingLines, skippedChecks, tiered } from "../resource-lines.ts";

const at = (key: string): string => `metadata.annotations[${key}]`;
const ACK = "services.k8s.aws/";
const RESOLVER = "ack-role-resolver.io/";

test("ACK-02 warns about a resolution annotation with a wrong value, and never denies", (t) => {
  const forged = annotated({
    [`${RESOLVER}role-arn`]: "arn:aws:iam::1:role/x", [`${RESOLVER}outcome`]: "selected",
    [`${RESOLVER}conflicting-selectors`]: "a",
  });
  const fix = "Remove the annotation; the webhook sets the resolved value.";
  const expected = [
    `warn ACK-02 ${at(`${RESOLVER}role-arn`)}: ${RESOLVER}role-arn is "arn:aws:iam::1:role/x" but should be `
    + `"arn:aws:iam::111122223333:role/gold"; ${RESOLVER}conflicting-selectors is "a" but should be absent. ${fix}`,
  ];
  t.same(findingLines("ACK-02", forged), expected);
  t.same(findingLines("ACK-02", forged, { settings: { checkSeverities: new Map([["ACK-02", "deny"]]) } }), expected);
  t.same(findingLines("ACK-02", annotated({ [`${RESOLVER}selector`]: "gold", [`${RESOLVER}allow`]: "ACK-17" })), []);
  t.equal(skippedChecks(forged, { origin: "file", known: [] })["ACK-02"], "selectors and namespaces");
  t.end();
});

test("ACK-10 denies an invalid region", (t) => {
  const key = `${ACK}region`;
  const fix = "Set a region of the role's partition, such as eu-west-1, or remove the annotation.";
  for (const region of ["Frankfurt", "eu_west_1", "eu-west", ""]) {
    t.same(findingLines("ACK-10", annotated({ [key]: region })), [
      `deny ACK-10 ${at(key)}: "${region}" is not a region. ${fix}`,
    ]);
  }
  t.same(findingLines("ACK-10", annotated({ [key]: "eu-west-1" })), []);
  t.same(findingLines("ACK-10", tiered("gold")), []);
  t.match(findingLines("ACK-10", annotated({ [key]: "x" }), { old: annotated({ [key]: "x" }) }), [/^warn/]);
  t.end();
});

test("ACK-10 denies a region whose partition differs from the partition of the role", (t) => {
  const key = `${ACK}region`;
  t.same(findingLines("ACK-10", annotated({ [key]: "cn-north-1" })), [
    `deny ACK-10 ${at(key)}: region "cn-north-1" is in partition aws-cn, but the role is in partition "aws". `
    + "Set a region of the role's partition, such as eu-west-1, or remove the annotation.",
  ]);
  t.same(findingLines("ACK-10", annotated({ [key]: "cn-north-1" }, tiered())), [], "the controller's role is unknown");
  const arn = "arn:aws-cn:iam::111122223333:role/gold";
  const known = [...CLUSTER_OBJECTS, selectorObject("china", { arn, namespaceSelector: { names: ["team-a"] } })];
  t.same(findingLines("ACK-10", annotated({ [key]: "cn-north-1" }, tiered()), { known }), []);
  t.match(findingLines("ACK-10", annotated({ [key]: "eu-west-1" }, tiered()), { known }), [
    /in partition aws, but the role is in partition "aws-cn"/,
  ]);
  t.end();
});

test("ACK-11 denies an unknown deletion policy", (t) => {
  const key = `${ACK}deletion-policy`;
  for (const policy of ["Delete", "keep", ""]) {
    t.same(findingLines("ACK-11", annotated({ [key]: policy })), [
      `deny ACK-11 ${at(key)}: "${policy}" is neither delete nor retain, so controllers treat it as retain. `
      + "Set the deletion policy to delete or retain, in lower case.",
    ]);
  }
  for (const policy of ["delete", "retain"]) t.same(findingLines("ACK-11", annotated({ [key]: policy })), []);
  t.end();
});

test("ACK-13 warns about an annotation value that controllers treat as false", (t) => {
  for (const key of [`${ACK}adopted`, `${ACK}read-only`]) {
    t.same(findingLines("ACK-13", annotated({ [key]: "yes" })), [
      `warn ACK-13 ${at(key)}: "yes" is neither "true" nor "false", so controllers treat it as false. `
      + `Set "true" or "false".`,
    ]);
    for (const value of ["true", "True", "false"]) t.same(findingLines("ACK-13", annotated({ [key]: value })), []);
  }
  t.end();
});

test("ACK-15 warns about an annotation that controllers read only on namespaces", (t) => {
  const keys = ["owner-account-id", "team-id", "endpoint-url", "default-region"].map((name) => ACK + name);
  for (const key of [...keys, "s3.services.k8s.aws/deletion-policy"]) {
    t.same(findingLines("ACK-15", annotated({ [key]: "x" })), [
      `warn ACK-15 ${at(key)}: controllers read this annotation on namespaces only, and ignore it on a resource. `
      + "Move the annotation to the namespace, or remove it.",
    ]);
  }
  t.same(findingLines("ACK-15", annotated({ [`${ACK}region`]: "eu-west-1", "example.com/team-id": "x" })), []);
  t.end();
});

test("ACK-15 warns about an unknown annotation and suggests a similar annotation", (t) => {
  const line = (key: string, fix: string): string => (
    `warn ACK-15 ${at(key)}: controllers do not know this annotation. ${fix}.`
  );
  t.same(findingLines("ACK-15", annotated({ [`${ACK}deletion-polcy`]: "retain" })), [
    line(`${ACK}deletion-polcy`, "Set services.k8s.aws/deletion-policy if you meant that, or remove the annotation"),
  ]);
  t.same(findingLines("ACK-15", annotated({ [`${ACK}zzz`]: "x" })), [line(`${ACK}zzz`, "Remove the annotation")]);
  const others = { [`${ACK}deletion-policy`]: "retain", "eks.services.k8s.aws/zzz": "x", "example.com/regoin": "x" };
  t.same(findingLines("ACK-15", annotated(others)), []);
  t.end();
});

test("ACK-20 warns about an annotation value that is not the path of a spec field", (t) => {
  const key = `${ACK}ignore-field-drift`;
  const line = (path: string): string => (
    `warn ACK-20 ${at(key)}: "${path}" is not the path of a spec field. `
    + "Write the paths of spec fields, separated by commas: spec.tags, spec.scaling.size."
  );
  t.same(findingLines("ACK-20", annotated({ [key]: "spec.tags[0], spec.a,, tags,spec..a" })), [
    line("spec.tags[0]"), line("tags"), line("spec..a"),
  ]);
  t.same(findingLines("ACK-20", annotated({ [key]: "spec.tags, spec.scaling_config.size-max" })), []);
  t.same(findingLines("ACK-20", tiered("gold")), []);
  t.end();
});
