import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { lookUpMaps } from "../../../shared/carm/carm-maps.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { grantInNamespace, grantRole } from "../../../shared/core/grant-decision.ts";
import type { Grant, RoleQuery } from "../../../shared/core/grant.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import { sampleResource } from "../../../shared/carm/migration-keys.ts";
import { GROUPS } from "../arbitraries.ts";
import { inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { parameters } from "../property.ts";

const ROLES = [
  "arn:aws:iam::111122223333:role/one",
  "arn:aws-cn:iam::444455556666:role/a/b/two",
  "arn:aws:iam::111122223333:role/x",
] as const;
const groups = fc.subarray([...GROUPS], { minLength: 1 });
const runtime = fc.constantFrom("ack" as const, "extended" as const);
const seen = new Map<string, number>();

function count(outcome: string): void {
  seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
}

function outcomeOf(grant: Grant): string {
  return grant.verdict === "denied" ? grant.code : grant.verdict;
}

const KEYS = ["t", "111122223333", "prod.eu", "s3.t", "sqs.t", "s3.111122223333", "rds.t", "s3.prod.eu"] as const;
const VALUES = [
  ...ROLES, "", "arn:aws:iam::111122223333:user/jane", "arn:aws:iam::111122223333:root", "arn:aws:iam:role/one",
  "arn:aws:iam::111122223333:role/one ", "arn:aws:sts::111122223333:assumed-role/one/s", "arn:::::", "nonsense",
] as const;
const mapData = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES)), {
    maxLength: KEYS.length,
    selector: ([key]) => key,
    size: "max",
  })
  .map((pairs) => Object.fromEntries(pairs));
const map = fc.option(mapData, { freq: 8 });

interface Owner {
  readonly account: string;
  readonly team: string;
}

const NO_OWNER: Owner = { account: "", team: "" };

interface Maps {
  /** The existing namespaces, by the account and the team in their annotations; "" if they name none. */
  readonly owners: readonly Owner[];
  readonly accounts: Readonly<Record<string, string>> | null;
  readonly teams: Readonly<Record<string, string>> | null;
  readonly settings: DecisionSettings;
}

const ownerKey = fc.constantFrom(...KEYS, "", "");

const maps: fc.Arbitrary<Maps> = fc.record({
  owners: fc.array(fc.record({ account: ownerKey, team: ownerKey }), { maxLength: 6 }),
  accounts: map, teams: map,
  settings: fc.record({ teamLevelCARM: fc.boolean(), serviceLevelCARM: fc.boolean(), runtime })
    .map((gates) => ({ ...SETTINGS_BY_DEFAULT, ...gates, mode: "carm" as const })),
});

/** Returns the existing namespaces. CARM ignores the annotations of the first one. */
function ownersOf({
  owners,
}: Maps): { readonly name: string; readonly annotations: Readonly<Record<string, string>> }[] {
  return owners.map(({ account, team }, i) => ({
    name: i === 0 ? "kube-system" : `n${i}`,
    annotations: {
      ...(account !== "" && { "services.k8s.aws/owner-account-id": account }),
      ...(team !== "" && { "services.k8s.aws/team-id": team }),
    },
  }));
}

function inventoryOfMaps(input: Maps): Inventory {
  const configMaps = [["ack-role-account-map", input.accounts], ["ack-role-team-map", input.teams]] as const;
  const objects = configMaps.flatMap(([name, data]) =>
    data === null ? [] : [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "ack-system" }, data }],
  );
  const namespaces = ownersOf(input).map(({ name, annotations }) => namespaceObject(name, {}, annotations));
  return inventoryWith([...objects, ...namespaces], { runtime: input.settings.runtime });
}

const STATUSES = ["111122223333", "444455556666", "t"] as const;

interface Case {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly namespace: string;
  readonly group: string;
}

function casesOf(input: Maps, served: readonly string[]): Case[] {
  const inventory = inventoryOfMaps(input);
  const { settings } = input;
  return ownersOf(input).flatMap(({ name: namespace }) => (
    served.map((group) => ({ inventory, settings, namespace, group }))
  ));
}

/** Returns the resolution of a resource that exists in the account, or of one that does not exist yet. */
function resolved({ inventory, settings, namespace, group }: Case, ownerAccountID: string | null): Resolution {
  const resource = sampleResource(namespace, group);
  return resolve(inventory, { ...resource, status: { ownerAccountID, region: null } }, settings);
}

function textOf({ outcome, roleARN, code, message }: Resolution): string {
  return outcome === "refused" ? `${code} ${message}` : `${outcome} ${roleARN}`;
}

function textOfGrant(grant: Grant): string {
  if (grant.verdict === "denied") return `${grant.code} ${grant.message}`;
  return grant.verdict === "base" ? "default null" : `selected ${grant.roleARN}`;
}

function scopeOf({ settings, group }: Case): Omit<RoleQuery, "scope"> {
  return { groups: [group], kinds: [], settings, sessionDefaults: NO_EXTRAS };
}

function grantFor(one: Case): Grant {
  const { inventory, namespace } = one;
  return grantInNamespace(inventory, { ...scopeOf(one), namespace, labels: null, unmatched: "base" });
}

/** Whether the sidecar grants, by its ARN, the role that controllers look up because of the account in the status. */
function isGrantedByStatus(one: Case, ownerAccountID: string): boolean {
  const { inventory, settings, namespace, group } = one;
  const lookup = lookUpMaps(inventory, { namespace, group, status: { ownerAccountID, region: null } }, settings);
  return lookup?.code === null
    && grantRole(inventory, lookup.roleARN, { ...scopeOf(one), scope: null }).verdict === "role";
}

test("resolve selects a role exactly if the sidecar grants it, with the same reason if not", (t) => {
  fc.assert(fc.property(maps, groups, (input, served) => {
    for (const one of casesOf(input, served)) {
      const [bare, grant] = [resolved(one, null), grantFor(one)];
      count(outcomeOf(grant));
      assert.equal(textOf(bare), textOfGrant(grant));
      for (const account of STATUSES) {
        const resolution = resolved(one, account);
        if (grant.verdict !== "base") {
          assert.equal(resolution.roleARN, bare.roleARN, "the namespace precedes the status");
          continue;
        }
        count(`by status: ${resolution.outcome}`);
        assert.equal(resolution.outcome === "selected", isGrantedByStatus(one, account));
      }
    }
  }), parameters(t, 2_000));
  for (const outcome of ["by status: selected", "by status: refused", "base"]) {
    t.ok((seen.get(outcome) ?? 0) > 50, `${outcome}: ${seen.get(outcome)} times`);
  }
  t.end();
});

test("by ARN and by namespace, grants exactly the roles that the CARM maps have for existing namespaces", (t) => {
  fc.assert(fc.property(maps, groups, (input, served) => {
    const inventory = inventoryOfMaps(input);
    const { settings } = input;
    const namespaces = ownersOf(input).map(({ name }) => name);
    const roleFor = (namespace: string, group: string): string | null => (
      modelRole(input, namespace, group.split(".")[0] ?? "")
    );
    const query = { kinds: [], settings, sessionDefaults: NO_EXTRAS };
    for (const namespace of namespaces) {
      for (const group of served) {
        const grant = grantInNamespace(inventory, {
          namespace,
          ...query,
          groups: [group],
          labels: null,
          unmatched: "deny",
        });
        count(outcomeOf(grant));
        assert.equal(grant.verdict === "role" ? grant.roleARN : null, roleFor(namespace, group));
      }
    }
    for (const roleARN of VALUES) {
      const grants = (scope: string | null): boolean =>
        grantRole(inventory, roleARN, { ...query, groups: served, scope }).verdict === "role";
      const hasRole = (namespace: string): boolean => served.some((group) => roleFor(namespace, group) === roleARN);
      assert.equal(grants(null), namespaces.some(hasRole), roleARN);
      for (const namespace of namespaces)
        assert.equal(grants(namespace), hasRole(namespace), `${roleARN} in ${namespace}`);
    }
  }), parameters(t, 4_000));
  const outcomes = ["role", "ERR_CARM_MAP_MISSING", "ERR_CARM_KEY_MISSING", "ERR_CARM_VALUE_EMPTY", "ERR_CARM_ARN"];
  for (const outcome of outcomes) t.ok((seen.get(outcome) ?? 0) > 50, `${outcome}: ${seen.get(outcome)} times`);
  t.end();
});

/** Decides a second time, without code of shared/, which role a namespace has for a service. */
function modelRole({ accounts, teams, owners, settings }: Maps, namespace: string, service: string): string | null {
  const { account, team } = owners[namespace === "kube-system" ? -1 : Number(namespace.slice(1))] ?? NO_OWNER;
  const isTeam = settings.teamLevelCARM && team !== "";
  const value = modelValue((isTeam ? teams : accounts) ?? {}, isTeam ? team : account, service, settings);
  return ROLES.some((role) => role === value) ? value : null;
}

/** A key for another service has no value, even if a namespace annotation names the whole key. */
function modelValue(
  data: Readonly<Record<string, string>>, id: string, service: string, { serviceLevelCARM }: DecisionSettings,
): string {
  const ofAll = data[id] ?? "";
  if (id === "" || !serviceLevelCARM) return id === "" ? "" : ofAll;
  const ofService = data[`${service}.${id}`] ?? "";
  return ofService === "" && !id.includes(".") ? ofAll : ofService;
}
