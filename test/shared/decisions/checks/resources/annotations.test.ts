import { test } from "tap";
import { annotated, lines, notApplied, tiered } from "../resource-lines.ts";

const at = (key: string): string => `metadata.annotations[${key}]`;
const ACK = "services.k8s.aws/";
const OURS = "ack-role-resolver.io/";

test("ACK-02 warns of a value that was not resolved, and never more", (t) => {
  const forged = annotated({ [`${OURS}role-arn`]: "arn:aws:iam::1:role/x", [`${OURS}outcome`]: "selected", [`${OURS}conflicting-selectors`]: "a" });
  const leave = "Leave it out: the webhook writes what holds.";
  const found = [
    `warn ACK-02 ${at(`${OURS}conflicting-selectors`)}: "a" is not what was resolved: nothing is to be said there. ${leave}`,
    `warn ACK-02 ${at(`${OURS}role-arn`)}: "arn:aws:iam::1:role/x" is not what was resolved: "arn:aws:iam::111122223333:role/gold" holds. ${leave}`,
  ];
  t.same(lines("ACK-02", forged), found);
  t.same(lines("ACK-02", forged, { settings: { checkSeverities: new Map([["ACK-02", "deny"]]) } }), found);
  t.same(lines("ACK-02", annotated({ [`${OURS}selector`]: "gold", [`${OURS}allow`]: "ACK-17" })), []);
  t.equal(notApplied(forged, { origin: "file", known: [] })["ACK-02"], "selectors and namespaces");
  t.end();
});

test("ACK-11 refuses a deletion policy that there is not", (t) => {
  for (const policy of ["Delete", "keep", ""]) {
    t.same(lines("ACK-11", annotated({ [`${ACK}deletion-policy`]: policy })), [
      `deny ACK-11 ${at(`${ACK}deletion-policy`)}: "${policy}" is neither delete nor retain, and reads as retain. Write delete or retain, in lower case.`,
    ]);
  }
  for (const policy of ["delete", "retain"]) t.same(lines("ACK-11", annotated({ [`${ACK}deletion-policy`]: policy })), []);
  t.end();
});

test("ACK-13 warns of what reads as false", (t) => {
  for (const key of ["adopted", "read-only"]) {
    t.same(lines("ACK-13", annotated({ [ACK + key]: "yes" })), [`warn ACK-13 ${at(ACK + key)}: "yes" reads as false. Write "true" or "false".`]);
    for (const value of ["true", "True", "false"]) t.same(lines("ACK-13", annotated({ [ACK + key]: value })), []);
  }
  t.end();
});

test("ACK-14 warns of what is read of namespaces alone", (t) => {
  const keys = ["owner-account-id", "team-id", "endpoint-url", "default-region"].map((name) => ACK + name);
  for (const key of [...keys, "s3.services.k8s.aws/deletion-policy"]) {
    t.same(lines("ACK-14", annotated({ [key]: "x" })), [
      `warn ACK-14 ${at(key)}: controllers read it of a namespace and ignore it on a resource. Annotate the namespace with it, or leave it out.`,
    ]);
    t.same(lines("ACK-15", annotated({ [key]: "x" })), [], "it is known");
  }
  t.same(lines("ACK-14", annotated({ [`${ACK}region`]: "eu-west-1", "example.com/team-id": "x" })), []);
  t.end();
});

test("ACK-15 warns of an annotation that nobody knows, and says which was meant", (t) => {
  t.same(lines("ACK-15", annotated({ [`${ACK}deletion-polcy`]: "retain" })), [
    `warn ACK-15 ${at(`${ACK}deletion-polcy`)}: controllers know no such annotation. Write services.k8s.aws/deletion-policy, if that was meant, or leave it out.`,
  ]);
  t.same(lines("ACK-15", annotated({ [`${ACK}zzz`]: "x" })), [`warn ACK-15 ${at(`${ACK}zzz`)}: controllers know no such annotation. Leave it out.`]);
  t.same(lines("ACK-15", annotated({ [`${ACK}deletion-policy`]: "retain", "eks.services.k8s.aws/zzz": "x", "example.com/regoin": "x" })), []);
  t.end();
});

test("ACK-20 warns of a path that is none of the spec", (t) => {
  const key = `${ACK}ignore-field-drift`;
  const fix = "List paths of the spec as its YAML has them, separated by commas: spec.tags, spec.scaling.size.";
  t.same(lines("ACK-20", annotated({ [key]: "spec.tags[0], spec.a,, tags,spec..a" })), [
    `warn ACK-20 ${at(key)}: "spec.tags[0]" is not the path of a field of the spec. ${fix}`,
    `warn ACK-20 ${at(key)}: "tags" is not the path of a field of the spec. ${fix}`,
    `warn ACK-20 ${at(key)}: "spec..a" is not the path of a field of the spec. ${fix}`,
  ]);
  t.same(lines("ACK-20", annotated({ [key]: "spec.tags, spec.scaling_config.size-max" })), []);
  t.same(lines("ACK-20", tiered("gold")), []);
  t.end();
});
