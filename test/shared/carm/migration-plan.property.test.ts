import { runChecks } from "../../../shared/judges.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { objectReference } from "../../../shared/formats/object-meta.ts";
import type { ProvedMigration } from "../../../shared/carm/migration-plan.ts";
import { inventoryWith, kindObject, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";
import {
  asModel, modelAfter, modelBefore, modelIsRole, type ModelNamespace, type ModelResource, type ModelWorld,
} from "../carm-model.ts";
import { mapObject, migrated } from "./carm-objects.ts";

// Generators use small alphabets, so that keys, services and annotations often match. Each alphabet has valid and
// almost valid values.
const KEYS = ["111122223333", "444455556666", "blue", "Blue", "team.a", "account-111122223333", "_x"] as const;
const SERVICES = ["s3", "sqs", "rds", "newservice"] as const;
/** The service of a group that no list contains, so that the migration must report the group as not covered. */
const UNKNOWN_SERVICE = "notyet";
const KINDS = ["Bucket", "Queue", "Anything"] as const;
const NAMESPACES = ["a", "b", "c", "d", "kube-system", "Not_A_Name"] as const;
const ROLES = [
  "arn:aws:iam::111122223333:role/a",
  "arn:aws:iam::444455556666:role/b",
  "arn:aws:iam::444455556666:role/path/c",
] as const;
const FAULTY = ["", "not-an-arn", "arn:aws:iam::111122223333:root", "arn:aws:iam::111122223333:role/a "] as const;

const value = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom<string>(...ROLES) },
  { weight: 1, arbitrary: fc.constantFrom<string>(...FAULTY) },
);
const mapKey = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(...KEYS) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...SERVICES, UNKNOWN_SERVICE), fc.constantFrom(...KEYS))
      .map((parts) => parts.join(".")),
  },
);
const map = fc.option(
  fc
    .array(fc.tuple(mapKey, value), { minLength: 6, maxLength: 24, size: "max" })
    .map((pairs): Record<string, string> => Object.fromEntries(pairs)),
  { freq: 12 },
);
const annotation = fc.oneof(fc.constant(""), fc.constantFrom<string>(...KEYS));
const namespace: fc.Arbitrary<ModelNamespace> = fc.record({
  name: fc.constantFrom(...NAMESPACES),
  owner: annotation,
  team: annotation,
  ownerTeam: annotation,
});
const resource: fc.Arbitrary<ModelResource> = fc.record({
  namespace: fc.constantFrom(...NAMESPACES, "not-in-the-input"),
  service: fc.constantFrom(...SERVICES),
  kind: fc.constantFrom(...KINDS),
  name: fc.constantFrom("r1", "r2"),
  account: fc.option(fc.constantFrom("111122223333", "444455556666", "777788889999")),
});
const world: fc.Arbitrary<ModelWorld> = fc.record({
  accounts: map, teams: map,
  namespaces: fc.uniqueArray(namespace, { selector: ({ name }) => name, maxLength: 6, size: "max" }),
  resources: fc.uniqueArray(resource, { selector: (one) => JSON.stringify({ ...one, account: 0 }), maxLength: 8 }),
  gates: fc.record({ team: fc.boolean(), service: fc.boolean() }),
  controllerAccount: fc.option(fc.constant("777788889999")),
  runtime: fc.constantFrom("ack", "extended"),
});

function objectsOf({ accounts, teams, namespaces, resources }: ModelWorld): JsonObject[] {
  const annotations = ({ owner, team, ownerTeam }: ModelNamespace): JsonObject => ({
    "services.k8s.aws/owner-account-id": owner,
    "services.k8s.aws/team-id": team,
    "services.k8s.aws/owner-team-id": ownerTeam,
  });
  return [
    ...(accounts === null ? [] : [mapObject("account", accounts)]),
    ...(teams === null ? [] : [mapObject("team", teams)]),
    ...namespaces.map((one) => namespaceObject(one.name, {}, annotations(one))),
    ...resources.map(({ namespace: where, service, kind, name, account }) => ({
      apiVersion: `${service}.services.k8s.aws/v1alpha1`,
      kind,
      metadata: { namespace: where, name },
      ...(account === null ? {} : { status: { ackResourceMetadata: { ownerAccountID: account } } }),
    })),
    kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1alpha1", served: true, storage: true }]),
    selectorObject("blue", {
      arn: "arn:aws:iam::999900001111:role/other",
      namespaceSelector: { names: ["elsewhere"] },
    }),
  ];
}

/**
 * Counts the generated cases of each type. If no case had a fault in the maps, the test would prove nothing about
 * faults.
 */
const cases = new Map<string, number>();

function assertMigration(given: ModelWorld): void {
  const settings = {
    teamLevelCARM: given.gates.team,
    serviceLevelCARM: given.gates.service,
    controllerAccount: given.controllerAccount,
    runtime: given.runtime,
  };
  const migration = migrated(objectsOf(given), settings, ["newservice.services.k8s.aws"]);
  const selectors = asModel(migration.selectors);
  for (const { name } of [...given.namespaces, { name: "nowhere" }])
    for (const service of SERVICES) assertPair(given, migration, { namespace: name, service });
  for (const one of given.resources) {
    const differs = modelBefore(given, one) !== modelAfter(selectors, one);
    const isReported = migration.proof.differences.some(({ resources }) => resources.some((found) => (
      found.namespace === one.namespace && found.kind === one.kind && found.name === one.name
      && found.apiVersion === `${one.service}.services.k8s.aws/v1alpha1`
    )));
    assert.equal(isReported, differs, JSON.stringify(one));
    count(differs ? "resource differs" : "resource stays");
  }
  assertLint(migration.selectors, given);
  assertLater(given, migration);
}

/**
 * Asserts that, for each pair of namespace and group, every kind keeps its role or is reported, and that no selectors
 * conflict.
 */
function assertPair(
  given: ModelWorld,
  { proof, selectors }: ProvedMigration,
  { namespace: where, service }: { readonly namespace: string; readonly service: string },
): void {
  const before = modelBefore(given, { namespace: where, service, account: null });
  const after = KINDS.map((kind) => modelAfter(asModel(selectors), { namespace: where, service, kind }));
  assert.ok(!after.includes("conflict"));
  const found = proof.differences.filter(
    (one) =>
      one.namespace === where && (one.groups.includes("*") || one.groups.includes(`${service}.services.k8s.aws`)),
  );
  assert.equal(
    found.length,
    after.some((role) => role !== before) ? 1 : 0,
    `${where} ${service}: ${before}, ${after.join()}`,
  );
  if (before === "default" || (modelIsRole(before) && where !== "Not_A_Name"))
    assert.equal(found.length, 0, `${where} ${service}: selectors can express it`);
  if (found.length === 0) count(before === "default" ? "stays default" : "stays selected");
  else count(before === "refused" ? "was stopped" : "was no role");
}

/** Asserts that an unknown group keeps its role, or that the migration reports the group or its namespace. */
function assertLater(given: ModelWorld, { proof, selectors, inexpressible }: ProvedMigration): void {
  for (const { name } of given.namespaces) {
    const query = { namespace: name, service: "unknown-service", kind: "Anything" };
    if (modelBefore(given, { ...query, account: null }) === modelAfter(asModel(selectors), query)) continue;
    const isReported =
      proof.unknownGroups.includes(name) &&
      inexpressible.some(({ subject }) => subject.startsWith("ACK groups that are not installed"));
    assert.ok(isReported || proof.differences.some((one) => one.namespace === name && one.groups.length > 0), name);
    count(isReported ? "later group is reported" : "later group differs like others");
  }
}

/** Asserts that the webhook accepts the selectors, and that their names are unique. */
function assertLint(selectors: readonly JsonObject[], { runtime, namespaces }: ModelWorld): void {
  const existing = namespaces.filter(({ name }) => name !== "Not_A_Name").map(({ name }) => namespaceObject(name));
  const inventory = inventoryWith([...existing, ...selectors], { runtime });
  assert.deepEqual(
    [inventory.of(SELECTORS).size, inventory.of(SELECTORS).faulty.size],
    [selectors.length, 0],
    "names are unique and no selector is faulty",
  );
  for (const object of selectors) {
    const { name } = objectReference(object);
    const { findings } = runChecks(
      { object, old: null, requester: null, origin: "cluster", inventory },
      { ...SETTINGS_BY_DEFAULT, runtime },
    );
    assert.deepEqual(findings.filter(({ severity }) => severity === "deny"), []);
    assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    assert.notEqual(name, "blue", "a stored selector with another role has this name");
    count("selector");
  }
}

function count(what: string): void {
  cases.set(what, (cases.get(what) ?? 0) + 1);
}

test("the migration reports each role that changes, and the generated selectors never conflict", (t) => {
  fc.assert(fc.property(world, assertMigration), parameters(t, 1500));
  t.comment(`cases: ${[...cases].map(([what, times]) => `${what} ${times}`).join(", ")}`);
  for (const what of [
    "resource differs",
    "resource stays",
    "stays default",
    "stays selected",
    "was stopped",
    "was no role",
    "later group is reported",
    "selector",
  ]) {
    t.ok((cases.get(what) ?? 0) > 100, `${what} is frequent: ${cases.get(what)}`);
  }
  t.end();
});
