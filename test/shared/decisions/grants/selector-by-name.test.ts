import { test } from "tap";
import { grantSelector } from "../../../../shared/resolution/grant-decision.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, comparable, type ComparableGrant, inventoryOf, RDS, role, S3, selector } from "./comparable-grant.ts";


const ANYWHERE = { groups: [S3], kinds: [], scope: null, settings: SETTINGS_BY_DEFAULT };

test("grants a selector by name if the selector can select a kind of the served groups", async (t) => {
  const inventory = inventoryOf([
    selectorObject("any", { arn: A, namespaceSelector: { names: ["team-b"] } }),
    selector("s3", A, { resourceTypeSelector: [{ group: RDS }, { group: S3, version: "v1alpha1", kind: "Bucket" }] }),
    selector("rds", B, { resourceTypeSelector: [{ group: RDS }] }),
  ]);
  const grant = (name: string): ComparableGrant => comparable(grantSelector(inventory, name, ANYWHERE));
  t.same(grant("any"), role(A, "any"));
  t.same(grant("s3"), role(A, "s3"));
  t.same(grant("rds"), {
    verdict: "denied",
    code: "ERR_SELECTOR_NOT_GRANTED",
    selectors: ["rds"],
    message: `This sidecar serves ${S3}, but IAMRoleSelector rds selects none of these kinds.`,
  });
  t.same(grant("x"), {
    verdict: "denied",
    code: "ERR_SELECTOR_UNKNOWN",
    selectors: [],
    message: 'IAMRoleSelector "x" does not exist. Correct the name, or create the selector.',
  });
});

test("grants a selector by name in a scope only if a resource in the scope can resolve to the selector", async (t) => {
  const objects = [
    selector("bucket", A, { resourceTypeSelector: [{ group: S3, kind: "Bucket" }] }),
    selectorObject("b-only", { arn: B, namespaceSelector: { names: ["team-b"] } }),
    selector("gold", B, {
      resourceTypeSelector: [{ group: S3, kind: "Topic" }],
      resourceLabelSelector: { matchLabels: { tier: "gold" } },
    }),
  ];
  const grant = (name: string, more: readonly JsonObject[] = []): ComparableGrant =>
    comparable(grantSelector(inventoryOf([...objects, ...more]), name, { ...ANYWHERE, scope: "team-a" }));
  t.same(grant("bucket"), role(A, "bucket"));
  t.same(grant("gold"), role(B, "gold"), "a resource can have the required labels");
  t.same(grant("b-only"), {
    verdict: "denied", code: "ERR_SELECTOR_NOT_GRANTED", selectors: ["b-only"],
    message: "No resource in namespace team-a, the scope of this sidecar, resolves to IAMRoleSelector b-only.",
  });
  t.match(
    grant("bucket", [selector("rival", B)]),
    { code: "ERR_SELECTOR_NOT_GRANTED" },
    "a selector in conflict does not resolve",
  );
});

function expressions(...matchExpressions: readonly JsonObject[]): JsonObject {
  return { resourceLabelSelector: { matchExpressions } };
}

test("with --runtime extended, finds example labels that match the expressions of a selector", async (t) => {
  const inventory = inventoryOf(
    [
      selector("in", A, expressions({ key: "tier", operator: "In", values: ["gold", "silver"] })),
      selector(
        "exists",
        B,
        expressions({ key: "team", operator: "Exists" }, { key: "tier", operator: "DoesNotExist" }),
      ),
    ],
    "extended",
  );
  t.same(comparable(grantSelector(inventory, "in", { ...ANYWHERE, scope: "team-a" })), role(A, "in"));
  t.same(comparable(grantSelector(inventory, "exists", { ...ANYWHERE, scope: "team-a" })), role(B, "exists"));
});

test("denies a selector by name if the Namespace of the scope is unknown", async (t) => {
  const named = selectorObject("named", { arn: A, namespaceSelector: { names: ["team-c"] } });
  const labeled = selectorObject("labeled", {
    arn: B,
    namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } },
  });
  const grant = (more: readonly JsonObject[]): ComparableGrant =>
    comparable(grantSelector(inventoryOf([named, labeled, ...more]), "named", { ...ANYWHERE, scope: "team-c" }));
  t.same(grant([]), {
    verdict: "denied",
    code: "ERR_NAMESPACE_UNKNOWN",
    message: 'Namespace "team-c" is not in the inventory. Create the Namespace, or correct the name.',
    selectors: [],
  });
  t.match(grant([namespaceObject("team-c", { env: "prod" })]), { code: "ERR_SELECTOR_NOT_GRANTED" });
  t.same(grant([namespaceObject("team-c")]), role(A, "named"));
});
