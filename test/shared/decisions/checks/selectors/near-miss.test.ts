import { test } from "tap";
import { isChecked } from "../../../../../shared/checks/by-kind.ts";
import { findingLine } from "../../../../../shared/checks/check.ts";
import { Inventory } from "../../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { kindObject, ROLE } from "../../objects.ts";
import { findingsOf } from "../selector-changes.ts";

const EMPTY = new Inventory({ runtime: "ack", origin: "file" });
const FIX = "Write apiVersion: services.k8s.aws/v1alpha1 and kind: IAMRoleSelector.";

function like(apiVersion: string, kind: string): JsonObject {
  return { apiVersion, kind, metadata: { name: "a" }, spec: { arn: ROLE } };
}

function lines(object: JsonObject, known: readonly JsonObject[] = []): string[] {
  return findingsOf("IRS-51", object, { origin: "file", known }).map(findingLine);
}

test("IRS-51: denies other spellings of the kind, another group, and a version that is not served", (t) => {
  for (const kind of ["IamRoleSelector", "iamroleselector", "IAMRoleSelectors", "IAM-Role-Selector"]) {
    t.ok(isChecked(like("services.k8s.aws/v1alpha1", kind), EMPTY));
    const expected = [`IRS-51 kind: "${kind}" is not the kind IAMRoleSelector. ${FIX}`];
    t.same(lines(like("services.k8s.aws/v1alpha1", kind)), expected);
  }
  t.same(lines(like("iam.services.k8s.aws/v1alpha1", "IAMRoleSelector")), [
    `IRS-51 apiVersion: "iam.services.k8s.aws" is not the group services.k8s.aws. ${FIX}`,
  ]);
  t.same(lines(like("services.k8s.aws/v1beta1", "IAMRoleSelector")), [
    `IRS-51 apiVersion: version "v1beta1" of services.k8s.aws is not served; expected v1alpha1. ${FIX}`,
  ]);
  t.equal(lines(like("services.k8s.aws/v1", "IamRoleSelector")).length, 2, "every fault at once");
  t.end();
});

test("IRS-51: accepts IAMRoleSelector in every version that the CRD of the input serves", (t) => {
  t.same(lines(like("services.k8s.aws/v1alpha1", "IAMRoleSelector")), []);
  const versions = [{ name: "v1alpha1", storage: true, served: true }, { name: "v1", storage: false, served: true }];
  const definition = kindObject("IAMRoleSelector", "services.k8s.aws", versions);
  t.same(lines(like("services.k8s.aws/v1", "IAMRoleSelector"), [definition]), []);
  t.end();
});

test("IRS-51: does not report other kinds", (t) => {
  for (const kind of ["IAMRole", "RoleSelector", "IAMRoleSelectorPolicy", ""]) {
    t.same(lines(like("example.com/v1", kind)), []);
    t.notOk(isChecked(like("example.com/v1", kind), EMPTY), kind);
  }
  t.end();
});
