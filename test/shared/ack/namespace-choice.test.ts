import { usesOfNamespace } from "../../../shared/ack/selector-uses.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import type { Access } from "../../../shared/core/context.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  bucketObject, existingBucket, FIRST, namespaceObject, roleIn, SECOND, selectorObject,
} from "../objects.ts";
import { usedNames } from "../used-names.ts";
import { testRows } from "../rows.ts";
import { accessOf, annotationLines, type Circumstances, linesOf } from "../core/findings.ts";

const KEY = "ack-role-resolver.io/use-selector";
const PATH = `metadata.annotations[${KEY}]`;
const use = (name: string | null): JsonObject => (name === null ? {} : { [KEY]: name });
const selector = (name: string, role: string, namespace = "team-a"): JsonObject => (
  selectorObject(name, { arn: role, namespaceSelector: { names: [namespace] } })
);
const SELECTORS = [
  selector("gold", roleIn(FIRST, "gold")), selector("twin", roleIn(FIRST, "gold")),
  selector("blue", roleIn(FIRST, "blue")), selector("other", roleIn(SECOND)),
  selector("elsewhere", roleIn(FIRST), "team-b"), selectorObject("broken", {}),
];
const extended = ({ settings, ...rest }: Circumstances = {}): Circumstances =>
  ({ known: SELECTORS, ...rest, settings: { runtime: "extended", ...settings } });
const CARM = { settings: { mode: "carm" } } as const;
const SHIPPED = { settings: { runtime: "ack" } } as const;

type Named = readonly [name: string | null, circumstances?: Circumstances];
const of = (id: string) => ([name, circumstances]: Named): string[] =>
  annotationLines(id, use(name), extended(circumstances));

testRows("ACK-36 warns about the annotation use-selector of a namespace if it has no effect", of("ACK-36"), [
  ["--runtime ack", ["gold", SHIPPED], /^warn ACK-36 .*: the annotation has no effect with --runtime ack/],
  ["mode carm", ["gold", CARM], /has no effect with --mode carm/],
  ["--runtime extended", ["gold"]],
  ["no annotation", [null, SHIPPED]],
]);

const ns16 = (fault: string): string => `warn NS-16 ${PATH}: IAMRoleSelector ${fault}. Name a selector that selects `
  + `the `
  + "resources of the namespace, or annotate single resources instead.";
testRows("NS-16 warns if the annotation names a selector that selects no resource of the namespace", of("NS-16"), [
  ["a selector of the namespace", ["gold"]],
  ["no annotation", [null]],
  ["a missing selector", ["missing"], ns16('"missing" does not exist')],
  ["a malformed selector", ["broken"], ns16('"broken" is malformed')],
  ["a selector of another namespace", ["elsewhere"], ns16('"elsewhere" selects no resource in namespace team-a')],
  ["ACK-36 warns", ["missing", SHIPPED]],
  ["mode carm", ["missing", CARM]],
  ["a cluster without selectors", ["missing", { known: [] }], /^warn NS-16 /],
  ["manifests without selectors", ["missing", { known: [], origin: "file" }]],
]);

const B1 = existingBucket("b1", FIRST);
const unproven = bucketObject({ annotations: {} }, { status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1" } } });
const line = (severity: "deny" | "warn", message: string): string => (
  `${severity} NS-01 ${PATH}: the new annotations ${message}: Bucket team-a/b1. Keep the annotation ${KEY}, or first `
    + "change the selectors so that each resource stays in its account."
);
const LOST = line("deny", `leave 1 resource without a role, because ${KEY} names a selector that does not select`);
const MOVE = /move 1 resource from account/;

type Change = readonly [from: string | null, to: string | null, resource?: JsonObject, more?: Circumstances];
testRows("NS-01 compares the roles before and after a change of the annotation use-selector",
  ([from, to, resource = B1, more = {}]: Change) => {
    const old = namespaceObject("team-a", {}, use(from));
    const known = [...SELECTORS, old, resource];
    return linesOf("NS-01", namespaceObject("team-a", {}, use(to)), extended({ old, known, ...more }));
  }, [
    ["another account", ["gold", "other"], line("deny", `move 1 resource from account ${FIRST} to account ${SECOND}`)],
    ["another role of the account", ["gold", "blue"], line("warn", "change the role of 1 resource")],
    ["the same role", ["gold", "twin"]],
    ["no change", ["gold", "gold"]],
    ["a missing selector", ["gold", "missing"], LOST],
    ["an empty name", ["gold", ""], LOST],
    ["a conflict", ["gold", null],
      line("deny", "cause a conflict between IAMRoleSelectors (blue, gold, other, twin) for 1 resource")],
    ["the conflict ends in the account of the resource", [null, "gold"]],
    ["the conflict ends in another account", [null, "other"], MOVE],
    ["the resource had no role before", [null, "missing"]],
    ["a conflict instead of no role", ["missing", null]],
    ["a role instead of no role", ["missing", "gold"]],
    ["another account instead of no role", ["missing", "other"], MOVE],
    ["the status names no account", ["missing", "other", unproven], MOVE],
    ["--runtime ack", ["gold", "other", B1, SHIPPED]],
    ["mode carm", ["gold", "other", B1, CARM]],
    ["the resource has its own annotation",
      ["gold", "other", existingBucket("b1", FIRST, { annotations: use("gold") })]],
  ]);

test("NS-01 names the labels and the annotations if both change", (t) => {
  const old = namespaceObject("team-a", { env: "prod" }, use("gold"));
  const object = namespaceObject("team-a", { env: "dev" }, use("other"));
  t.match(linesOf("NS-01", object, extended({ old, known: [...SELECTORS, old, B1] })), [
    /^deny NS-01 metadata: the new labels and annotations move 1 resource .* Keep the labels that selectors match and/,
  ]);
  const unlabeled = namespaceObject("team-a", {}, use("missing"));
  const known = [namespaceObject("team-a"), B1, ...SELECTORS.slice(-2), unlabeled];
  t.match(linesOf("NS-01", namespaceObject("team-a"), extended({ old: unlabeled, known })), [
    /leave 1 resource of account \d+ with the controllers' own role/,
  ], "without the annotation, the controller's own role applies");
  t.end();
});

type Use = readonly [from: string | null, to: string | null, access: Readonly<Record<string, Access>>];
testRows("NS-02 requires permission to use the selector that a new annotation names", ([from, to, access]: Use) => (
  linesOf("NS-02", namespaceObject("team-a", {}, use(to)), extended({
    old: namespaceObject("team-a", {}, use(from)), requester: { username: "jane", groups: [] },
    access: accessOf(access), settings: { checkSeverities: new Map([["NS-02", "deny"]]) },
  }))
), [
  ["denied", [null, "gold", { gold: "denied" }], new RegExp("^deny NS-02 \\S+: the requester may not use "
    + "IAMRoleSelector "
    + `gold, which the annotation ${KEY} names\\. Create a Role`)],
  ["unknown", [null, "gold", {}], /: the webhook could not verify .* IAMRoleSelector gold, which the a/],
  ["allowed", ["blue", "gold", { gold: "allowed" }]],
  ["the annotation is unchanged", ["gold", "gold", { gold: "denied" }]],
  ["the selector may exist later", [null, "planned", {}], /IAMRoleSelector planned/],
  ["no name of a selector", [null, "not a name", {}]],
  ["a selector selects every resource of the namespace", ["gold", null, {}]],
]);

test("reviews the selector of a new annotation, and the default role if the annotation is removed", (t) => {
  const inventory = new Inventory({ runtime: "extended", origin: "cluster" }, INVENTORY_KINDS);
  const reviewed = (to: string | null, from?: string): unknown => {
    const old = from === undefined ? null : namespaceObject("team-a", {}, use(from));
    return usedNames(usesOfNamespace, [namespaceObject("team-a", {}, use(to)), old], inventory);
  };
  t.same(reviewed("gold"), ["gold"], "at CREATE");
  t.same(reviewed(null, "planned"), ["ack-role-resolver:default"]);
  t.end();
});
