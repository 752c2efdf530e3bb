import { runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import {
  existingBucket, FIRST, kindObject, newBucket, repeat, SECOND, selectorFor, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";
import { testRows } from "../rows.ts";
import { checkChange } from "../core/findings.ts";

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const B1 = newBucket("b1");
const OTHER_BUCKET = newBucket("b3", { namespace: "team-b" });

type Input = readonly [definition: JsonObject, known: readonly JsonObject[], settings?: object];
/** Returns the findings for the deletion of a CustomResourceDefinition, each with its severity. */
function deletionFindings([definition, known, settings = {}]: Input): string[] {
  const { findings } = checkChange(definition, { known, operation: "DELETE", settings });
  return findings.map(({ code, severity, message }) => `${severity} ${code} ${message}`);
}

const definition = (spec: JsonObject): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
  metadata: { name: "iamroleselectors.services.k8s.aws" }, spec,
});
const SELECTORS = definition({ group: "services.k8s.aws", names: { kind: "IAMRoleSelector" } });
const deleted = (selectors: string, rest: string): string =>
  `IRS-34 ${selectors} would be deleted with the CustomResourceDefinition, ${rest}`;
const ON_DEFAULT = "and the controller's own role and account would apply to";
const WARNING = `warn ${deleted("1 IAMRoleSelector", "but no selector selects a resource now")}`;

testRows("IRS-34: denies the deletion of the IAMRoleSelector CRD while a selector selects "
  + "resources", deletionFindings, [
  ["two resources", [SELECTORS, [TEAM_A, existingBucket("b1", FIRST), newBucket("b2"), OTHER_BUCKET]],
    `deny ${deleted("1 IAMRoleSelector", `${ON_DEFAULT} 2 resources: Bucket team-a/b1 in account ${FIRST} and Bucket `
      + `team-a/b2 in account ${FIRST}`)}`],
  ["at least 20 resources", [SELECTORS, [TEAM_A, selectorObject("malformed", {}), ...repeat(130, newBucket)]],
    /^deny IRS-34 2 IAMRoleSelectors would be deleted with .* would apply to at least 20 resources: .* and others$/],
  ["more resources than the scan visits between two pauses",
    [SELECTORS, [...repeat(150, (name) => newBucket(name, { namespace: "team-b" })), TEAM_A, B1]],
    /would apply to 1 resource: Bucket team-a\/b1 in account 111122223333$/],
  ["no selector selects a resource", [SELECTORS, [TEAM_A]], WARNING],
  ["mode carm", [SELECTORS, [TEAM_A, B1], { mode: "carm" }], WARNING],
  ["no selector", [SELECTORS, [B1]]],
  ["a CRD without a kind", [definition({}), [TEAM_A, B1]]],
  ["another kind", [definition({ group: "services.k8s.aws", names: { kind: "FieldExport" } }), [TEAM_A, B1]]],
]);

const BUCKETS = { ...ACK_CRDS[0] };
const ACK_34 = "deny ACK-34 the deletion of the CustomResourceDefinition also deletes";
testRows("ACK-34: denies the deletion of the CRD of an ACK kind while the cluster has resources of the kind",
  deletionFindings, [
    ["three resources", [BUCKETS, [TEAM_A, existingBucket("b1", SECOND), newBucket("b2"), OTHER_BUCKET]],
      `${ACK_34} 3 resources: Bucket team-a/b1 in account ${SECOND}, Bucket team-a/b2 in account ${FIRST} and `
        + "Bucket team-b/b3"],
    ["at least 20 resources", [BUCKETS, repeat(120, newBucket)],
      new RegExp(`^${ACK_34} at least 20 resources: .* and others$`)],
    ["another kind of the group", [BUCKETS, [{ ...newBucket("r"), kind: "Object" }]]],
    ["no resource", [BUCKETS, []]],
    ["a kind that is not of ACK",
      [{ ...BUCKETS, spec: { group: "example.com", names: { kind: "Bucket" } } }, [B1]]],
  ]);

test("ACK-34 allows create and update, and is skipped if no inventory is available", (t) => {
  t.same(checkChange(BUCKETS, { known: [B1] }).findings, []);
  const object = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1alpha1", storage: true, served: true }]);
  const input = { object, old: null, operation: "DELETE", requester: null, origin: "cluster" } as const;
  t.same(runChecks(input, SETTINGS_BY_DEFAULT).findings, []);
  t.end();
});
