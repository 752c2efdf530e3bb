import { SELECTORS } from "../ack/selectors.ts";
import { CARM_MAPS } from "./map-store.ts";
import { ACCOUNT_MAP, OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION, TEAM_MAP } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import { type FullProof, proveSelectors } from "./migration-proof.ts";
import { isRoleARN, replaceSelectors, selectorsFor } from "./migration-selectors.ts";
import type { JsonObject } from "../formats/json.ts";
import type { Paced } from "../formats/paced.ts";
import { compareText, listOf, quote } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import type { MapLookup } from "./carm-maps.ts";
import { serviceOf } from "../core/ack-groups.ts";
import { type CARMKey, keysInUse, migrationGroups, type MigrationInput } from "./migration-keys.ts";
import { type Inexpressible, inexpressibleOf } from "./inexpressible.ts";
import { CORRECT_ARN } from "./migration-difference.ts";

/** The generated IAMRoleSelectors that replace CARM, not yet proved to be equivalent. */
export interface MigrationPlan {
  readonly input: MigrationInput;
  readonly keys: readonly CARMKey[];
  /** The manifests of the generated selectors, sorted by name. */
  readonly selectors: readonly JsonObject[];
  /** The inventory changes that replace all stored selectors by the generated selectors. */
  readonly changes: ReturnType<typeof replaceSelectors>;
  /** The names of the selectors in the inventory before `changes`. */
  readonly stored: readonly string[];
}

export interface ProvedMigration {
  readonly selectors: readonly JsonObject[];
  readonly proof: FullProof;
  readonly inexpressible: readonly Inexpressible[];
  readonly steps: readonly string[];
}

/** Converts the CARM maps and the namespace annotations in the inventory to selectors. */
export function planMigration(
  inventory: Inventory, settings: DecisionSettings, extraGroups: readonly string[],
): MigrationPlan {
  const input = { inventory, settings, groups: migrationGroups(inventory, extraGroups) };
  const keys = keysInUse(input);
  const selectors = selectorsFor(keys, inventory);
  const stored = [...inventory.of(SELECTORS).keys(), ...inventory.of(SELECTORS).malformed.keys()];
  return { input, keys, selectors, stored, changes: replaceSelectors(stored, selectors) };
}

/**
 * Compares the roles before and after a plan. The caller must first apply the changes of the plan to its inventory.
 * Pauses after each namespace.
 */
export function* proveMigration(plan: MigrationPlan): Paced<ProvedMigration> {
  const proof = yield* proveSelectors(plan.input);
  const unusedEntries = unusedMapEntries(plan.input, plan.keys);
  return {
    selectors: plan.selectors,
    proof,
    inexpressible: inexpressibleOf(plan.input, { ...plan, proof, unusedEntries }),
    steps: switchSteps(proof.differences.length, plan.input.settings),
  };
}

/**
 * Returns the steps of a safe switch from CARM to selectors, in order. The ACK documentation, in contrast, tells users
 * to remove the annotations and maps before selectors take effect. With that order, controllers could create new
 * resources in their own account.
 */
function switchSteps(
  differences: number, { teamLevelCARM, serviceLevelCARM }: DecisionSettings,
): readonly string[] {
  // With the gate TeamLevelCARM on, the runtime looks up team roles even if CARM is off (pkg/runtime/reconciler.go,
  // Reconcile).
  const gates = [...(teamLevelCARM ? ["TeamLevelCARM"] : []), ...(serviceLevelCARM ? ["ServiceLevelCARM"] : [])];
  const off = gates.map((gate) => ` --set featureGates.${gate}=false`).join("");
  return [
    ...(differences === 0 ? [] : ["Resolve every difference above and run the command again before you continue."]),
    "Keep CARM with its maps and annotations, and apply the selectors: kubectl apply --server-side -f selectors.yaml. "
      + "Controllers do not read selectors while the feature gate IAMRoleSelector is off.",
    "Turn the gate IAMRoleSelector on and CARM off in ONE rollout of each controller: "
      + "helm upgrade RELEASE CHART --reuse-values "
      + `--set featureGates.IAMRoleSelector=true --set enableCARM=false${off}. `
      + "A controller exits at startup if the gate and CARM are both on. "
      + "A controller creates new resources in its own account if the gate and CARM are both off. "
      + "Controllers need installScope=cluster, otherwise they cannot read selectors.",
    "Verify: ack-role-resolver resolve --cluster and ack-role-resolver audit --cluster. "
      + "Controllers reconcile a resource when it changes, or after their resync period (10 hours).",
    "Remove the annotations services.k8s.aws/owner-account-id and services.k8s.aws/team-id, and the maps last. "
      + "Until then you can roll back: turn the gate off and CARM on in one rollout. "
      + "Keep services.k8s.aws/default-region and endpoint-url: controllers still read these annotations.",
  ];
}

const MAPS: readonly { readonly name: string; readonly via: MapLookup["via"]; readonly annotation: string }[] = [
  { name: ACCOUNT_MAP, via: "account-map", annotation: OWNER_ACCOUNT_ANNOTATION },
  { name: TEAM_MAP, via: "team-map", annotation: TEAM_ANNOTATION },
];

/**
 * Returns the map entries that no generated selector uses, and the maps in namespaces that the migration does not read.
 */
export function unusedMapEntries(input: MigrationInput, keys: readonly CARMKey[]): Inexpressible[] {
  const { inventory, settings: { ackSystemNamespace } } = input;
  return MAPS.flatMap(({ name, via, annotation }) => {
    const data = inventory.of(CARM_MAPS).data(ackSystemNamespace, name) ?? NO_DATA;
    const used = new Set(keys.filter((key) => key.via === via).map(({ key }) => key));
    const annotated = Array.from(inventory.namespaces.names, (namespace) => (
      inventory.namespaces.annotationsOf(namespace).get(annotation) ?? ""
    ));
    const map = { subject: `ConfigMap ${ackSystemNamespace}/${name}`, via, data, used, named: new Set(annotated) };
    return [...invalidValues(map), ...unusedKeys(map, input), ...otherCopies(name, data, input)];
  });
}

const NO_DATA: ReadonlyMap<string, string> = new Map();

interface CARMMap {
  readonly subject: string;
  readonly via: MapLookup["via"];
  readonly data: ReadonlyMap<string, string>;
  /** The keys that controllers look up for a namespace. */
  readonly used: ReadonlySet<string>;
  /** The keys that annotations of namespaces name, also those that controllers do not read. */
  readonly named: ReadonlySet<string>;
}

function invalidValues({ subject, data }: CARMMap): Inexpressible[] {
  const invalid = sorted(data).filter(([, value]) => value !== "" && !isRoleARN(value));
  return invalid.map(([key, value]) => ({
    subject: `${subject}, key ${quote(key)}`,
    reason: `${quote(value)} is not the ARN of an IAM role, so a selector cannot use the value`,
    fix: CORRECT_ARN,
  }));
}

/** Returns the keys that do not affect the role of any resource, grouped by cause. */
function unusedKeys(
  { subject, data, ...map }: CARMMap, { settings: { serviceLevelCARM }, groups }: MigrationInput,
): Inexpressible[] {
  const context = { ...map, services: new Set(groups.map(serviceOf)), serviceLevelCARM };
  const byCause = new Map<Cause, string[]>();
  for (const [key] of sorted(data)) {
    const cause = causeOf(key, context);
    if (cause !== null) byCause.set(cause, [...(byCause.get(cause) ?? []), key]);
  }
  return [...byCause].map(([cause, keys]) => (
    { subject: `${subject}, ${keys.length === 1 ? "key" : "keys"} ${listOf(keys.map(quote))}`, ...CAUSES[cause] }
  ));
}

type Cause = "unused" | "gate" | "service" | MapLookup["via"];

interface KeyContext extends Pick<CARMMap, "via" | "used" | "named"> {
  readonly services: ReadonlySet<string>;
  readonly serviceLevelCARM: boolean;
}

/** Returns why a key affects no role, or null if it affects one. */
function causeOf(text: string, { via, used, named, services, serviceLevelCARM }: KeyContext): Cause | null {
  if (used.has(text)) return null;
  const { service, key } = splitKey(text);
  if (!used.has(key)) return named.has(text) || named.has(key) ? via : "unused";
  if (!serviceLevelCARM) return "gate";
  return services.has(service) ? null : "service";
}

const CAUSES: Readonly<Record<Cause, Pick<Inexpressible, "reason" | "fix">>> = {
  unused: {
    reason: "no namespace annotation names the account or team, so a selector would select no resources",
    fix: "if a namespace needs this role, annotate the namespace and run the command again",
  },
  "team-map": {
    reason: "namespaces name the team in services.k8s.aws/team-id, but controllers do not read the annotation there: "
      + "they lack the feature gate TeamLevelCARM, or CARM ignores the namespace",
    fix: "if the namespaces need this role, turn on the gate, or use namespaces that CARM does not ignore",
  },
  "account-map": {
    reason: "namespaces name the account, but controllers do not look it up there: the team of the namespace has "
      + "precedence, or CARM ignores the namespace",
    fix: "if a namespace needs this role, remove its team annotation, or use a namespace that CARM does not ignore",
  },
  gate: {
    reason: "controllers without the feature gate ServiceLevelCARM do not read keys with a service prefix",
    fix: "if the controllers run with that gate, set --service-level-carm and run the command again",
  },
  service: {
    reason: "no ACK group of that service is installed or known to this release",
    fix: "add the API group of the service to --extra-groups and run the command again, or correct the key",
  },
};

/** Splits `s3.team-a` into service and key. */
function splitKey(text: string): { readonly service: string; readonly key: string } {
  const dot = text.indexOf(".");
  return dot < 0 ? { service: "", key: text } : { service: text.slice(0, dot), key: text.slice(dot + 1) };
}

/** Returns the maps of the same name in other namespaces. A controller reads only the map in its own namespace. */
function otherCopies(
  name: string, data: ReadonlyMap<string, string>, { inventory, settings: { ackSystemNamespace } }: MigrationInput,
): Inexpressible[] {
  const all = [...inventory.of(CARM_MAPS).namespacesOf(name)];
  const others = all.filter((namespace) => namespace !== ackSystemNamespace);
  return others.toSorted(compareText).map((namespace) => {
    const differing = differingKeys(data, new Map(inventory.of(CARM_MAPS).data(namespace, name)));
    const comparison = differing.length === 0
      ? "the two maps have the same data"
      : `the two maps differ in ${differing.length === 1 ? "key" : "keys"} ${listOf(differing.map(quote))}`;
    return {
      subject: `ConfigMap ${namespace}/${name}`,
      reason: `controllers in that namespace read this map, but selectors apply to every controller; ${comparison}`,
      fix: differing.length === 0
        ? "none"
        : `make the maps equal, or compare this output with the output for --ack-system-namespace ${namespace}`,
    };
  });
}

function differingKeys(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).toSorted(compareText);
}

function sorted(data: ReadonlyMap<string, string>): (readonly [key: string, value: string])[] {
  return [...data].toSorted(([a], [b]) => compareText(a, b));
}
