import { isChecked } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { kindObject, ROLE } from "../objects.ts";
import { linesOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const V1ALPHA1 = "services.k8s.aws/v1alpha1";
const line = (text: string): string =>
  `deny IRS-51 ${text}.`;
const ofKind = (kind: string, fix = 'Write "IAMRoleSelector"'): string =>
  line(`kind: "${kind}" is not the kind IAMRoleSelector. ${fix}`);
const ofVersion = (version: string, and = ""): string => line(`apiVersion: version "${version}" of services.k8s.aws is `
  + `not served; expected v1alpha1. Write "services.k8s.aws/v1alpha1"${and}`);
const NO_KINDS = ["IAMRole", "RoleSelector", "IAMRoleSelectorPolicy", ""];
const NEAR = ["IamRoleSelector", "iamroleselector", "IAMRoleSelectors", "IAM-Role-Selector"];

function like(apiVersion: string, kind: string): JsonObject {
  return { apiVersion, kind, metadata: { name: "a" }, spec: { arn: ROLE, namespaceSelector: { names: ["a"] } } };
}

testRows("IRS-51: denies other spellings of the kind, another group, and a version that is not served",
  ([apiVersion, kind, known = []]: readonly [string, string, JsonObject[]?]) =>
    linesOf("IRS-51", like(apiVersion, kind), { origin: "file", known }), [
    ...NEAR.map((kind) => [kind, [V1ALPHA1, kind], ofKind(kind)] as const),
    ["another group", ["iam.services.k8s.aws/v1alpha1", "IAMRoleSelector"],
      line('apiVersion: "iam.services.k8s.aws" is not the group services.k8s.aws. '
        + 'Write "services.k8s.aws/v1alpha1"')],
    ["another version", ["services.k8s.aws/v1beta1", "IAMRoleSelector"], ofVersion("v1beta1")],
    ["every fault at once", ["services.k8s.aws/v1", "IamRoleSelector"], 
      ofVersion("v1", ' and set kind to "IAMRoleSelector"'),
      ofKind("IamRoleSelector", 'Set apiVersion to "services.k8s.aws/v1alpha1" and write "IAMRoleSelector"')],
    ["the kind", [V1ALPHA1, "IAMRoleSelector"]],
    ["a version that the CRD of the input serves", ["services.k8s.aws/v1", "IAMRoleSelector", [
      kindObject("IAMRoleSelector", "services.k8s.aws", [
        { name: "v1alpha1", storage: true, served: true }, { name: "v1", storage: false, served: true },
      ]),
    ]]],
    ...NO_KINDS.map((kind) => [`"${kind}"`, ["example.com/v1", kind]] as const),
  ]);

test("IRS-51 checks other spellings of the kind, and no other kinds", (t) => {
  const empty = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  for (const kind of NEAR) t.ok(isChecked(like(V1ALPHA1, kind), empty), kind);
  for (const kind of NO_KINDS) t.notOk(isChecked(like("example.com/v1", kind), empty), kind);
  t.end();
});
