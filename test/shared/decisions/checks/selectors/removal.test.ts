import { test } from "tap";
import { runChecks } from "../../../../../shared/checks/run.ts";
import { Inventory, type InventoryChange } from "../../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import {
  attemptedBucket, existingBucket, findingLines, FIRST, newBucket, OWN, repeat, replacesMetadata, roleIn, selectorFor,
} from "../account-fixtures.ts";
import { checkChange } from "../selector-changes.ts";

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const LATER = { deletionTimestamp: "2026-11-21T00:00:00Z" };
const policy = (value: string): JsonObject => ({ annotations: { "services.k8s.aws/deletion-policy": value } });

/** Returns the finding lines for the deletion of team-a. */
function deletionLines(id: string, known: readonly JsonObject[], settings: object = {}): string[] {
  return findingLines(id, TEAM_A, { known: [TEAM_A, ...known], operation: "DELETE", settings });
}

const FALL = "would fall back to the controller's own role and account, because no other selector matches";
const REPLACE =
  "Delete the resources first, or create a replacement: a selector with another name, the spec of team-a, "
  + "a role in the same account and the annotation ack-role-resolver.io/replaces: team-a. Then retry the deletion of "
  + "team-a.";

test("IRS-30: denies the deletion of the only selector that selects a resource, and suggests a replacement", (t) => {
  t.same(
    deletionLines("IRS-30", [existingBucket("b1", FIRST), newBucket("b2"), newBucket("b3", { namespace: "team-b" })]),
    [
      `deny IRS-30 metadata.name: 2 resources ${FALL}: Bucket team-a/b1 in account ${FIRST} and Bucket team-a/b2 in `
        + `account ${FIRST}. ${REPLACE}`,
    ],
  );
  t.match(
    deletionLines("IRS-30", repeat(20, newBucket))[0],
    /^deny IRS-30 metadata.name: at least 20 resources .*, Bucket team-a\/b02 in account 111122223333 and others\. /,
  );
  t.same(deletionLines("IRS-30", [newBucket("b3", { namespace: "team-b" })]), [], "no resource is selected");
  t.same(
    deletionLines("IRS-30", [
      existingBucket("b1", FIRST),
      selectorFor("new", FIRST, ["team-a"], replacesMetadata("team-a")),
    ]),
    [],
    "another selector selects all the resources",
  );
  t.same(deletionLines("IRS-30", [existingBucket("b1", FIRST)], { mode: "carm" }), []);
  const malformed = selectorObject("team-a", { arn: "" });
  t.same(
    findingLines("IRS-30", malformed, { known: [malformed, newBucket("b1")], operation: "DELETE" }),
    [],
    "malformed",
  );
  t.end();
});

test("IRS-30: denies the deletion if the replacement selects only some of the resources", (t) => {
  const wide = selectorFor("team-a", FIRST, ["team-a", "team-b"]);
  const known = [
    wide,
    selectorFor("new", FIRST, ["team-a"], replacesMetadata("team-a")),
    newBucket("b1"),
    newBucket("b2", { namespace: "team-b" }),
  ];
  t.match(findingLines("IRS-30", wide, { known, operation: "DELETE" }), [
    /^deny IRS-30 metadata.name: 1 resource .*: Bucket team-b\/b2 in account 111122223333\./,
  ]);
  t.end();
});

test("IRS-30: denies the deletion if the resources of a selected kind are not listed", (t) => {
  const message = "the objects of Bucket.s3.services.k8s.aws and Queue.sqs.services.k8s.aws are not listed, "
    + "so the selector may select some of them";
  t.match(withUnlisted(TEAM_A), [{ code: "IRS-30", severity: "deny", waivable: true, message }]);
  const ofGroup = (group: string): JsonObject =>
    selectorObject("team-a", {
      arn: roleIn(FIRST),
      namespaceSelector: { names: ["team-a"] },
      resourceTypeSelector: [{ group, kind: "Bucket" }],
    });
  t.match(withUnlisted(ofGroup("s3.services.k8s.aws")), [
    {
      severity: "deny",
      message: "the objects of Bucket.s3.services.k8s.aws are not listed, "
        + "so the selector may select some of them",
    },
  ]);
  t.match(withUnlisted(ofGroup("")), [{ message }]);
  t.same(withUnlisted(ofGroup("sns.services.k8s.aws")), [], "the selector cannot select the unlisted kinds");
  t.same(withUnlisted(selectorObject("team-a", {})), [], "malformed");
  t.end();
});

/** Returns the findings of IRS-30 for the deletion of a selector if the inventory could not list two kinds. */
function withUnlisted(selector: JsonObject): readonly unknown[] {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const unlisted = (what: string): InventoryChange => ({ type: "unlisted", collection: "resources", item: what });
  inventory.apply([put(selector), unlisted("Queue.sqs.services.k8s.aws"), unlisted("Bucket.s3.services.k8s.aws")]);
  const { findings } = runChecks(
    { object: selector, old: null, operation: "DELETE", requester: null, origin: "cluster", inventory },
    SETTINGS_BY_DEFAULT,
  );
  return findings.filter(({ code }) => code === "IRS-30");
}

const ORPHAN = `would be deleted or orphaned with the controller's own credentials for account ${OWN}`;

test("IRS-31: denies a deletion that puts resources of another account at risk, and cannot be waived", (t) => {
  const place = (name: string, why: string): string => `Bucket team-a/${name} in account ${FIRST} (${why})`;
  const found = deletionLines("IRS-31", [
    existingBucket("b1", FIRST, LATER),
    existingBucket("b2", FIRST),
    existingBucket("b3", FIRST, policy("retain")),
    existingBucket("b4", FIRST, { ...policy("retain"), ...LATER }),
  ]);
  t.same(found, [
    `deny IRS-31 metadata.name: 3 resources ${ORPHAN}: ${place("b1", "being deleted")}, `
      + `${place("b2", "deletion policy delete")} and ${place("b4", "being deleted")}. `
      + "Create a replacement selector with a role in the same account and the annotation "
        + "ack-role-resolver.io/replaces: NAME of this selector. "
      + "Otherwise, wait until the resources that are being deleted no longer exist, "
      + "and annotate all other resources with services.k8s.aws/deletion-policy: retain.",
  ]);
  t.match(
    deletionLines("IRS-31", [attemptedBucket("b1", FIRST)]),
    [/1 resource .*deletion-policy: retain\. The status of Bucket team-a\/b1 has no ARN: if the creation failed, /],
    "ACK recorded the account of a failed attempt",
  );
  const waived = selectorFor("team-a", FIRST, ["team-a"], {
    annotations: { "ack-role-resolver.io/allow": "IRS-30,IRS-31" },
  });
  const { findings, denied } = checkChange(waived, {
    known: [waived, existingBucket("b1", FIRST)],
    operation: "DELETE",
    settings: { controllerAccount: OWN },
  });
  t.equal(denied, true);
  t.same(
    findings.map(({ code, severity, waived: is }) => [code, severity, is]),
    [
      ["IRS-30", "warn", true],
      ["IRS-31", "deny", false],
    ],
  );
  t.end();
});

test("IRS-31: ignores resources that are retained, not yet created, or in the controller's account", (t) => {
  t.same(deletionLines("IRS-31", [existingBucket("b1", FIRST, policy("retain"))]), []);
  t.same(
    deletionLines("IRS-31", [existingBucket("b1", FIRST, policy("Delete"))]),
    [],
    "controllers treat an unknown policy as retain",
  );
  t.same(deletionLines("IRS-31", [newBucket("b1")]), []);
  t.same(deletionLines("IRS-31", [existingBucket("b1", OWN)]), []);
  t.same(
    deletionLines("IRS-31", [existingBucket("b1", FIRST)], { controllerAccount: null }),
    [],
    "the controller's account is unknown",
  );
  const namespace = (value: string): JsonObject =>
    namespaceObject("team-a", {}, { "s3.services.k8s.aws/deletion-policy": value });
  t.same(
    deletionLines("IRS-31", [namespace("retain"), existingBucket("b1", FIRST)]),
    [],
    "the namespace has a deletion policy for the service",
  );
  t.equal(
    deletionLines("IRS-31", [namespace("retain"), existingBucket("b1", FIRST, policy("delete"))]).length,
    1,
    "the policy of the resource takes precedence",
  );
  t.end();
});
