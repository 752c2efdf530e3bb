import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import type { Paced } from "../paced.ts";
import { type CARMKey, groupsInQuestion, keysInUse, type MigrationInput } from "./carm-keys.ts";
import { inexpressibleOf } from "./inexpressible.ts";
import type { Inexpressible } from "./maps-left-out.ts";
import { proveSelectors, type WholeProof } from "./proof.ts";
import { changesTo, selectorsFor } from "./selectors.ts";

/** What IAMRoleSelectors make of CARM, before it is proved. */
export interface MigrationPlan {
  readonly input: MigrationInput;
  readonly keys: readonly CARMKey[];
  /** As manifests, sorted by name. */
  readonly selectors: readonly JsonObject[];
  /** What makes the inventory one that holds these selectors and no others. */
  readonly changes: ReturnType<typeof changesTo>;
  /** The names of the selectors that are in the inventory without them. */
  readonly stored: readonly string[];
}

export interface ProvedMigration {
  readonly selectors: readonly JsonObject[];
  readonly proof: WholeProof;
  readonly inexpressible: readonly Inexpressible[];
  readonly steps: readonly string[];
}

/** Turns the maps and annotations in the inventory into selectors. */
export function planMigration(inventory: Inventory, settings: DecisionSettings, extraGroups: readonly string[]): MigrationPlan {
  const input = { inventory, settings, groups: groupsInQuestion(inventory, extraGroups) };
  const keys = keysInUse(input);
  const selectors = selectorsFor(keys, inventory);
  const stored = [...inventory.selectors.keys(), ...inventory.malformed.keys()];
  return { input, keys, selectors, stored, changes: changesTo(selectors, stored) };
}

/** Proves the plan on its inventory, to which the plan's changes have been applied, a namespace a step. */
export function* proveMigration(plan: MigrationPlan): Paced<ProvedMigration> {
  const proof = yield* proveSelectors(plan.input);
  return {
    selectors: plan.selectors, proof,
    inexpressible: inexpressibleOf(plan.input, { ...plan, proof }),
    steps: switchSteps(proof.differences.length, plan.input.settings),
  };
}

/**
 * The order in which the switch is safe, a sentence or two a step. Removing annotations and maps before selectors decide, as
 * ACK's own documents have it, leaves a time in which new resources are made in the controller's account.
 */
export function switchSteps(differences: number, { teamLevelCARM, serviceLevelCARM }: DecisionSettings): readonly string[] {
  // The runtime reads a team's role by its gate alone, whether CARM is on or off (pkg/runtime/reconciler.go, Reconcile).
  const gates = [...(teamLevelCARM ? ["TeamLevelCARM"] : []), ...(serviceLevelCARM ? ["ServiceLevelCARM"] : [])];
  const off = gates.map((gate) => ` --set featureGates.${gate}=false`).join("");
  return [
    ...(differences === 0 ? [] : ["Decide each difference above and run this again, until there is none: nothing below is safe before."]),
    "Keep CARM as it is, its maps and annotations too, and apply the selectors: kubectl apply --server-side -f selectors.yaml. While the feature gate IAMRoleSelector is off no controller reads them.",
    `Then turn the gate on and CARM off in ONE rollout of each controller: helm upgrade RELEASE CHART --reuse-values --set featureGates.IAMRoleSelector=true --set enableCARM=false${off}. A controller with both on exits at its start; one with both off puts new resources into its own account. It must be installed with installScope=cluster, since nothing else lets it read selectors.`,
    "Verify: ack-role-resolver resolve --cluster and ack-role-resolver audit --cluster. Controllers look at a resource again when it changes, else within their resync period (10 hours).",
    "Only then remove the annotations services.k8s.aws/owner-account-id and services.k8s.aws/team-id, and last the maps: until then turning both settings back, in one rollout again, undoes the switch. services.k8s.aws/default-region and endpoint-url stay: they are read as before.",
  ];
}
