import { type AdmissionRequest, inNamespace } from "../shared/core/admission.ts";
import { type Kind, warnsOnly } from "../shared/core/kind.ts";
import { judgeOfKind, limitCheckOf, runChecks, storedObject } from "../shared/judges.ts";
import type { CheckEntry, CheckInput, Finding } from "../shared/core/check.ts";
import { DENIAL, verdictOfFault, WARNING } from "../shared/core/plan.ts";
import type { DecisionSettings } from "../shared/core/context.ts";
import { exemptionOf } from "../shared/core/exemptions.ts";
import { OTHER_CHECKS } from "../shared/core/profiles.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import type { Inventory } from "../shared/core/inventory.ts";
import { managedKind, type Review, type ReviewContext, skipped, type Verdict, verdictOf } from "./review.ts";
import { runReview } from "./run-review.ts";

/**
 * Validates the object that the request writes or deletes, if the webhook reviews its kind at the path. Throws
 * ERR_NOT_READY if the inventory is not loaded yet, unless the review does not need it. Returns a promise only if the
 * review waits, for example for an access review.
 */
export function validate(request: AdmissionRequest, path: string, context: ReviewContext): Verdict | Promise<Verdict> {
  const { excess } = request;
  return excess === null ? validateObject(request, path, context) : validateExcess(request, excess, path, context);
}

/**
 * Returns whether the object of a failed review must be denied although the profile admits it: because of a check that
 * denies in every profile or that `--check` sets to deny, or because such a check fails too.
 */
export function deniesInEveryProfile(request: AdmissionRequest, path: string, context: JudgedIn): boolean {
  if (request.excess !== null) return true;
  const checkSeverities = new Map([...context.settings.checkSeverities, [OTHER_CHECKS, "off"] as const]);
  try {
    const reviewed = reviewOf(request, path, context);
    return "review" in reviewed && runChecks(reviewed.review.input, { ...context.settings, checkSeverities }).denied;
  } catch {
    return true;
  }
}

type JudgedIn = Pick<ReviewContext, "settings" | "source">;

function validateObject(request: AdmissionRequest, path: string, context: ReviewContext): Verdict | Promise<Verdict> {
  const reviewed = reviewOf(request, path, context);
  return "review" in reviewed ? mapped(runReview(reviewed.review, context), verdictOf) : reviewed;
}

/** Returns the review of the object, or why the object is not reviewed. */
function reviewOf(
  request: AdmissionRequest, path: string, { settings, source: { inventory } }: JudgedIn,
): Verdict | { readonly review: Review } {
  const object = request.operation === "DELETE" ? request.oldObject : request.object;
  if (object === null) return skipped("no object");
  const { group, kind: kindName, name } = objectReference(object);
  const kind = managedKind(path, { group, kind: kindName, name }, settings);
  if (kind === null || !isInScope(kind, request)) return skipped("not managed");
  const exemption = exemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  const reason = judgeOfKind(kind)?.skips?.(object, request) ?? null;
  if (reason !== null) return skipped(reason);
  const { operation, namespace, requester } = request;
  const warnsIn: Review["warnsIn"] = (namespaces) => (
    warnsOnly(kind, { operation, namespace, name, requester }, { settings, inventory: namespaces })
  );
  const input = checkInputOf(request, object, { inventory, warnOnly: warnsIn(inventory) });
  return { review: { kind, request, input, warnsIn } };
}

/** Returns the mapped value, or a promise of it if the value is a promise. */
function mapped<T, R>(value: T | Promise<T>, map: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(map) : map(value);
}

/** Whether the webhook reviews an object of the kind in the namespace of the request. */
function isInScope({ id }: Kind, { namespace }: AdmissionRequest): boolean {
  return id !== "resource" || namespace !== "";
}

function checkInputOf(
  { operation, oldObject, requester, namespace }: AdmissionRequest, object: JsonObject,
  { inventory, warnOnly }: Required<Pick<CheckInput, "warnOnly">> & { readonly inventory: Inventory },
): CheckInput {
  // Rights are those in the namespace of the request, whatever namespace a forged object has.
  const isInNamespace = namespace !== "" || objectReference(object).namespace !== "";
  const input = {
    object: isInNamespace ? inNamespace(object, namespace) : object, old: operation === "UPDATE" ? oldObject : null,
    requester, inventory, origin: "cluster", warnOnly,
  } as const;
  return operation === "CONNECT" ? input : { ...input, operation };
}

/**
 * Validates a request whose objects are unknown, because it exceeds a limit: denies it if the webhook checks objects of
 * this kind and name, or only warns like the checks. Users can delete such an object if no other check denies it,
 * judged by the fields in the inventory.
 */
function validateExcess(
  request: AdmissionRequest, message: string, path: string, context: ReviewContext,
): Verdict | Promise<Verdict> {
  const { settings, source: { inventory, status } } = context;
  // The review of a deleted collection has no name.
  const kind = managedKind(path, { ...request.kind, name: request.name === "" ? null : request.name }, settings);
  if (kind === null || !isInScope(kind, request)) return skipped("not managed");
  const stored = request.operation === "DELETE" && status.loaded ? storedObject(kind, request, inventory) : null;
  if (stored !== null) return validateObject({ ...request, oldObject: stored, excess: null }, path, context);
  const check = limitCheckOf(kind, request.operation);
  if (check === null) return skipped("not managed");
  const isHarmless = warnsOnly(kind, request, { settings, inventory });
  const { id: code, fix } = check;
  const verdict = isHarmless ? WARNING : verdictOnUnread(kind, check, request, settings);
  const finding = { code, ...verdict, path: [], message, fix, waivable: false, waived: false };
  return verdictOf({ denied: finding.severity === "deny", findings: [finding] });
}

/** Returns what the limit does. Each profile denies an object that nobody can read if it can have a new waiver. */
function verdictOnUnread(
  { id }: Kind, limit: CheckEntry, { operation }: AdmissionRequest, settings: DecisionSettings,
): Pick<Finding, "severity" | "wouldDeny"> {
  const mayHaveWaiver = operation !== "DELETE" && id !== "cluster-part";
  return mayHaveWaiver ? DENIAL : verdictOfFault({ ...limit, fixed: true }, settings);
}
