import { ResolverError } from "../formats/errors.ts";
import type { SourceStatus } from "../sources/source.ts";
import type { Readiness } from "./health.ts";

/** The maximum age of the inventory, in ms. With an older inventory, the server is unready. */
const MAX_STALENESS_MS = 300_000;

interface InventoryReadinessInput {
  readonly inventory: SourceStatus;
  /** The current time of the steady clock, which sets `inventory.lastSyncMs`, in ms. */
  readonly steadyMs: number;
}

export interface WebhookReadinessInput extends InventoryReadinessInput {
  /** The current time in ms since the Unix epoch, which decides whether the certificate is expired. */
  readonly nowMs: number;
  readonly draining: boolean;
  /** The expiry time of the serving certificate. */
  readonly certificateNotAfter: Date;
  /** The names of the webhook for which the serving certificate is not valid. */
  readonly missingHosts: readonly string[];
}

export interface SidecarReadinessInput extends InventoryReadinessInput {
  /** The state of the sidecar's base identity. */
  readonly base: { readonly usable: boolean; readonly fault: string | null };
  /** The watches beside the inventory. */
  readonly watched: readonly WatchedState[];
}

/** The state of a watch. */
export interface WatchedState {
  /** What is watched, in the singular and with its article. */
  readonly subject: string;
  readonly status: SourceStatus;
}

const MS_PER_SECOND = 1000;

/** Whether the inventory is loaded, and at most 5 minutes old at the time of the steady clock. */
export function isCurrent({ loaded, lastSyncMs }: SourceStatus, steadyMs: number): boolean {
  return loaded && lastSyncMs !== null && steadyMs - lastSyncMs <= MAX_STALENESS_MS;
}

/** Returns the error of a request that needs an inventory that is not loaded yet, or is too old. */
export function notLoaded({ lastSyncMs }: Pick<SourceStatus, "lastSyncMs">): ResolverError {
  const state = lastSyncMs === null ? "not loaded yet" : "older than 5 minutes";
  return new ResolverError("ERR_NOT_READY", `The inventory is ${state}. Retry in a moment.`);
}

/**
 * Returns ready if the inventory is loaded and not older than 5 minutes, no watch stalls, the certificate is valid, and
 * the webhook is not draining. A certificate for other names is only a warning: the API server may call another name.
 */
export function webhookReadiness(input: WebhookReadinessInput): Readiness {
  const { inventory, steadyMs, nowMs, draining, certificateNotAfter, missingHosts } = input;
  const state = stateOf("the inventory", inventory, steadyMs);
  const missing = `the serving certificate is not valid for ${missingHosts.join(", ")}`;
  return readiness([
    reasonIf(draining, "the webhook is shutting down"),
    // Another replica may have a connection that works.
    inventory.isStalled === true ? { reasons: [...state.reasons, ...state.warnings], warnings: [] } : state,
    reasonIf(
      nowMs >= certificateNotAfter.getTime(), `the serving certificate expired at ${certificateNotAfter.toISOString()}`,
    ),
    { reasons: [], warnings: missingHosts.length === 0 ? [] : [missing] },
  ]);
}

/**
 * Returns ready if the inventory and what else is watched are loaded and not older than 5 minutes, and the base
 * identity is usable. The sidecar remains ready during an STS outage, because it still serves cached sessions,
 * which a restart would lose. With an inventory that is older than 5 minutes, the sidecar still issues credentials, but
 * it is unready so that operators notice the fault.
 */
export function sidecarReadiness({ inventory, steadyMs, base, watched }: SidecarReadinessInput): Readiness {
  return readiness([
    stateOf("the inventory", inventory, steadyMs),
    reasonIf(!base.usable, base.fault ?? "STS has not verified the base identity yet"),
    ...watched.map(({ subject, status }) => stateOf(subject, status, steadyMs)),
  ]);
}

/** What one part of a server contributes to its readiness. */
type Part = Omit<Readiness, "ready">;

function readiness(parts: readonly Part[]): Readiness {
  const reasons = parts.flatMap((part) => part.reasons);
  return { ready: reasons.length === 0, reasons, warnings: parts.flatMap(({ warnings }) => warnings) };
}

function reasonIf(isUnready: boolean, reason: string): Part {
  return { reasons: isUnready ? [reason] : [], warnings: [] };
}

/** Returns a warning as soon as the source is stale, and a reason when its age exceeds 5 minutes. */
function stateOf(subject: string, status: SourceStatus, steadyMs: number): Part {
  const { loaded, lastSyncMs, fault } = status;
  // A fault can have several lines.
  const cause = fault === null ? "" : `: ${fault.replaceAll("\n", "; ")}`;
  if (!loaded || lastSyncMs === null) return reasonIf(true, `${subject} is not loaded yet${cause}`);
  const [age, maximum] = [steadyMs - lastSyncMs, MAX_STALENESS_MS].map((ms) => Math.ceil(ms / MS_PER_SECOND));
  const { reasons } = reasonIf(
    !isCurrent(status, steadyMs), `${subject} is ${age} s old (maximum: ${maximum} s)${cause}`,
  );
  const stale = `${subject} is stale, and was last current ${age} s ago${cause}`;
  return { reasons, warnings: fault === null ? [] : [stale] };
}
