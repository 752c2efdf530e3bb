import { setImmediate as turn } from "node:timers/promises";
import type { CheckInput } from "../shared/decisions/checks/change.ts";
import type { Finding } from "../shared/decisions/checks/finding.ts";
import { type CheckResult, runChecksPaced } from "../shared/decisions/checks/run.ts";
import type { DecisionSettings } from "../shared/decisions/context.ts";
import { type ErrorCode, ResolverError } from "../shared/decisions/errors.ts";
import { type Exemption, exemptionOf } from "../shared/decisions/exemptions.ts";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import type { JsonObject, PatchOperation } from "../shared/decisions/kubernetes/json.ts";
import type { Resolution } from "../shared/decisions/resolution/resolve.ts";
import type { SourceStatus } from "../shared/inventory/source.ts";
import { inSlices } from "../shared/server/slices.ts";
import type { AdmissionRequest } from "./decode.ts";

/** Something to tell the requester of a mutation. */
export interface Notice {
  readonly code: ErrorCode | "ACK-02";
  /** One sentence without its full stop. */
  readonly message: string;
}

/**
 * What was decided of a request. There is no verdict for "could not tell": that is a thrown error, so that the webhook's
 * failurePolicy decides.
 */
export type Verdict =
  /** Judged, and nothing stands against it. */
  | { readonly outcome: "allowed"; readonly findings: readonly Finding[] }
  | { readonly outcome: "denied"; readonly findings: readonly Finding[] }
  /** Mutated, if the patch holds anything. */
  | { readonly outcome: "mutated"; readonly patch: readonly PatchOperation[]; readonly notices: readonly Notice[]; readonly resolution: Resolution | null }
  /** Let through without a judgement. */
  | { readonly outcome: "skipped"; readonly reason: Exemption | "not ours" | "no object" };

export const NOT_MANAGED: Verdict = { outcome: "skipped", reason: "not ours" };
export const NO_OBJECT: Verdict = { outcome: "skipped", reason: "no object" };

/** The time of one review. */
export interface ReviewTime {
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** How long the answer may still take, in ms. */
  readonly remainingMs: () => number;
}

/** The most that one review holds up all others. */
const SLICE_MS = 10;

/** Runs every check that looks at such a change, in slices. Rejects with ERR_REQUEST_DEADLINE rather than answer late. */
export async function runChecksInSlices(input: CheckInput, settings: DecisionSettings, { monotonicMs, remainingMs }: ReviewTime): Promise<CheckResult> {
  return inSlices(runChecksPaced(input, settings), { sliceMs: SLICE_MS, now: monotonicMs, pause: turn, remainingMs });
}

/** What `judge` says of the object that a request writes or deletes, where that is ours and nobody is exempt. */
export async function unlessExempt(request: AdmissionRequest, isOurs: (object: JsonObject) => boolean, judge: (object: JsonObject) => Promise<Verdict>): Promise<Verdict> {
  const object = request.operation === "DELETE" ? request.oldObject : request.object;
  if (object === null) return NO_OBJECT;
  if (!isOurs(object)) return NOT_MANAGED;
  const reason = exemptionOf(request);
  return reason === null ? await judge(object) : { outcome: "skipped", reason };
}

/** Throws ERR_NOT_READY: what was never loaded is not taken for empty. `what` is the object in a word. */
export function requireLoaded({ loaded }: Pick<SourceStatus, "loaded">, what: string): void {
  if (loaded) return;
  throw new ResolverError("ERR_NOT_READY", `the inventory has not been loaded yet, so the ${what} cannot be judged; try again in a moment`);
}

/** What the checks look at of a request for the object. */
export function checkInputOf({ operation, oldObject, requester }: AdmissionRequest, object: JsonObject, inventory: Inventory): CheckInput {
  return { object, requester, inventory, origin: "cluster", old: operation === "UPDATE" ? oldObject : null, ...(operation !== "CONNECT" && { operation }) };
}

export function verdictOf({ findings, denied }: Pick<CheckResult, "findings" | "denied">): Verdict {
  return { outcome: denied ? "denied" : "allowed", findings };
}
