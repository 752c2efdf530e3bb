import { test } from "tap";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { selectorGrantOfRole } from "../../../shared/ack/grant-by-selector.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../shared/core/grant-decision.ts";
import type { Grant } from "../../../shared/core/grant.ts";
import { Steps, withinSteps } from "../../../shared/ack/grant-types.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { inventoryWith, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const S3 = "s3.services.k8s.aws";
const A = "arn:aws:iam::111111111111:role/a";
const COUNT = 3_000;
const QUERY = { groups: [S3], kinds: [], settings: SETTINGS_BY_DEFAULT, sessionDefaults: NO_EXTRAS };

function many(count: number, specOf: (i: number) => JsonObject = () => ({})): JsonObject[] {
  return Array.from({ length: count }, (_, i) => (
    selectorObject(`s${i}`, { arn: A, namespaceSelector: { names: ["team-a"] }, ...specOf(i) })
  ));
}

class CountingSteps extends Steps {
  taken = 0;

  override take(number = 1): void {
    this.taken += number;
    super.take(number);
  }
}

function inventoryOf(objects: readonly JsonObject[]): Inventory {
  return inventoryWith([namespaceObject("team-a"), ...objects], { origin: "file" });
}

const SCOPED = { ...QUERY, scope: "team-a" };
const inScope = (inventory: Inventory): Grant => grantRole(inventory, A, SCOPED);
const inNamespace = (inventory: Inventory): Grant => (
  grantInNamespace(inventory, { ...QUERY, namespace: "team-a", labels: null, unmatched: "deny" })
);

test("the work to deny a role is linear in the number of conflicting selectors", async (t) => {
  const everything = many(2).map((object, i) => ({ ...object, metadata: { name: `all${i}` } }));
  for (const objects of [
    many(COUNT),
    [...many(COUNT, (i) => ({ resourceLabelSelector: { matchLabels: { app: `a${i}` } } })), ...everything],
    [...many(COUNT, (i) => ({ resourceLabelSelector: { matchLabels: { app: "a", id: `${i}` } } })), ...everything],
    [...many(COUNT, (i) => ({ resourceTypeSelector: [{ group: S3, kind: `K${i}` }] })), ...everything],
  ]) {
    for (const scope of ["team-a", null]) {
      const steps = new CountingSteps();
      const grant = selectorGrantOfRole(inventoryOf(objects), A, { ...QUERY, scope }, steps);
      t.match(grant, { verdict: "denied", code: "ERR_SELECTOR_NOT_GRANTED" });
      t.ok(steps.taken > COUNT && steps.taken <= 20 * COUNT, `${steps.taken} steps`);
    }
  }
});

test("other selectors add few steps if they require other labels, however many kinds they name", async (t) => {
  const wide = (namespaceSelector?: JsonObject): JsonObject[] => Array.from({ length: 100 }, (_, i) => (
    selectorObject(`wide${i}`, {
      arn: `${A}${i}`, ...(namespaceSelector && { namespaceSelector }),
      resourceLabelSelector: { matchLabels: { app: `a${i}` } },
      resourceTypeSelector: Array.from({ length: 1_000 }, (__, j) => ({ group: S3, kind: `K${j}` })),
    })
  ));
  for (const objects of [wide(), wide({ names: ["team-a"] })]) {
    const steps = new CountingSteps();
    const grant = selectorGrantOfRole(inventoryOf([...many(1), ...objects]), A, { ...QUERY, scope: null }, steps);
    t.match(grant, { verdict: "role", selectors: ["s0"] });
    t.ok(steps.taken < 20, `${steps.taken} steps`);
  }
});

test("grants a role if only the selector whose name sorts last can be resolved", async (t) => {
  const labelled = many(COUNT, (i) => (
    { resourceLabelSelector: { matchLabels: i === 999 ? { app: "free" } : { app: "taken" } } }
  ));
  t.match(inScope(inventoryOf(labelled)), { verdict: "role", selectors: ["s999"] });
});

test("denies a request whose decision takes more steps than the limit", async (t) => {
  const wide = many(100, (i) => (
    { resourceTypeSelector: Array.from({ length: 1_000 }, (_, j) => ({ group: S3, kind: `K${i}.${j}` })) }
  ));
  const names = Array.from({ length: 1_000 }, (_, i) => `missing-${i}`);
  const absent = inventoryOf(many(101, () => ({ namespaceSelector: { names } })));
  const conflicting = inventoryOf([
    ...Array.from({ length: 40_000 }, (_, i) => namespaceObject(`n${i}`, { env: "prod" })),
    selectorObject("s0", { arn: A, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } }),
    selectorObject("s1", { arn: `${A}1`, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } }),
  ]);
  const anywhere = { ...QUERY, scope: null };
  for (const grant of [
    inNamespace(inventoryOf(wide)), grantRole(absent, A, anywhere), grantRole(conflicting, A, anywhere),
    grantSelector(conflicting, "s0", anywhere),
  ]) {
    t.match(grant, { verdict: "denied", code: "ERR_SELECTOR_AMBIGUOUS", message: /takes more than 100000 steps/ });
  }
});

test("does not convert other errors to a denial for too many steps", async (t) => {
  t.throws(() => withinSteps(() => { throw new RangeError("other"); }), { name: "RangeError" });
});

test("lists at most 20 selectors in a message", async (t) => {
  const read = many(COUNT, (i) => ({ resourceLabelSelector: { matchLabels: { app: `a${i}` } } }));
  const kinds = many(COUNT, (i) => ({ arn: `${A}${i}`, resourceTypeSelector: [{ group: S3, kind: `K${i}` }] }));
  const rds = many(COUNT, () => ({ resourceTypeSelector: [{ group: "rds.services.k8s.aws" }] }));
  const sessions = many(COUNT, (i) => ({ resourceTypeSelector: [{ group: S3, kind: `K${i}` }] })).map((object, i) => (
    { ...object, metadata: { name: `s${i}`, annotations: { "ack-role-resolver.io/session-name": `name${i}` } } }
  ));
  const anywhere = (inventory: Inventory): Grant => grantRole(inventory, A, { ...QUERY, scope: null });
  for (const [objects, decide, message] of [
    [many(COUNT), inNamespace, /\[s0, s1, s10, .* and 2980 more\]/],
    [read, inNamespace, /read labels: \[s0, s1, s10, .* and 2980 more\]/],
    [kinds, inNamespace, /role depends on the kind \(K0\..* and 2981 more\)/],
    [rds, anywhere, /Selectors with this role: s0, s1, s10, .* and 2980 more\. /],
    [sessions, anywhere, /^IAMRoleSelectors s0, s1, s10 and 2997 more set different/],
  ] as const) {
    const grant = decide(inventoryOf(objects));
    if (grant.verdict !== "denied") throw new Error(grant.verdict);
    t.match(grant.message, message);
    t.ok(grant.message.length < 3_000, `${grant.message.length} characters`);
    t.equal(grant.selectors.length, 20);
  }
});
