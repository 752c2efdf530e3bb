import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { NO_EXTRAS } from "../../../shared/model/session.ts";
import { lookUpMaps } from "../../../shared/model/carm-maps.ts";
import type { DecisionSettings } from "../../../shared/contract/context.ts";
import { grantInNamespace, grantRole } from "../../../shared/resolution/grant-decision.ts";
import type { Grant } from "../../../shared/resolution/grant.ts";
import type { Inventory } from "../../../shared/inventory/inventory.ts";
import { parseRoleARN } from "../../../shared/formats/arn.ts";
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
const VALUES = [...ROLES, "", "arn:aws:iam::111122223333:user/jane", "nonsense"] as const;
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

function hasServiceKey({ accounts, teams }: Maps, via: string, key: string): boolean {
  const data: Readonly<Record<string, string>> = (via === "team-map" ? teams : accounts) ?? {};
  return (data[key] ?? "") !== "";
}

test("by ARN and by namespace, grants exactly the roles that the CARM maps have for existing namespaces", (t) => {
  fc.assert(fc.property(maps, groups, (input, served) => {
    const inventory = inventoryOfMaps(input);
    const { settings } = input;
    const namespaces = ownersOf(input).map(({ name }) => name);
    const roleFor = (namespace: string, group: string): string | null => {
      const lookup = lookUpMaps(
        inventory, { namespace, group, status: { ownerAccountID: null, region: null } }, settings,
      );
      const roleARN = lookup?.roleARN ?? null;
      // A key for another service grants nothing, even if a namespace annotation names the whole key.
      const isService = settings.serviceLevelCARM && lookup?.key.includes(".") === true;
      if (isService && !hasServiceKey(input, lookup.via, `${group.split(".")[0]}.${lookup.key}`)) return null;
      return roleARN === null || parseRoleARN(roleARN) === null ? null : roleARN;
    };
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
