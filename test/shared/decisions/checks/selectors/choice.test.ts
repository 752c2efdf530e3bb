import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import { namespaceObject } from "../../objects.ts";
import {
  attemptedBucket, existingBucket, findingLines, FIRST, newBucket, replacesMetadata, SECOND, selectorFor,
} from "../account-fixtures.ts";
import type { Circumstances } from "../selector-changes.ts";

const KEY = "ack-role-resolver.io/use-selector";
const use = (name: string): JsonObject => ({ annotations: { [KEY]: name } });
const A = selectorFor("a", FIRST, ["team-a"]);
const B = selectorFor("b", FIRST, ["team-a"]);
const NARROW = selectorFor("a", FIRST, ["team-x"]);

/** Returns the finding lines of a check with --runtime extended. */
function lines(id: string, object: JsonObject, { settings, ...rest }: Circumstances): string[] {
  return findingLines(id, object, { ...rest, settings: { runtime: "extended", ...settings } });
}

test("IRS-17 allows an overlap if each resource names one of the selectors", (t) => {
  const chosen = existingBucket("b1", FIRST, use("a"));
  t.same(lines("IRS-17", B, { known: [A, chosen] }), []);
  const inNamespace = namespaceObject("team-a", {}, { [KEY]: "a" });
  t.same(lines("IRS-17", B, { known: [A, inNamespace, existingBucket("b1", FIRST)] }), []);
  t.same(lines("IRS-17", B, { known: [A, newBucket("b1", use("missing"))] }), [], "refused before and after");
  t.match(lines("IRS-17", B, { known: [A, chosen, existingBucket("b2", FIRST)] }), [
    new RegExp(`team-a/b2 .* To keep the role of a resource, first name its selector in its annotation ${KEY}\\.$`),
  ]);
  const shipped = findingLines("IRS-17", B, { known: [A, chosen] });
  t.match(shipped, [/^deny IRS-17 .*apply b, then delete a\.$/], "--runtime ack");
  t.end();
});

test("IRS-18 reports an overlap even if each selected resource names one of the selectors", (t) => {
  const known = [A, existingBucket("b1", FIRST, use("a"))];
  t.match(lines("IRS-18", B, { known }), [/resource with 1 other selector \(a\), but no resource is in conflict now/]);
  t.end();
});

test("IRS-20 and IRS-30 deny a change after which a resource names a selector that does not select it", (t) => {
  const known = [A, B, existingBucket("b1", FIRST, use("a")), newBucket("b2", use("a")), newBucket("b3", use("b"))];
  const message = "2 resources would have no role, because the annotation ack-role-resolver.io/use-selector names this "
    + "selector: Bucket team-a/b1 in account 111122223333 and Bucket team-a/b2 in account 111122223333. First change "
    + `the annotation ${KEY} of these resources or of their namespaces: name another selector that selects the `
    + "resources, or remove the annotation. Then try again.";
  t.same(lines("IRS-20", NARROW, { known, old: A }), [`deny IRS-20 spec: ${message}`]);
  t.same(lines("IRS-30", A, { known, operation: "DELETE" }), [`deny IRS-30 metadata.name: ${message}`]);
  t.same(findingLines("IRS-30", A, { known, operation: "DELETE" }), [], "--runtime ack: b selects all resources");
  const unchosen = [A, B, existingBucket("b1", FIRST, use("b"))];
  t.same(lines("IRS-30", A, { known: unchosen, operation: "DELETE" }), [], "the resource uses b");
  t.same(lines("IRS-20", NARROW, { known: unchosen, old: A }), []);
  const both = [A, existingBucket("b1", FIRST, use("a")), existingBucket("b2", FIRST)];
  t.equal(lines("IRS-30", A, { known: both, operation: "DELETE" }).length, 2, "b2 falls back to the controller's role");
  t.equal(lines("IRS-20", NARROW, { known: both, old: A }).length, 2);
  const replacing = selectorFor("new", FIRST, ["team-a"], replacesMetadata("a"));
  const replaced = [A, replacing, existingBucket("b1", FIRST, use("a"))];
  t.equal(lines("IRS-30", A, { known: replaced, operation: "DELETE" }).length, 1, "b1 names the old selector");
  const refused = both.slice(0, 2);
  t.same(lines("IRS-31", A, { known: refused, operation: "DELETE" }), [], "no controller deletes a refused resource");
  t.end();
});

test("IRS-19 denies a new selector that moves a resource which already names it to another account", (t) => {
  const other = selectorFor("b", SECOND, ["team-a"]);
  const planted = (name: string): JsonObject => existingBucket(name, FIRST, use("b"));
  t.match(lines("IRS-19", other, { known: [A, planted("b1")] }), [/team-a\/b1 from account 1{4}.* to account 4{4}/]);
  const unproven = { ...planted("b1"), status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1" } } };
  t.equal(lines("IRS-19", other, { known: [A, unproven] }).length, 1, "the selectors show the account");
  t.same(lines("IRS-19", other, { known: [A, attemptedBucket("b1", SECOND, use("b"))] }), []);
  t.end();
});
