import type { JsonObject, PatchOperation } from "../formats/json.ts";
import type { Paced } from "../formats/paced.ts";
import { apiVersionOf } from "../formats/object-meta.ts";
import type { AdmissionRequest, SkipReason } from "./admission.ts";
import type { BoundChecks } from "./bind.ts";
import type { ClusterUsage } from "./cluster-usage.ts";
import type { CheckEntry, CheckInput, Finding } from "./check.ts";
import type { DecisionSettings } from "./context.ts";
import type { Derivation } from "./derivation.ts";
import type { Inventory, RoleObject } from "./inventory.ts";
import type { Kind } from "./kind.ts";
import type { Problem, ProblemScope, ResolvedObject, StoreProblems } from "./problem.ts";
import type { ReviewNeeds } from "./review-needs.ts";
import type { NamedRole } from "./role-target.ts";
import type { StoreKey } from "./store.ts";

/** Returns the checks of a change with the data that they examine. Decodes each object only once. */
export type Bind = (input: CheckInput, settings: DecisionSettings) => readonly BoundChecks[];

/** The name and the type of an object in a review. */
export interface ReviewedID {
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace: string;
  readonly name: string;
}

/** How the objects of a kind are judged. The sidecar, which only grants, loads none. */
export interface Judge {
  readonly kind: Kind;
  /** Every check of the kind. */
  readonly checks: readonly CheckEntry[];
  /** Binds the checks that apply to a change. The type of the decoded object stays in the closure. */
  readonly bind: Bind;
  /** Whether a check applies to an object of a manifest. Default: always. */
  readonly isCheckedInFiles?: (object: JsonObject, inventory: Pick<Inventory, "namespaces">) => boolean;
  /** Returns the objects of the kind that controllers create from the objects of manifests. Default: none. */
  readonly derive?: (objects: readonly JsonObject[]) => Derivation;
  /** Returns the roles that the object names, whose trust policies are judged. Default: none. */
  readonly namesRoles?: (
    input: CheckInput, settings: DecisionSettings, inventory: Inventory,
  ) => readonly NamedRole[];
  /** Returns why an object is not reviewed; null if it is. Default: each one is. */
  readonly skips?: (object: JsonObject, request: AdmissionRequest) => SkipReason | null;
  /** What a review waits for. Default: only for the inventory. */
  readonly review?: ReviewNeeds;
  /** Whether the checks of the operation read the inventory, so that a review waits for it. Default: they do. */
  readonly readsInventory?: (operation: AdmissionRequest["operation"]) => boolean;
  /** Returns how a written object is completed, or why it is not. Reads no inventory. */
  readonly complete?: (
    object: JsonObject, request: AdmissionRequest, settings: DecisionSettings,
  ) => readonly PatchOperation[] | SkipReason;
  /** How the webhook records the role of an object in annotations. Default: it records none. */
  readonly record?: {
    /** Returns the object whose role is resolved, or why no role is recorded. */
    readonly roleObject: (
      object: JsonObject, request: AdmissionRequest, settings: DecisionSettings,
    ) => RoleObject | SkipReason;
    /** The store without which the role is unknown. Default: the inventory knows each role. */
    readonly needs?: StoreKey;
  };
  /** Yields the problems of a stored object that its controller does not report. Default: none. */
  readonly problems?: (object: ResolvedObject, scope: ProblemScope) => Iterable<Problem>;
  /** Returns the findings of `audit` in an object of which only the inventory is known. Default: none. */
  readonly findings?: (object: ResolvedObject, scope: ProblemScope) => readonly Finding[];
  /** Counts what the objects of the kind among the objects use. Default: nothing. */
  readonly usage?: (
    objects: readonly JsonObject[], inventory: Inventory, settings: DecisionSettings,
  ) => Paced<ClusterUsage>;
  /** The problems of the stored objects of the kind. Default: none. */
  readonly storeProblems?: StoreProblems;
  /**
   * Returns an object with the fields of the inventory that the checks of a deletion read; null if the inventory lacks
   * the object. A deletion can then be checked although the object is too large to be parsed. Default: no check applies
   * to a deletion.
   */
  readonly stored?: (id: ReviewedID, inventory: Inventory) => JsonObject | null;
}

/** Checks that a feature adds to the objects of kinds that are not its own. */
export interface Extra {
  /** Default: every kind that is judged. */
  readonly of?: Kind;
  readonly checks: readonly CheckEntry[];
  /** `judge` is that of the object's kind. */
  readonly bind: (input: CheckInput, settings: DecisionSettings, judge: Judge) => readonly BoundChecks[];
  /** Whether a check of the feature applies to an object of a manifest. Default: not if none of the judge does. */
  readonly isCheckedInFiles?: Judge["isCheckedInFiles"];
}

/** Returns the type of the reviewed object, for an object that the inventory describes. */
export function typeOf({ kind }: ReviewedID): JsonObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}
