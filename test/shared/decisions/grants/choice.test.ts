import { test } from "tap";
import { grantInNamespace, grantRole, grantSelector } from "../../../../shared/resolution/grant-decision.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, comparable, type ComparableGrant, inventoryOf, RDS, role, S3, selector } from "./comparable-grant.ts";

const KEY = "ack-role-resolver.io/use-selector";
const SETTINGS = { ...SETTINGS_BY_DEFAULT, runtime: "extended" } as const;
const BUCKET = { group: S3, version: "v1alpha1", kind: "Bucket" };
const BOTH = [selector("a", A), selector("b", B)];
const labeled = selector("gold", A, { resourceLabelSelector: { matchLabels: { tier: "gold" } } });

/** Returns the grant for a Bucket in namespace team-a, whose annotation names the selector. */
function grantFor(
  name: string, objects: readonly JsonObject[], labels: ReadonlyMap<string, string> | null = null, kinds = [BUCKET],
): ComparableGrant {
  const inventory = inventoryOf([...objects, namespaceObject("team-a", {}, { [KEY]: name })], "extended");
  const query = { namespace: "team-a", groups: [S3], kinds, labels, unmatched: "base", settings: SETTINGS } as const;
  return comparable(grantInNamespace(inventory, query));
}

test("grants the role of the selector that the annotation of the namespace names", (t) => {
  t.same(grantFor("a", BOTH), role(A, "a"));
  t.same(grantFor("b", BOTH), role(B, "b"));
  t.same(grantFor("b", BOTH, null, []), role(B, "b"), "every kind resolves to the same selector");
  const buckets = selector("buckets", B, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] });
  t.same(grantFor("buckets", [BOTH[0] ?? {}, buckets]), role(B, "buckets"));
  t.match(grantFor("buckets", [BOTH[0] ?? {}, buckets], null, []), { code: "ERR_SELECTOR_AMBIGUOUS" }, "other kinds");
  t.end();
});

test("denies a request, and grants no other role, if the annotation names a missing or malformed selector", (t) => {
  t.same(grantFor("missing", [selector("a", A)]), {
    verdict: "denied", code: "ERR_SELECTOR_CHOICE", selectors: ["a"],
    message: `The annotation ${KEY} of the namespace names IAMRoleSelector "missing", which does not exist. `
      + "a selects the resource.",
  });
  t.match(grantFor("missing", []), { code: "ERR_SELECTOR_CHOICE", selectors: [] });
  t.match(grantFor("", BOTH), { code: "ERR_SELECTOR_CHOICE" });
  const faulty = selectorObject("user", { arn: "arn:aws:iam::111111111111:user/jane" });
  t.match(grantFor("user", [...BOTH, faulty]), { code: "ERR_SELECTOR_CHOICE", message: /which is malformed/ });
  t.end();
});

test("requires labels if the named selector reads labels", (t) => {
  const objects = [labeled, selector("b", B)];
  t.match(grantFor("gold", objects), { code: "ERR_SELECTOR_AMBIGUOUS", selectors: ["gold"] });
  t.same(grantFor("gold", objects, new Map([["tier", "gold"]])), role(A, "gold"));
  t.match(grantFor("gold", objects, new Map()), { code: "ERR_SELECTOR_CHOICE" });
  t.same(grantFor("b", objects), role(B, "b"), "b selects whatever the labels are");
  t.match(grantFor("missing", objects), { code: "ERR_SELECTOR_CHOICE" });
  t.end();
});

test("with a scope, grants the role of each overlapping selector that a resource in the scope can name", (t) => {
  const objects = [...BOTH, selectorObject("c", { arn: B, namespaceSelector: { names: ["team-b"] } })];
  const rds = selector("rds", B, { resourceTypeSelector: [{ group: RDS }] });
  const unsatisfiable = selector("never", B, { resourceLabelSelector: {
    matchLabels: { x: "1" }, matchExpressions: [{ key: "x", operator: "DoesNotExist" }],
  } });
  const query = { groups: [S3], kinds: [], scope: "team-a", settings: SETTINGS };
  const inventory = inventoryOf([...objects, rds, unsatisfiable], "extended");
  t.match(grantSelector(inventory, "a", query), { verdict: "role", roleARN: A });
  t.match(grantSelector(inventory, "b", query), { verdict: "role", roleARN: B });
  t.match(grantRole(inventory, B, query), { verdict: "role", selectors: ["b"] });
  for (const name of ["c", "rds", "never"]) {
    t.match(grantSelector(inventory, name, query), { code: "ERR_SELECTOR_NOT_GRANTED" }, name);
  }
  const shipped = { ...query, settings: SETTINGS_BY_DEFAULT };
  t.match(grantSelector(inventoryOf(objects), "a", shipped), { code: "ERR_SELECTOR_NOT_GRANTED" }, "--runtime ack");
  t.end();
});
