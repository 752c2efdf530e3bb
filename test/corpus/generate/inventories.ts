import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { kindObject } from "../../shared/objects.ts";
import { carmMap, createdResource, namespace, namespaceSelector, OWN, selector, stored } from "./ack-objects.ts";
import { clusterPart, identities, referrer, secrets } from "./capa-objects.ts";
import { type Json, textAt, withValue } from "./json.ts";
import { ACCOUNTS, NAMESPACES, RESOURCE_KINDS, roleIn, TEAMS } from "./names.ts";
import { Random } from "./random.ts";
import { type Environment, settingsOf } from "./settings.ts";

/** A state of a cluster and the settings of the programs that review its changes. */
export interface RandomInventory {
  readonly number: number;
  readonly settings: string;
  readonly environment: Environment;
  readonly objects: readonly Json[];
}

export const INVENTORIES = 50;

export function inventory(number: number): RandomInventory {
  const random = new Random(number, 0);
  const { name: settings, environment } = settingsOf(number);
  const mode = environment["ACK_ROLE_RESOLVER_MODE"] ?? "selectors";
  const names = NAMESPACES.filter((name) => name === "ending" || name === "ack-system" || random.chance(0.9));
  const objects = [
    ...names.map((name) => namespace(name, random, mode)),
    ...kinds(random), ...selectors(random), ...resources(random, names), ...maps(random, mode),
    ...(random.chance(0.8) ? [...identities(random), ...clusters(random)] : []),
    ...(environment["ACK_ROLE_RESOLVER_IDENTITY_SECRET_NAMESPACE"] === undefined ? [] : secrets(random)),
  ];
  return { number, settings, environment, objects: distinct(objects).map((object) => stored(object, random)) };
}

/** Drops objects that have the kind and the name of an earlier object. */
function distinct(objects: readonly Json[]): Json[] {
  const keyOf = (one: Json): string => [
    one["kind"], textAt(one, "metadata", "namespace"), textAt(one, "metadata", "name"),
  ].join(" ");
  return [...new Map(objects.toReversed().map((one) => [keyOf(one), one])).values()].toReversed();
}

/** The CustomResourceDefinitions of some kinds, and of IAMRoleSelector as ACK's charts install it. */
function kinds(random: Random): Json[] {
  const versions = [{ name: "v1alpha1", storage: true, served: true }];
  const own = RESOURCE_KINDS.filter(() => random.chance(0.8)).map(
    ({ kind, group }) => kindObject(kind, group, versions)
  );
  return random.chance(0.4) ? [...own, ACK_SELECTOR_CRD] : own;
}

/** Most teams have a selector of their own. Some selectors overlap, and some are malformed. */
function selectors(random: Random): Json[] {
  const own = TEAMS.filter((team) => team !== "sandbox" && random.chance(0.65)).map(namespaceSelector);
  const count = random.below(4);
  const others = Array.from({ length: count }, (_, i) => selector(random, i === 0 ? "gold" : `other-${i}`));
  const replacing = withValue(selector(random, "next"), ["metadata", "annotations"], { [`${OWN}replaces`]: "team-a" });
  const malformed = withValue(selector(random, "malformed"), ["spec", "arn"], random.pick(["", "role/x", undefined]));
  return [
    ...own, ...others, ...byLabel(random), ...(random.chance(0.2) ? [replacing] : []),
    ...(random.chance(0.3) ? [malformed] : []),
  ];
}

/** Pairs of selectors of which a label chooses one. */
function byLabel(random: Random): Json[] {
  const tiers = ["gold", "silver"].map((tier) => (
    selectorOf(
      `tier-${tier}`, { namespaceSelector: { names: ["sandbox"] }, resourceLabelSelector: { matchLabels: { tier } } }
    )
  ));
  const types = [{ group: "kms.services.k8s.aws", version: "", kind: "" }];
  const environments = ["prod", "dev"].map((env) => (
    selectorOf(
      `keys-${env}`,
      { namespaceSelector: { names: [], labelSelector: { matchLabels: { env } } }, resourceTypeSelector: types }
    )
  ));
  return [...(random.chance(0.5) ? tiers : []), ...(random.chance(0.5) ? environments : [])];
}

function selectorOf(name: string, spec: Json): Json {
  const account = name.endsWith("dev") ? ACCOUNTS[1] : ACCOUNTS[0];
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { arn: roleIn(account, name), ...spec },
  };
}

function resources(random: Random, names: readonly string[]): Json[] {
  return Array.from({ length: 10 + random.below(12) }, (_, i) => createdResource(random, `r${i}`, random.pick(names)));
}

function maps(random: Random, mode: string): Json[] {
  if (mode !== "carm" && !random.chance(0.15)) return [];
  const team = random.chance(0.7) ? [carmMap(random, "ack-role-team-map")] : [];
  const elsewhere = random.chance(0.3) ? [carmMap(random, "ack-role-account-map", "team-a")] : [];
  return [carmMap(random, "ack-role-account-map"), ...team, ...elsewhere];
}

function clusters(random: Random): Json[] {
  const referrers = Array.from({ length: 4 + random.below(5) }, () => referrer(random));
  const parts = Array.from({ length: 2 + random.below(4) }, (_, i) => clusterPart(random, `part-${i}`));
  return [...referrers, ...parts];
}
