import { RESOLUTION_KEYS } from "../annotation-keys.ts";
import type { DecisionSettings } from "../context.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { accountOfARN } from "../kubernetes/arn.ts";
import { quote } from "../kubernetes/text.ts";
import { resolutionAnnotations } from "../resolution/annotations.ts";
import type { Region } from "../resolution/region.ts";
import { driftsOf, type Resolution } from "../resolution/resolve.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import type { CheckEntry, Fault } from "./check.ts";
import { resolutionClause } from "./resources/change.ts";

/** The sections of the report of `audit`, in order. They are keys of its JSON output. */
export const SECTIONS = [
  "malformed", "faulty", "conflicts", "refused", "drift", "unexpectedAccounts", "onDefault", "selectingNothing",
  "staleAnnotations", "checks",
] as const;
export type Section = (typeof SECTIONS)[number];

export interface AuditedResource {
  readonly resource: ACKResource;
  readonly resolution: Resolution;
  readonly region: Region | null;
  readonly settings: DecisionSettings;
}

export interface AuditedSelector {
  readonly selector: EffectiveSelector;
  readonly selectsResource: boolean;
  readonly settings: DecisionSettings;
}

/** A check of stored objects. `audit` runs it besides the checks of changes. */
export interface AuditCheck extends CheckEntry {
  readonly section: Section;
  /** The checks of changes that report the same problem. A finding of this check replaces theirs. */
  readonly supersedes: readonly string[];
  readonly findInResource?: (subject: AuditedResource) => Iterable<Fault>;
  readonly findInSelector?: (subject: AuditedSelector) => Iterable<Fault>;
}

const NAME = ["metadata", "name"] as const;

export const AUD_01: AuditCheck = {
  id: "AUD-01",
  severity: "deny",
  waivable: false,
  section: "conflicts",
  supersedes: ["ACK-03", "ACK-04"],
  reason: "Controllers do not reconcile a resource that more than one IAMRoleSelector selects. "
    + "They set no condition on it.",
  fix: "narrow or delete all selectors but one; `resolve --explain` shows why each selects the resource",
  example: "# Two IAMRoleSelectors that select the same Bucket.",
  *findInResource({ resolution: { outcome, selectors } }) {
    if (outcome !== "conflict") return;
    const names = selectors.map(({ name }) => name).join(", ");
    yield { path: NAME, message: `${selectors.length} IAMRoleSelectors select the resource: ${names}` };
  },
};

export const AUD_02: AuditCheck = {
  id: "AUD-02",
  severity: "deny",
  waivable: false,
  section: "refused",
  supersedes: ["ACK-03", "ACK-04"],
  reason: "Controllers do not reconcile a resource for which the CARM maps contain no role.",
  fix: "add the key to the map, or correct the annotation of the namespace",
  example: "# A namespace annotated with an account for which the map has no role.",
  *findInResource({ resolution }) {
    if (resolution.outcome === "refused") yield { path: NAME, message: resolutionClause(resolution) };
  },
};

export const AUD_03: AuditCheck = {
  id: "AUD-03",
  severity: "deny",
  waivable: false,
  section: "drift",
  supersedes: [],
  reason: "Controllers never reconcile a resource that exists in a "
    + "different account or region from the one its role resolves to.",
  fix: "let a selector with a role in the account of the resource select it, or set the region back",
  example: "# A Bucket that was created in account 111122223333, selected by a role of 444455556666.",
  *findInResource({ resource, resolution, region }) {
    const drifts = driftsOf(resolution, resource.status, region);
    if (drifts.length > 0) yield { path: ["status", "ackResourceMetadata"], message: drifts.join("; ") };
  },
};

export const AUD_04: AuditCheck = {
  id: "AUD-04",
  severity: "deny",
  waivable: false,
  section: "unexpectedAccounts",
  supersedes: ["IRS-04"],
  reason: "The account of a role or a resource is not one of `--allowed-accounts`.",
  fix: "use a role in an allowed account, or add the account to --allowed-accounts",
  example: "# With --allowed-accounts 111122223333: an IAMRoleSelector with a role in 444455556666.",
  requires: ["--allowed-accounts"],
  /** Checks the account in the status, or that of the CARM map. `findInSelector` checks the accounts of selectors. */
  *findInResource({ resource: { status }, resolution: { via, accountID }, settings }) {
    const account = status.ownerAccountID ?? (via === "selector" ? null : accountID);
    if (account === null || account === settings.controllerAccount || isAllowed(account, settings)) return;
    const path = status.ownerAccountID === null
      ? ["metadata", "namespace"]
      : ["status", "ackResourceMetadata", "ownerAccountID"];
    yield { path, message: `the resource is in account ${quote(account)}, which is not one of --allowed-accounts` };
  },
  *findInSelector({ selector, settings }) {
    const account = accountOfARN(selector.roleARN);
    if (account === null || isAllowed(account, settings)) return;
    const message = `the role is in account ${account}, which is not one of --allowed-accounts`;
    yield { path: ["spec", "arn"], message };
  },
};

function isAllowed(account: string, { allowedAccounts }: DecisionSettings): boolean {
  return allowedAccounts.includes(account);
}

export const AUD_05: AuditCheck = {
  id: "AUD-05",
  severity: "warn",
  waivable: false,
  section: "onDefault",
  supersedes: ["ACK-05"],
  reason: "Controllers manage a resource that no selector selects in their own account, which is rarely intended.",
  fix: "let a selector select the resource. If the controller's own role is intended, set --check AUD-05=off",
  example: "# A Bucket in a namespace that no IAMRoleSelector selects.",
  *findInResource({ resolution: { outcome } }) {
    if (outcome !== "default") return;
    yield { path: NAME, message: "no selector or map sets a role, so the controller's own role is used" };
  },
};

export const AUD_06: AuditCheck = {
  id: "AUD-06",
  severity: "warn",
  waivable: false,
  section: "selectingNothing",
  supersedes: ["IRS-22"],
  reason: "An IAMRoleSelector that selects no resource often contains a typo, and grants its role without need.",
  fix: "correct the selector, or delete it",
  example: "# An IAMRoleSelector for a namespace without ACK resources.",
  requires: ["resources"],
  *findInSelector({ selectsResource, settings }) {
    // In mode carm the maps set the roles, and selectors select nothing.
    if (settings.mode === "carm" || selectsResource) return;
    yield { path: ["spec"], message: "the selector selects no existing resource" };
  },
};

export const AUD_07: AuditCheck = {
  id: "AUD-07",
  severity: "warn",
  waivable: false,
  section: "staleAnnotations",
  supersedes: ["ACK-02"],
  reason: "The annotations are stale: they no longer match the role that resolves for the resource. "
    + "The resource was last written before a change, or while the webhook was down.",
  fix: "write the object again, for example with `kubectl annotate --overwrite`: "
    + "the webhook then updates the annotations",
  example: "# A Bucket with the annotation of a role that its IAMRoleSelector no longer names.",
  *findInResource({ resource, resolution }) {
    if (!hasResolutionAnnotations(resource)) return;
    const expected = resolutionAnnotations(resolution);
    const stale = RESOLUTION_KEYS.filter((key) => resource.annotations.get(key) !== expected.get(key));
    const [first] = stale;
    if (first === undefined) return;
    const differences = stale.map((key) => (
      `${key} is ${valueText(resource.annotations.get(key))} but should be ${valueText(expected.get(key))}`
    ));
    yield { path: ["metadata", "annotations", { key: first }], message: differences.join("; ") };
  },
};

/** Returns whether the webhook, or a user, has set any annotation that reports the resolution. */
export function hasResolutionAnnotations({ annotations }: ACKResource): boolean {
  return RESOLUTION_KEYS.some((key) => annotations.has(key));
}

function valueText(value: string | undefined): string {
  return value === undefined ? "absent" : quote(value);
}

export const AUDIT_CHECKS: readonly AuditCheck[] = [AUD_01, AUD_02, AUD_03, AUD_04, AUD_05, AUD_06, AUD_07];
