import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import type { Paced } from "../paced.ts";
import { type CARMKey, keysInUse, migrationGroups, type MigrationInput } from "./carm-keys.ts";
import { type Inexpressible, inexpressibleOf } from "./inexpressible.ts";
import { type FullProof, proveSelectors } from "./proof.ts";
import { replaceSelectors, selectorsFor } from "./selectors.ts";
import { unusedMapEntries } from "./unused-maps.ts";

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
  const stored = [...inventory.selectors.keys(), ...inventory.selectors.malformed.keys()];
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
