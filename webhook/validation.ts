import { exemptionOf } from "../shared/decisions/admission-scope.ts";
import type { JudgeInput, Judgement } from "../shared/decisions/checks/judge.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { Inventory } from "../shared/decisions/inventory.ts";
import type { JsonObject } from "../shared/decisions/json.ts";
import type { SourceStatus } from "../shared/inventory/source.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Verdict } from "./verdict.ts";

/** What `judge` says of the object that a request writes or deletes, where that is ours and nobody is exempt. */
export async function whereOurs(request: AdmissionRequest, isOurs: (object: JsonObject) => boolean, judge: (object: JsonObject) => Promise<Verdict>): Promise<Verdict> {
  const object = request.operation === "DELETE" ? request.oldObject : request.object;
  if (object === null) return NO_OBJECT;
  if (!isOurs(object)) return NOT_OURS;
  const reason = exemptionOf(request);
  return reason === null ? await judge(object) : { outcome: "skipped", reason };
}

/** Throws ERR_NOT_READY: what was never loaded is not taken for empty. `what` is the object in a word. */
export function requireLoaded({ loaded }: Pick<SourceStatus, "loaded">, what: string): void {
  if (loaded) return;
  throw new ResolverError("ERR_NOT_READY", `the inventory has not been loaded yet, so the ${what} cannot be judged; try again in a moment`);
}

/** What the checks look at of a request for the object. */
export function judgeInputOf({ operation, oldObject, requester }: AdmissionRequest, object: JsonObject, inventory: Inventory): JudgeInput {
  return { object, requester, inventory, origin: "cluster", old: operation === "UPDATE" ? oldObject : null, ...(operation !== "CONNECT" && { operation }) };
}

export function verdictOf({ findings, denied }: Pick<Judgement, "findings" | "denied">): Verdict {
  return { outcome: denied ? "denied" : "allowed", findings };
}
