import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  attemptedBucket, existingBucket, FIRST, namespaceObject, newBucket, replacesMetadata, SECOND, selectorFor,
} from "../objects.ts";
import { accountLines, type Circumstances } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const KEY = "ack-role-resolver.io/use-selector";
const use = (name: string): JsonObject => ({ annotations: { [KEY]: name } });
const A = selectorFor("a", FIRST, ["team-a"]);
const B = selectorFor("b", FIRST, ["team-a"]);
const USES_A = existingBucket("b1", FIRST, use("a"));
const OTHER_BUCKET = existingBucket("b2", FIRST);

type Input = readonly [id: string, object: JsonObject, known: readonly JsonObject[], rest?: Circumstances];
/** Returns the lines of a check with --runtime extended. */
const lines = ([id, object, known, rest]: Input): string[] =>
  accountLines(id, object, { known, ...rest, settings: { runtime: "extended", ...rest?.settings } });
const DELETE = { operation: "DELETE" } as const;
const SHIPPED = { settings: { runtime: "ack" } } as const;

testRows("IRS-17 and IRS-18 allow an overlap in which each resource names one of the selectors", lines, [
  ["the resource names one", ["IRS-17", B, [A, USES_A]]],
  ["the namespace names one",
    ["IRS-17", B, [A, namespaceObject("team-a", {}, { [KEY]: "a" }), existingBucket("b1", FIRST)]]],
  ["the resource is refused before and after", ["IRS-17", B, [A, newBucket("b1", use("missing"))]]],
  ["one resource names none", ["IRS-17", B, [A, USES_A, OTHER_BUCKET]],
    /team-a\/b2 .* To keep the role of a resource, first name its selector in its annotation \S+use-selector\.$/],
  ["--runtime ack", ["IRS-17", B, [A, USES_A], SHIPPED], /^deny IRS-17 .*apply b, then delete a\.$/],
  ["IRS-18 still reports the overlap", ["IRS-18", B, [A, USES_A]],
    /resource with 1 other selector \(a\), but no resource is in conflict now/],
]);

const NARROW = selectorFor("a", FIRST, ["team-x"]);
const TWO = [A, B, USES_A, newBucket("b2", use("a")), newBucket("b3", use("b"))];
const UNCHOSEN = [A, B, existingBucket("b1", FIRST, use("b"))];
const BOTH = [A, USES_A, OTHER_BUCKET];
const NO_ROLE = "2 resources would have no role, because the annotation ack-role-resolver.io/use-selector names this "
  + "selector: Bucket team-a/b1 in account 111122223333 and Bucket team-a/b2 in account 111122223333. First change "
  + `the annotation ${KEY} of these resources or of their namespaces: name another selector that selects the `
  + "resources, or remove the annotation. Then try again.";

testRows("IRS-20 and IRS-30 deny a change after which a resource names a selector that does not select it", lines, [
  ["the update drops two resources", ["IRS-20", NARROW, TWO, { old: A }], `deny IRS-20 spec: ${NO_ROLE}`],
  ["the deletion drops two resources", ["IRS-30", A, TWO, DELETE], `deny IRS-30 metadata.name: ${NO_ROLE}`],
  ["--runtime ack: b selects all resources", ["IRS-30", A, TWO, { ...DELETE, ...SHIPPED }]],
  ["the resource uses b", ["IRS-30", A, UNCHOSEN, DELETE]],
  ["the resource uses b, after an update", ["IRS-20", NARROW, UNCHOSEN, { old: A }]],
  ["b2 falls back to the controller's role", ["IRS-30", A, BOTH, DELETE],
    /fall back to .*team-a\/b2/, /no role.*team-a\/b1/],
  ["b2 falls back after an update", ["IRS-20", NARROW, BOTH, { old: A }],
    /fall back to .*team-a\/b2/, /no role.*team-a\/b1/],
  ["the replacement does not select b1, which names the old selector",
    ["IRS-30", A, [A, selectorFor("new", FIRST, ["team-a"], replacesMetadata("a")), USES_A], DELETE], /team-a\/b1/],
  ["no controller deletes a refused resource", ["IRS-31", A, [A, USES_A], DELETE]],
]);

const OTHER = selectorFor("b", SECOND, ["team-a"]);
const planted = existingBucket("b1", FIRST, use("b"));
const unproven = { ...planted, status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1" } } };

testRows("IRS-19 denies a new selector that moves a resource which already names it to another account", lines, [
  ["the account of the status", ["IRS-19", OTHER, [A, planted]], /team-a\/b1 from account 1{4}.* to account 4{4}/],
  ["the account of the selectors", ["IRS-19", OTHER, [A, unproven]], /team-a\/b1/],
  ["the same account", ["IRS-19", OTHER, [A, attemptedBucket("b1", SECOND, use("b"))]]],
]);
