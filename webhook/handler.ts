import type { CheckInput } from "../shared/decisions/checks/change.ts";
import type { Finding } from "../shared/decisions/checks/check.ts";
import { type CheckResult, runChecksPaced } from "../shared/decisions/checks/run.ts";
import type { DecisionSettings } from "../shared/decisions/context.ts";
import type { ErrorCode } from "../shared/decisions/errors.ts";
import { type Exemption, exemptionOf } from "../shared/decisions/exemptions.ts";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import type { JsonObject, PatchOperation } from "../shared/decisions/kubernetes/json.ts";
import type { Resolution } from "../shared/decisions/resolution/resolve.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { runInSlices } from "../shared/server/slices.ts";
import { TurnQueue } from "../shared/server/turn-queue.ts";
import type { AdmissionRequest } from "./decode.ts";

/** The maximum time that one review blocks the event loop, in ms. */
const SLICE_MS = 10;
/** The paused reviews and scans of the process. */
export const TURNS = new TurnQueue();

/** A warning about the annotations that the webhook writes to an object. */
export interface Notice {
  readonly code: ErrorCode | "ACK-02";
  /** The message starts in lower case and has no trailing full stop. */
  readonly message: string;
}

type SkipReason = Exemption | "not managed" | "no object" | "limit exceeded" | "written by CAPA";

/**
 * The result of a review. If a review cannot determine the result, the handler throws, and `route.ts` denies the
 * object or responds with an HTTP error.
 */
export type Verdict =
  | { readonly outcome: "allowed" | "denied"; readonly findings: readonly Finding[] }
  /** The patch is empty if the object needs no change. */
  | {
    readonly outcome: "mutated";
    readonly patch: readonly PatchOperation[];
    readonly notices: readonly Notice[];
    readonly resolution: Resolution | null;
  }
  /** The webhook allows the request and has run no check. */
  | { readonly outcome: "skipped"; readonly reason: SkipReason };

/** The time budget of one review. */
export interface ReviewTime {
  /** Returns the time of a monotonic clock, in ms. */
  readonly monotonicMs: () => number;
  /** Returns the remaining time until the deadline of the response, in ms. */
  readonly remainingMs: () => number;
}

export interface ReviewContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
}

export function skipped(reason: SkipReason): Verdict {
  return { outcome: "skipped", reason };
}

/**
 * Runs `validate` on the object that the request writes or deletes. Skips objects that the webhook does not manage, and
 * changes that are exempt.
 */
export async function unlessExempt(
  request: AdmissionRequest,
  isManaged: (object: JsonObject) => boolean,
  validate: (object: JsonObject) => Promise<Verdict>,
): Promise<Verdict> {
  const object = request.operation === "DELETE" ? request.oldObject : request.object;
  if (object === null) return skipped("no object");
  if (!isManaged(object)) return skipped("not managed");
  const exemption = exemptionOf(request);
  return exemption === null ? await validate(object) : skipped(exemption);
}

/**
 * Runs every check that applies to the change. Yields to the event loop between slices. Rejects with
 * ERR_REQUEST_DEADLINE if the deadline passes.
 */
export async function runChecksInSlices(
  input: CheckInput,
  settings: DecisionSettings,
  { monotonicMs, remainingMs }: ReviewTime,
): Promise<CheckResult> {
  const pause = (pauses: number): Promise<void> => TURNS.pause(pauses, remainingMs);
  return runInSlices(runChecksPaced(input, settings), { sliceMs: SLICE_MS, now: monotonicMs, pause, remainingMs });
}

export function checkInputOf(request: AdmissionRequest, object: JsonObject, inventory: Inventory): CheckInput {
  const { operation, oldObject, requester } = request;
  const old = operation === "UPDATE" ? oldObject : null;
  return { object, old, requester, inventory, origin: "cluster", ...(operation !== "CONNECT" && { operation }) };
}

export function verdictOf({ findings, denied }: Pick<CheckResult, "findings" | "denied">): Verdict {
  return { outcome: denied ? "denied" : "allowed", findings };
}
