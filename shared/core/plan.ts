import type { DecisionSettings, Occasion, Severity } from "./context.ts";
import { ALWAYS_DENYING, OTHER_CHECKS } from "./profiles.ts";
import type { CheckEntry, Finding, Requirement } from "./check.ts";
import type { StoreKey } from "./store.ts";

/** A check of a list that applies on an occasion. */
export interface PlannedCheck {
  /** As it applies on the occasion. */
  readonly check: CheckEntry;
  /** The index in the list. */
  readonly index: number;
  readonly requires: readonly Requirement[];
  /** The stores that the check reads while some of their kinds may not be listed. */
  readonly partialStores: readonly StoreKey[];
}

const BY_DEFAULT: readonly Occasion[] = ["CREATE", "UPDATE", "AUDIT"];

type Plans = WeakMap<readonly CheckEntry[], Partial<Record<Occasion, readonly PlannedCheck[]>>>;

const PLANS = new WeakMap<DecisionSettings, Plans>();

/**
 * Returns the checks of the list that apply on the occasion and are not off. Remembers the result, because a server
 * asks for the same few lists with the same settings at each review.
 */
export function plannedChecks(
  checks: readonly CheckEntry[], occasion: Occasion, settings: DecisionSettings,
): readonly PlannedCheck[] {
  let ofSettings = PLANS.get(settings);
  if (ofSettings === undefined) PLANS.set(settings, ofSettings = new WeakMap());
  let ofChecks = ofSettings.get(checks);
  if (ofChecks === undefined) ofSettings.set(checks, ofChecks = {});
  return (ofChecks[occasion] ??= plan(checks, occasion, settings));
}

function plan(checks: readonly CheckEntry[], occasion: Occasion, settings: DecisionSettings): readonly PlannedCheck[] {
  return checks.flatMap((listed, index) => {
    const check = occasion === "AUDIT" ? { ...listed, ...listed.inAudit } : listed;
    const { requires = [] } = check;
    if (!runsOn(check, occasion) || severityOf(check, settings) === "off") return [];
    const partialStores = requires.flatMap(({ store }) => (store?.isPartial === true ? [store] : []));
    return [{ check, index, requires, partialStores }];
  });
}

/** Returns whether the check runs on the occasion. */
export function runsOn({ on = BY_DEFAULT }: Pick<CheckEntry, "on">, occasion: Occasion): boolean {
  return on.includes(occasion);
}

/** Returns the configured severity of a check, or its default in the current mode and profile. */
export function severityOf(
  check: CheckEntry, { checkSeverities, mode }: Pick<DecisionSettings, "checkSeverities" | "mode">,
): Severity | "off" {
  const { id, fixed = false, deniesInCARM = false } = check;
  const own = deniesInCARM && mode !== "carm" ? "warn" : check.severity;
  const others = ALWAYS_DENYING.has(id) ? undefined : checkSeverities.get(OTHER_CHECKS);
  const byProfile = others === undefined || own !== "deny" ? own : others;
  return fixed ? byProfile : checkSeverities.get(id) ?? byProfile;
}

export const WARNING = { severity: "warn" } as const;
export const DENIAL = { severity: "deny" } as const;
const WOULD_DENY = { severity: "warn", wouldDeny: true } as const;

/** Returns what a new fault does that nobody waives. */
export function verdictOfFault(
  check: CheckEntry, settings: Pick<DecisionSettings, "checkSeverities" | "enforcedSeverities" | "mode">,
): Pick<Finding, "severity" | "wouldDeny"> {
  if (severityOf(check, settings) === "deny") return DENIAL;
  const { enforcedSeverities: checkSeverities, mode } = settings;
  return checkSeverities !== null && severityOf(check, { checkSeverities, mode }) === "deny" ? WOULD_DENY : WARNING;
}

/** Returns whether the severity of the check is not "off". */
export function isCheckEnabled(
  { id, severity }: CheckEntry, { checkSeverities }: Pick<DecisionSettings, "checkSeverities">,
): boolean {
  return (checkSeverities.get(id) ?? severity) !== "off";
}
