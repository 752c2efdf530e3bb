import { resolve } from "../../../shared/core/resolve.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";

// Compares the grants of a sidecar with `resolve`: a role must be granted exactly if some resource in an existing
// namespace, or in the namespace of --scope-namespace, can resolve to it. A grant to no resource is a security fault; a
// denial of a role to which a resource resolves is an outage.
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { grantInNamespace, grantRole, grantSelector } from "../../../shared/core/grant-decision.ts";
import type { Grant, RoleQuery } from "../../../shared/core/grant.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { ResourceQuery } from "../../../shared/core/ack-resource.ts";
import type { KindArgument } from "../../../shared/core/ack-groups.ts";
import {
  choice, GROUPS, KINDS, labels, NAMESPACES, SELECTOR_NAMES, sessionSettings, spec, VERSIONS,
} from "../arbitraries.ts";
import { inventoryWith, kindObject, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

const ROLES = [
  "arn:aws:iam::111122223333:role/one", "arn:aws-cn:iam::444455556666:role/a/b/two", "arn:aws:iam::111122223333:role/x",
] as const;
const [S3] = GROUPS;
const BUCKET = { kind: "Bucket", version: null, group: null };
/** Values of --kind. */
const KIND_SCOPES: readonly (readonly KindArgument[])[] = [
  [], [BUCKET], [{ ...BUCKET, group: S3 }], [{ ...BUCKET, version: "v1" }, { kind: "Topic", version: null, group: S3 }],
];

const worlds = fc.record({
  runtime: fc.constantFrom("ack" as const, "extended" as const),
  origin: fc.constantFrom("file" as const, "cluster" as const),
  // The last namespace of the alphabet never exists.
  namespaces: fc.uniqueArray(
    fc.record({ name: fc.constantFrom(...NAMESPACES.slice(0, 3)), labels, annotations: choice }),
    { maxLength: 3, selector: ({ name }) => name, size: "max" },
  ),
  selectors: fc.uniqueArray(
    fc.record({ name: fc.constantFrom(...SELECTOR_NAMES), stored: spec, annotations: sessionSettings }),
    { minLength: 1, maxLength: 6, selector: ({ name }) => name, size: "max" },
  ),
  /** The storage version of a Bucket; null if its CustomResourceDefinition is unknown. */
  storage: fc.option(fc.constantFrom(...VERSIONS), { freq: 2 }),
  groups: fc.subarray([...GROUPS], { minLength: 1 }),
  /** The namespace of --scope-namespace. */
  scope: fc.option(fc.constantFrom(...NAMESPACES.slice(0, 3)), { freq: 2 }),
});
type World = typeof worlds extends fc.Arbitrary<infer Value> ? Value : never;

function inventoryOf({ runtime, origin, namespaces, selectors, storage }: World): Inventory {
  const objects = [
    ...namespaces.map((one) => namespaceObject(one.name, one.labels, one.annotations)),
    ...selectors.map(({ name, stored, annotations }) => selectorObject(name, stored, { annotations })),
    ...(storage === null ? [] : [kindObject("Bucket", S3, [{ name: storage, storage: true, served: true }])]),
  ];
  return inventoryWith(objects, { runtime, origin });
}

type Labels = ReadonlyMap<string, string>;

/**
 * Returns label sets for each combination of the requirements of the selectors: each key that a selector reads is
 * missing, has a value that a selector names, or has another value.
 */
function labelSets(inventory: Inventory): Labels[] {
  const values = new Map<string, Set<string>>();
  for (const { resourceLabels } of inventory.of(SELECTORS).values()) {
    const expressions = (resourceLabels?.matchExpressions ?? []).map((one) => [one.key, one.values] as const);
    const equal = (resourceLabels?.matchLabels ?? []).map(([key, value]) => [key, [value]] as const);
    for (const [key, named] of [...equal, ...expressions]) {
      values.set(key, new Set([...values.get(key) ?? ["other"], ...named]));
    }
  }
  const none: Labels[] = [new Map()];
  return Array.from(values).reduce((sets, [key, all]) => (
    sets.flatMap((set) => [set, ...Array.from(all, (value) => new Map([...set, [key, value]]))])
  ), none);
}

interface Type {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Returns the types that the sidecar serves, including a kind and a version that no selector names. */
function servedTypes({ groups, origin, storage }: World, kinds: readonly KindArgument[]): Type[] {
  // The definition of a Bucket is the only one of the cluster, and decides for the kinds of its group alone.
  const exists = ({ group, kind }: Type): boolean => (
    origin === "file" || storage === null || group !== S3 || kind === "Bucket"
  );
  const all = kinds.length > 0 ? kinds : [...KINDS, "Other"].map((kind) => ({ kind, version: null, group: null }));
  const ofGroups = groups.flatMap((group) => (
    all.filter((one) => one.group === null || one.group === group).map((one) => ({ ...one, group }))
  ));
  return ofGroups.flatMap(({ version, ...one }) => (
    (version === null ? [...VERSIONS, "v9"] : [version]).map((each) => ({ ...one, version: each }))
  )).filter(exists);
}

/**
 * Returns the existing namespaces in the scope. Manifests without a Namespace do not define which ones exist, but a
 * scope must be the name of a Namespace.
 */
function existing({ origin, namespaces, scope }: World): readonly string[] {
  if (origin === "file" && namespaces.length === 0 && scope === null) return [...NAMESPACES, "other"];
  return namespaces.map(({ name }) => name).filter((name) => scope === null || name === scope);
}

/** Yields every resource in the namespaces that a requirement of a selector can distinguish, with each choice. */
function* resourcesOf(inventory: Inventory, world: World, kinds: readonly KindArgument[]): Iterable<ResourceQuery> {
  // With --runtime extended, the annotation of a resource can name each selector that selects the resource.
  const names = world.runtime === "extended" ? world.selectors.map(({ name }) => name) : [""];
  const choices = names.map((name) => new Map([["ack-role-resolver.io/use-selector", name]]));
  const types = servedTypes(world, kinds);
  const hypothetical = { name: null, status: { ownerAccountID: null, region: null } };
  for (const set of labelSets(inventory)) {
    for (const namespace of existing(world)) {
      const base = { ...hypothetical, namespace, labels: set };
      yield* types.flatMap((type) => choices.map((annotations) => ({ ...base, ...type, annotations })));
    }
  }
}

/** Returns the names of the selectors to which some resource resolves. */
function resolvable(inventory: Inventory, world: World, query: RoleQuery): Set<string> {
  const found = new Set<string>();
  for (const resource of resourcesOf(inventory, world, query.kinds)) {
    const { outcome, selectors: [selected] } = resolve(inventory, resource, query.settings);
    if (outcome === "selected" && selected !== undefined) found.add(selected.name);
  }
  return found;
}

const counts = { role: 0, base: 0, denied: 0, inNamespace: 0 };
const denials = new Map<string, number>();

function isGranted(grant: Grant): boolean {
  counts[grant.verdict] += 1;
  if (grant.verdict === "denied") denials.set(grant.code, (denials.get(grant.code) ?? 0) + 1);
  return grant.verdict === "role";
}

/** Whether the role is denied because the selectors for it set different session settings. */
function isOfDifferentSessions(grant: Grant, { selectors }: World): boolean {
  if (grant.verdict !== "denied" || grant.code !== "ERR_SELECTOR_EXTRAS") return false;
  assert.ok(selectors.some(({ annotations }) => Object.keys(annotations).length > 0));
  return true;
}

function compare(inventory: Inventory, world: World, query: RoleQuery): void {
  const selectors = inventory.of(SELECTORS);
  const resolving = resolvable(inventory, world, query);
  const isExpected = (name: string): boolean => resolving.has(name) && !selectors.faulty.has(name);
  const byName = new Map<string, Grant>(
    world.selectors.map(({ name }) => [name, grantSelector(inventory, name, query)]),
  );
  for (const [name, grant] of byName) {
    const isGrant = isGranted(grant);
    if (!isOfDifferentSessions(grant, world)) assert.equal(isGrant, isExpected(name), `selector ${name}`);
  }
  for (const roleARN of ROLES) {
    const grant = grantRole(inventory, roleARN, query);
    const isGrant = isGranted(grant);
    const names = Array.from(selectors.ofRole(roleARN), ({ name }) => name);
    if (!isOfDifferentSessions(grant, world)) assert.equal(isGrant, names.some(isExpected), roleARN);
    const granting = names.filter((name) => byName.get(name)?.verdict === "role").toSorted();
    assert.equal(isGrant, granting.length > 0, `${roleARN}, by ARN and by name`);
    if (isGrant) assert.deepEqual(grant, byName.get(granting[0] ?? ""), "the first selector in name order grants");
  }
  for (const { name: namespace } of world.namespaces.filter(({ name }) => existing(world).includes(name))) {
    const grant = grantInNamespace(inventory, { ...query, namespace, labels: new Map(), unmatched: "deny" });
    if (grant.verdict !== "role") continue;
    counts.inNamespace += 1;
    assert.ok(isExpected(String(grant.selectors[0])), `${namespace}: ${grant.selectors.join(", ")}`);
  }
}

test("grants a role, by ARN and by the name of a selector, exactly if a resource can resolve to it", (t) => {
  fc.assert(fc.property(worlds, (world) => {
    const inventory = inventoryOf(world);
    const settings = { ...SETTINGS_BY_DEFAULT, runtime: world.runtime };
    const { groups, scope } = world;
    for (const kinds of KIND_SCOPES) {
      compare(inventory, world, { groups, kinds, scope, settings, sessionDefaults: NO_EXTRAS });
    }
  }), parameters(t, 5_000));
  const total = counts.role + counts.denied;
  t.comment(`${total} decisions, ${counts.role} grants`);
  t.ok(total >= 100_000, `${total} decisions`);
  t.ok(counts.role > total / 10 && counts.denied > total / 10, `${counts.role} grants`);
  t.ok(counts.inNamespace > 1_000, `${counts.inNamespace} grants in a namespace`);
  for (const code of ["ERR_SELECTOR_NOT_GRANTED", "ERR_SELECTOR_MALFORMED", "ERR_SELECTOR_EXTRAS"]) {
    t.ok((denials.get(code) ?? 0) > 50, `${code}: ${denials.get(code)} times`);
  }
  t.end();
});
