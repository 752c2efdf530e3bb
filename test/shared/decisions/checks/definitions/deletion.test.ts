import { test } from "tap";
import { runChecks } from "../../../../../shared/checks/run.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { ACK_CRDS } from "../../../../fixtures/ack-crds.ts";
import { kindObject, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { existingBucket, FIRST, newBucket, repeat, SECOND, selectorFor } from "../account-fixtures.ts";
import { checkChange } from "../selector-changes.ts";

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);

/** Returns the findings for the deletion of a CustomResourceDefinition, each with its severity. */
function deletionFindings(definition: JsonObject, known: readonly JsonObject[], settings: object = {}): string[] {
  const { findings } = checkChange(definition, { known, operation: "DELETE", settings });
  return findings.map(({ code, severity, message }) => `${severity} ${code} ${message}`);
}

const [BUCKETS] = ACK_CRDS;
const SELECTORS: JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "iamroleselectors.services.k8s.aws" },
  spec: { group: "services.k8s.aws", names: { kind: "IAMRoleSelector" } },
};
const OTHER_BUCKET = newBucket("b3", { namespace: "team-b" });

test("IRS-34: denies the deletion of the IAMRoleSelector CRD while a selector selects resources", (t) => {
  const known = [TEAM_A, existingBucket("b1", FIRST), newBucket("b2"), OTHER_BUCKET];
  t.same(deletionFindings(SELECTORS, known), [
    "deny IRS-34 1 IAMRoleSelector would be deleted with the CustomResourceDefinition, and the controller's own role "
      + "and "
      + "account would apply to 2 resources: "
      + `Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in account ${FIRST}`,
  ]);
  const many = [TEAM_A, selectorObject("malformed", {}), ...repeat(130, newBucket)];
  t.match(deletionFindings(SELECTORS, many), [
    /^deny IRS-34 2 IAMRoleSelectors would be deleted with .* would apply to at least 20 resources: .* and others$/,
  ]);
  const elsewhere = repeat(150, (name) => newBucket(name, { namespace: "team-b" }));
  t.match(
    deletionFindings(SELECTORS, [...elsewhere, TEAM_A, newBucket("b1")]),
    [/would apply to 1 resource: Bucket team-a\/b1 in account 111122223333$/],
    "there are more resources than the scan visits between two pauses",
  );
  t.end();
});

test("IRS-34: only warns if no selector selects a resource, and ignores other CRDs", (t) => {
  const warning = "warn IRS-34 1 IAMRoleSelector would be deleted with the CustomResourceDefinition, but no selector "
    + "selects a resource now";
  t.same(deletionFindings(SELECTORS, [TEAM_A]), [warning]);
  t.same(deletionFindings(SELECTORS, [TEAM_A, newBucket("b1")], { mode: "carm" }), [warning]);
  t.same(deletionFindings(SELECTORS, [newBucket("b1")]), []);
  t.same(deletionFindings({ ...SELECTORS, spec: {} }, [TEAM_A, newBucket("b1")]), [], "a CRD without a kind");
  const fieldExport = { ...SELECTORS, spec: { group: "services.k8s.aws", names: { kind: "FieldExport" } } };
  t.same(deletionFindings(fieldExport, [TEAM_A, newBucket("b1")]), []);
  t.end();
});

test("ACK-34: denies the deletion of the CRD of an ACK kind while the cluster has resources of the kind", (t) => {
  const buckets = { ...BUCKETS };
  t.same(deletionFindings(buckets, [TEAM_A, existingBucket("b1", SECOND), newBucket("b2"), OTHER_BUCKET]), [
    "deny ACK-34 the deletion of the CustomResourceDefinition also deletes 3 resources: "
      + `Bucket team-a/b1 in account ${SECOND}, Bucket team-a/b2 in account ${FIRST} and Bucket team-b/b3`,
  ]);
  t.match(deletionFindings(buckets, repeat(120, newBucket)), [
    /^deny ACK-34 the deletion of the CustomResourceDefinition also deletes at least 20 resources: .* and others$/,
  ]);
  t.same(deletionFindings(buckets, [{ ...newBucket("r"), kind: "Object" }]), [], "another kind of the group");
  t.same(deletionFindings(buckets, []), []);
  const foreign = { ...buckets, spec: { group: "example.com", names: { kind: "Bucket" } } };
  t.same(deletionFindings(foreign, [newBucket("b1")]), [], "a kind that is not of ACK");
  t.same(checkChange(buckets, { known: [newBucket("b1")] }).findings, [], "the check allows create and update");
  t.end();
});

test("skips IRS-34 and ACK-34 if no inventory is available", (t) => {
  const object = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1alpha1", storage: true, served: true }]);
  const input = { object, old: null, operation: "DELETE", requester: null, origin: "cluster" } as const;
  t.same(runChecks(input, SETTINGS_BY_DEFAULT).findings, []);
  t.end();
});
