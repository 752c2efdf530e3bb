import { type Test, test } from "tap";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../shared/core/grant-decision.ts";
import type { Grant } from "../../../shared/core/grant.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { TypeSet } from "../../../shared/core/resource-types.ts";
import { inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const S3 = "s3.services.k8s.aws";
const A = "arn:aws:iam::111111111111:role/a";
const COUNT = 1_000;
const kinds = (count = COUNT): JsonObject[] => Array.from({ length: count }, (_, i) => ({ group: S3, kind: `K${i}` }));
const versions = (count: number): JsonObject[] => (
  Array.from({ length: count }, (_, i) => ({ group: S3, version: `v${i + 1}` }))
);

function selector(name: string, resourceTypeSelector: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return selectorObject(name, { arn: A, namespaceSelector: { names: ["team-a"] }, resourceTypeSelector, ...more });
}

interface Counted {
  readonly grant: Grant;
  /** Counts how often a selector was compared with a type. */
  readonly comparisons: number;
}

function counted(t: Test, objects: readonly JsonObject[], decide: (inventory: Inventory) => Grant): Counted {
  const inventory = inventoryWith([namespaceObject("team-a"), ...objects], { origin: "file" });
  const { value: matches } = Object.getOwnPropertyDescriptors(TypeSet.prototype).matches;
  const calls = t.capture(TypeSet.prototype, "matches", matches);
  const grant = decide(inventory);
  const comparisons = calls().length;
  calls.restore();
  return { grant, comparisons };
}

const QUERY = { groups: [S3], kinds: [], settings: SETTINGS_BY_DEFAULT, sessionDefaults: NO_EXTRAS };
const inNamespace = (inventory: Inventory): Grant => (
  grantInNamespace(inventory, { ...QUERY, namespace: "team-a", labels: null, unmatched: "deny" })
);

test("the work to decide a grant in a namespace is linear in the number of type entries", async (t) => {
  const { grant, comparisons } = counted(t, [selector("a", kinds())], inNamespace);
  t.match(grant, { verdict: "denied", code: "ERR_SELECTOR_AMBIGUOUS" }, "no selector selects any other kind");
  t.match(grant, { message: /K0\.s3\.services\.k8s\.aws, K1\.\S+ .* and 980 more: arn:aws:iam::1/ });
  t.ok(comparisons <= COUNT + 1, `${comparisons} comparisons`);
});

test("the work to grant a role by name or ARN is linear in the number of type entries", async (t) => {
  const others = [selector("b", kinds()), selector("c", [{ group: S3 }])];
  for (const scope of [null, "team-a"]) {
    for (const objects of [[], others]) {
      const query = { ...QUERY, scope };
      const byName = counted(t, [selector("a", kinds()), ...objects], (known) => grantSelector(known, "a", query));
      const byRole = counted(t, [selector("a", kinds()), ...objects], (known) => grantRole(known, A, query));
      t.equal(byName.grant.verdict, objects.length === 0 ? "role" : "denied");
      t.ok(byName.comparisons <= 5 * COUNT, `${byName.comparisons} comparisons by name`);
      t.equal(byRole.grant.verdict, "role");
      t.ok(byRole.comparisons <= 12 * COUNT, `${byRole.comparisons} comparisons by role`);
    }
  }
});

test("denies a request without a kind if the selectors name more than 10,000 kinds and versions", async (t) => {
  const objects = [selector("a", kinds(200)), selector("b", versions(100))];
  const { grant, comparisons } = counted(t, objects, inNamespace);
  t.match(grant, {
    verdict: "denied", code: "ERR_SELECTOR_AMBIGUOUS",
    message: "The IAMRoleSelectors of namespace team-a name more than 10000 kinds and versions. Request one kind with "
      + "kind=KIND.VERSION.GROUP at /v1/credentials/namespaces/team-a, or set --kind of the sidecar.",
  });
  t.equal(comparisons, 0);
  const bucket = { kind: "K1", version: "v200", group: S3 };
  const one = counted(t, objects, (inventory) => (
    grantInNamespace(inventory, { ...QUERY, kinds: [bucket], namespace: "team-a", labels: null, unmatched: "deny" })
  ));
  t.match(one.grant, { verdict: "role", selectors: ["a"] });
});
