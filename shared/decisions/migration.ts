import type { Inventory } from "./inventory.ts";
import type { JsonObject } from "./json.ts";
import { type CARMKey, groupsInQuestion, keysInUse, type MigrationInput } from "./migration/carm-keys.ts";
import { type Inexpressible, inexpressibleOf } from "./migration/inexpressible.ts";
import { proveSelectors, type WholeProof } from "./migration/proof.ts";
import { changesTo, selectorsFor } from "./migration/selectors.ts";
import { switchSteps } from "./migration/switch-steps.ts";
import type { DecisionSettings } from "./settings.ts";
import type { Steps } from "./steps.ts";

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
export function* proveMigration(plan: MigrationPlan): Steps<ProvedMigration> {
  const proof = yield* proveSelectors(plan.input);
  return {
    selectors: plan.selectors, proof,
    inexpressible: inexpressibleOf(plan.input, { ...plan, proof }),
    steps: switchSteps(proof.differences.length, plan.input.settings),
  };
}
