import { test } from "tap";
import { newSelectorsToReview } from "../../../../../shared/checks/access-reviews.ts";
import { findingLine } from "../../../../../shared/checks/check.ts";
import { runChecks } from "../../../../../shared/checks/run.ts";
import type { Access } from "../../../../../shared/contract/context.ts";
import { Inventory } from "../../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import type { Circumstances } from "../selector-changes.ts";
import { annotationLines, CARM, existingBucket, linesOf, ONE, roleIn, TWO } from "../subjects.ts";

const KEY = "ack-role-resolver.io/use-selector";
const PATH = `metadata.annotations[${KEY}]`;
const EXTENDED = { settings: { runtime: "extended" } } as const;
const use = (name: string | null): JsonObject => (name === null ? {} : { [KEY]: name });
const selector = (name: string, role: string, namespace = "team-a"): JsonObject => (
  selectorObject(name, { arn: role, namespaceSelector: { names: [namespace] } })
);
const SELECTORS = [
  selector("gold", roleIn(ONE, "gold")), selector("twin", roleIn(ONE, "gold")), selector("blue", roleIn(ONE, "blue")),
  selector("other", roleIn(TWO)), selector("elsewhere", roleIn(ONE), "team-b"), selectorObject("broken", {}),
];

test("ACK-36 warns about the annotation use-selector of a namespace if it has no effect", (t) => {
  t.match(annotationLines("ACK-36", use("gold")), [/^warn ACK-36 .*: the annotation has no effect with --runtime ack/]);
  t.match(annotationLines("ACK-36", use("gold"), { settings: CARM }), [/has no effect with --mode carm/]);
  t.same(annotationLines("ACK-36", use("gold"), EXTENDED), []);
  t.same(annotationLines("ACK-36", {}), []);
  t.end();
});

test("NS-16 warns if the annotation names a selector that selects no resource of the namespace", (t) => {
  const known = { ...EXTENDED, known: SELECTORS };
  const line = (fault: string): string[] => [
    `warn NS-16 ${PATH}: IAMRoleSelector ${fault}. Name a selector that selects the resources of the namespace, or `
    + "annotate single resources instead.",
  ];
  t.same(annotationLines("NS-16", use("gold"), known), []);
  t.same(annotationLines("NS-16", {}, known), []);
  t.same(annotationLines("NS-16", use("missing"), known), line('"missing" does not exist'));
  t.same(annotationLines("NS-16", use("broken"), known), line('"broken" is malformed'));
  const elsewhere = '"elsewhere" selects no resource in namespace team-a';
  t.same(annotationLines("NS-16", use("elsewhere"), known), line(elsewhere));
  t.same(annotationLines("NS-16", use("missing"), { known: SELECTORS }), [], "ACK-36 warns");
  t.same(annotationLines("NS-16", use("missing"), { settings: { ...CARM, runtime: "extended" } }), []);
  t.same(annotationLines("NS-16", use("missing"), EXTENDED).length, 1);
  t.same(annotationLines("NS-16", use("missing"), { ...EXTENDED, origin: "file" }), [], "manifests without selectors");
  t.end();
});

/**
 * Returns the finding lines of NS-01 if the annotation `use-selector` of namespace team-a changes. The namespace
 * contains `resources`.
 */
function changes(
  from: string | null, to: string | null, resources: readonly JsonObject[], more: Circumstances = EXTENDED,
): string[] {
  const old = namespaceObject("team-a", {}, use(from));
  return linesOf("NS-01", namespaceObject("team-a", {}, use(to)), {
    old, known: [...SELECTORS, old, ...resources], ...more,
  });
}

const FIX = `Keep the annotation ${KEY}, or first change the selectors so that each resource stays in its account.`;
const B1 = existingBucket("b1", ONE);
const line = (severity: "deny" | "warn", message: string): string => (
  `${severity} NS-01 ${PATH}: the new annotations ${message}: Bucket team-a/b1. ${FIX}`
);

test("NS-01 compares the roles before and after a change of the annotation use-selector", (t) => {
  t.same(changes("gold", "other", [B1]), [line("deny", `move 1 resource from account ${ONE} to account ${TWO}`)]);
  t.same(changes("gold", "blue", [B1]), [line("warn", "change the role of 1 resource")]);
  t.same(changes("gold", "twin", [B1]), [], "the same role");
  t.same(changes("gold", "gold", [B1]), []);
  const lost = line("deny", `leave 1 resource without a role, because ${KEY} names a selector that does not select`);
  t.same(changes("gold", "missing", [B1]), [lost]);
  t.same(changes("gold", "", [B1]), [lost]);
  const conflict = line("deny", "cause a conflict between IAMRoleSelectors (blue, gold, other, twin) for 1 resource");
  t.same(changes("gold", null, [B1]), [conflict]);
  t.same(changes(null, "gold", [B1]), [], "the conflict ends in the account of the resource");
  t.match(changes(null, "other", [B1]), [/move 1 resource from account/]);
  t.same(changes(null, "missing", [B1]), [], "the resource had no role before");
  t.same(changes("missing", null, [B1]), []);
  t.same(changes("missing", "gold", [B1]), []);
  t.match(changes("missing", "other", [B1]), [/move 1 resource from account/]);
  const unproven = bucketObject({ annotations: {} }, { status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1" } } });
  t.match(changes("missing", "other", [unproven]), [/move 1 resource from account/], "the status names no account");
  t.end();
});

test("NS-01 ignores an annotation that has no effect, and resources that have their own annotation", (t) => {
  t.same(changes("gold", "other", [B1], {}), [], "--runtime ack");
  t.same(changes("gold", "other", [B1], { settings: { ...CARM, runtime: "extended" } }), []);
  t.same(changes("gold", "other", [existingBucket("b1", ONE, { annotations: use("gold") })]), []);
  t.end();
});

test("NS-01 names the labels and the annotations if both change", (t) => {
  const old = namespaceObject("team-a", { env: "prod" }, use("gold"));
  const object = namespaceObject("team-a", { env: "dev" }, use("other"));
  t.match(linesOf("NS-01", object, { old, known: [...SELECTORS, old, B1], ...EXTENDED }), [
    /^deny NS-01 metadata: the new labels and annotations move 1 resource .* Keep the labels that selectors match and/,
  ]);
  const unlabeled = namespaceObject("team-a", {}, use("missing"));
  const known = [namespaceObject("team-a"), B1, ...SELECTORS.slice(-2)];
  t.match(linesOf("NS-01", namespaceObject("team-a"), { old: unlabeled, known: [...known, unlabeled], ...EXTENDED }), [
    /leave 1 resource of account \d+ with the controllers' own role/,
  ], "without the annotation, the controller's own role applies");
  t.end();
});

/** Returns the finding lines of NS-02 if the annotation `use-selector` of namespace team-a changes. */
function useLines(from: string | null, to: string | null, access: Readonly<Record<string, Access>>): string[] {
  const inventory = new Inventory({ runtime: "extended", origin: "cluster" });
  inventory.apply(SELECTORS.map(put));
  const [object, old] = [namespaceObject("team-a", {}, use(to)), namespaceObject("team-a", {}, use(from))];
  const { findings } = runChecks({
    object, old, requester: { username: "jane", groups: [] }, origin: "cluster", inventory,
    access: new Map(Object.entries(access)),
  }, { ...SETTINGS_BY_DEFAULT, runtime: "extended", checkSeverities: new Map([["NS-02", "deny"]]) });
  return findings.filter(({ code }) => code === "NS-02").map(findingLine);
}

test("NS-02 requires permission to use the selector that a new annotation names", (t) => {
  t.match(useLines(null, "gold", { gold: "denied" }), [
    `NS-02 ${PATH}: the requester may not use IAMRoleSelector gold, which the annotation ${KEY} names. Create a Role`,
  ]);
  t.match(useLines(null, "gold", {}), [/: the webhook could not verify .* IAMRoleSelector gold, which the a/]);
  t.same(useLines("blue", "gold", { gold: "allowed" }), []);
  t.same(useLines("gold", "gold", { gold: "denied" }), [], "the annotation is unchanged");
  t.same(useLines(null, "planned", {}).length, 1, "the selector may exist later");
  t.same(useLines(null, "not a name", {}), []);
  t.same(useLines("gold", null, {}), [], "a selector selects every resource of the namespace");
  const inventory = new Inventory({ runtime: "extended", origin: "cluster" });
  const reviewed = newSelectorsToReview(namespaceObject("team-a", {}, use("gold")), null, inventory, {
    mode: "selectors",
  });
  t.same(reviewed, ["gold"], "at CREATE");
  const [object, old] = [namespaceObject("team-a"), namespaceObject("team-a", {}, use("planned"))];
  const unselected = new Inventory({ runtime: "extended", origin: "cluster" });
  const afterRemoval = newSelectorsToReview(object, old, unselected, { mode: "selectors" });
  t.same(afterRemoval, ["ack-role-resolver:default"], "without the annotation, the role of refused resources");
  t.end();
});
