import type { CheckInput } from "../shared/checks/change.ts";
import { limitCheckOf } from "../shared/checks/by-kind.ts";
import { exemptionOf } from "../shared/contract/exemptions.ts";
import type { Inventory } from "../shared/inventory/inventory.ts";
import { storedObject } from "../shared/inventory/stored-object.ts";
import { type KindRow, reviewedKind, warnsOnly } from "../shared/contract/kinds.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { requireLoaded } from "../shared/server/readiness.ts";
import { type AdmissionRequest, inNamespace } from "./decode.ts";
import { type ReviewContext, runChecksInSlices, skipped, type Verdict, verdictOf } from "./handler.ts";
import { type Review, type Steps, STEPS } from "./review-steps.ts";

/**
 * Validates the object that the request writes or deletes, if the webhook reviews its kind at the path. Throws
 * ERR_NOT_READY if the inventory is not loaded yet, unless the review does not need it. Returns a promise only if the
 * review waits, for example for an access review.
 */
export function validate(request: AdmissionRequest, path: string, context: ReviewContext): Verdict | Promise<Verdict> {
  const { excess } = request;
  return excess === null ? validateObject(request, path, context) : validateExcess(request, excess, path, context);
}

function validateObject(request: AdmissionRequest, path: string, context: ReviewContext): Verdict | Promise<Verdict> {
  const object = request.operation === "DELETE" ? request.oldObject : request.object;
  if (object === null) return skipped("no object");
  const { group, kind: kindName, name } = objectReference(object);
  const kind = reviewedKind(path, { group, kind: kindName, name });
  if (kind === null || !isInScope(kind, request)) return skipped("not managed");
  const exemption = exemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  const steps: Steps = STEPS[kind.id] ?? {};
  const reason = steps.skips?.(object, request) ?? null;
  if (reason !== null) return skipped(reason);
  const { settings, source: { inventory } } = context;
  const warnOnly = warnsOnly(kind, { ...request, name }, { settings, inventory });
  const input = { ...checkInputOf(request, object, inventory), warnOnly };
  return runSteps(steps, { request, input }, context);
}

function runSteps(steps: Steps, review: Review, context: ReviewContext): Verdict | Promise<Verdict> {
  const { early, prepare, run = runChecks } = steps;
  const result = early?.(review, context) ?? null;
  if (result !== null) return verdictOf(result);
  requireLoaded(context.source.status);
  const prepared = prepare?.(review, context) ?? null;
  if (prepared === null) return mapped(run(review, context), verdictOf);
  return prepared.then(async (added) => (
    verdictOf(await run({ ...review, input: { ...review.input, ...added } }, context))
  ));
}

function runChecks({ input }: Review, context: ReviewContext): ReturnType<typeof runChecksInSlices> {
  return runChecksInSlices(input, context.settings, context);
}

/** Returns the mapped value, or a promise of it if the value is a promise. */
function mapped<T, R>(value: T | Promise<T>, map: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(map) : map(value);
}

/** Whether the webhook reviews an object of the kind in the namespace of the request. */
function isInScope({ id }: KindRow, { namespace }: AdmissionRequest): boolean {
  return id !== "resource" || namespace !== "";
}

function checkInputOf(
  { operation, oldObject, requester, namespace }: AdmissionRequest, object: JsonObject, inventory: Inventory,
): CheckInput {
  return {
    object: namespace === "" ? object : inNamespace(object, namespace), old: operation === "UPDATE" ? oldObject : null,
    requester, inventory, origin: "cluster", ...(operation !== "CONNECT" && { operation }),
  };
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
  const kind = reviewedKind(path, { ...request.kind, name: request.name === "" ? null : request.name });
  if (kind === null || !isInScope(kind, request)) return skipped("not managed");
  const stored = request.operation === "DELETE" && status.loaded ? storedObject(kind.id, request, inventory) : null;
  if (stored !== null) return validateObject({ ...request, oldObject: stored, excess: null }, path, context);
  const check = limitCheckOf(kind.id, request.operation);
  if (check === null) return skipped("not managed");
  const severity = warnsOnly(kind, request, { settings, inventory }) ? "warn" : "deny";
  const { id: code, fix } = check;
  const finding = { code, severity, path: [], message, fix, waivable: false, waived: false } as const;
  return { outcome: severity === "deny" ? "denied" : "allowed", findings: [finding] };
}
