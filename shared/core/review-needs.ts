import type { KindFilter } from "../formats/object-meta.ts";
import type { JsonObject } from "../formats/json.ts";
import type { Paced } from "../formats/paced.ts";
import type { CheckEntry, CheckInput } from "./check.ts";
import type { DecisionSettings, Runtime } from "./context.ts";
import type { Inventory } from "./inventory.ts";
import type { NamedChange, PendingChanges } from "./pending-changes.ts";
import type { ObjectUse } from "./use-rights.ts";

/** What a review of an object of a kind waits for. The judge says what; the webhook does the waiting. */
export interface ReviewNeeds {
  /** Whether a fault of the object alone denies it before the inventory is loaded. */
  readonly judgesObjectFirst?: true;
  /** What the check reads of the requester's rights. */
  readonly uses?: UseNeeds;
  /**
   * Whether the checks read the labels and annotations of the object's Namespace. `required`: there is no verdict on an
   * object whose role depends on a Namespace that the API server did not return.
   */
  readonly namespace?: "read" | "required";
  /** Returns the change of another object that the write causes, whose review needs the same; null if there is none. */
  readonly causes?: (input: CheckInput) => CheckInput | null;
  /**
   * Returns of which types an unknown object could change the verdict, beside the basic kinds, which then always could;
   * null if none could.
   */
  readonly atRisk?: (input: CheckInput, settings: DecisionSettings, inventory: Inventory) => KindFilter | null;
  /** How changes that are admitted at the same time are compared with each other. Default: they cannot conflict. */
  readonly pending?: (runtime: Runtime) => PendingKind;
}

/** The objects that a requester uses by a change, and the check that reads whether the requester may. */
export interface UseNeeds {
  readonly check: CheckEntry;
  /** Returns each used object with the name under which the check reads the requester's access. */
  readonly of: (
    input: CheckInput, settings: DecisionSettings, inventory: Inventory,
  ) => readonly (readonly [name: string, use: ObjectUse])[];
  /** The types on which the uses depend beside the basic kinds. Default: none. */
  readonly kinds?: KindFilter;
}

/** The version of an object. */
export interface ObjectState {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
}

/** A cluster-scoped kind whose admitted changes are recorded until the inventory contains them. */
export interface PendingKind<T = unknown> {
  readonly kind: string;
  /** The URL path of the collection. */
  readonly path: string;
  /** Whether the webhook may only list objects, not get them. Default: false. */
  readonly isListed?: boolean;
  /** Returns the object in the inventory; undefined if the inventory does not contain it. */
  stateIn(inventory: Inventory, name: string): ObjectState | undefined;
  /** Returns the value that reviews compare; null if the object has no effect. */
  read(object: JsonObject): T | null;
  /** Returns the fields that `read` needs, and that are equal if a client sends the same object again. */
  reduce(object: JsonObject): JsonObject;
  /** Returns fewer fields, for an object that is too large to be shared. Reviews then expect more conflicts. */
  widen(object: JsonObject): JsonObject;
  /** Returns how a change is compared with the pending ones; null if it cannot conflict with any. */
  compare(input: CheckInput, inventory: Inventory): Comparison<T> | null;
}

/** A change of a pending kind, beside the pending changes of other objects. */
export interface Comparison<T = unknown> {
  /** Returns the pending changes that can affect the checks, in the same order. */
  related<Write extends NamedChange<T>>(writes: readonly Write[]): readonly Write[];
  /** Returns of which types an unknown object could change the verdict, beside the basic kinds. */
  atRisk(related: readonly NamedChange<T>[]): Paced<KindFilter>;
  /** Returns what the checks read as if the changes were stored. */
  inputWith(changes: PendingChanges<T>): Partial<CheckInput>;
}
