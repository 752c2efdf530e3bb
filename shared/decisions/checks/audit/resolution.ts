import { RESOLUTION_KEYS, USE_SELECTOR_ANNOTATION } from "../../annotation-keys.ts";
import type { DecisionSettings } from "../../context.ts";
import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import { accountOfARN } from "../../kubernetes/arn.ts";
import { quote } from "../../kubernetes/text.ts";
import { staleAnnotations } from "../../resolution/annotations.ts";
import { driftsOf, type Resolution } from "../../resolution/resolve.ts";
import type { Fault } from "../check.ts";
import { resolutionClause } from "../resources/change.ts";
import type { AuditCheck } from "./audit-check.ts";

const NAME = ["metadata", "name"] as const;

export const AUD_01 = {
  id: "AUD-01",
  severity: "deny",
  waivable: false,
  section: "conflicts",
  supersedes: ["ACK-03"],
  reason: "Controllers do not reconcile a resource that more than one IAMRoleSelector selects. "
    + "No condition on the resource reports the conflict.",
  fix: "restrict or delete selectors until only one selects the resource; "
    + "`resolve --explain` shows why each selector selects the resource",
  example: "# Two IAMRoleSelectors that select the same Bucket.",
  *findInResource({ resolution: { outcome, selectors } }) {
    if (outcome !== "conflict") return;
    const names = selectors.map(({ name }) => name).join(", ");
    yield { path: NAME, message: `${selectors.length} IAMRoleSelectors select the resource: ${names}` };
  },
} satisfies AuditCheck;

export const AUD_02 = {
  id: "AUD-02",
  severity: "deny",
  waivable: false,
  section: "refused",
  supersedes: ["ACK-03"],
  reason: "Controllers do not reconcile a resource whose role is missing from the CARM maps, or whose annotation "
    + `\`${USE_SELECTOR_ANNOTATION}\` names a selector that does not select the resource (\`--runtime extended\`).`,
  fix: "add the missing key to the CARM map, correct the account or team annotation of the namespace, or name a "
    + `selector that selects the resource in ${USE_SELECTOR_ANNOTATION}`,
  example: "# A namespace whose annotation names an account that has no role in the map.",
  *findInResource({ resolution }) {
    if (resolution.outcome === "refused") yield { path: NAME, message: resolutionClause(resolution) };
  },
} satisfies AuditCheck;

export const AUD_03 = {
  id: "AUD-03",
  severity: "deny",
  waivable: false,
  section: "drift",
  supersedes: [],
  reason: "Controllers never reconcile a resource that exists in a different account from its role, or in a different "
    + "region from its desired region.",
  fix: "use a selector whose role is in the account of the resource, or restore the region of the resource",
  example: "# A Bucket that exists in account 111122223333, while its selector has a role in 444455556666.",
  *findInResource({ resource, resolution, region }) {
    const drifts = driftsOf(resolution, resource.status, region);
    if (drifts.length > 0) yield { path: ["status", "ackResourceMetadata"], message: drifts.join("; ") };
  },
} satisfies AuditCheck;

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
  /** Checks the account of the resource or of its CARM role. `findInSelector` checks the accounts of selectors. */
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

export const AUD_05 = {
  id: "AUD-05",
  severity: "warn",
  waivable: false,
  section: "onDefault",
  supersedes: ["ACK-05"],
  reason: "If no selector selects a resource, controllers manage the resource in their own account. "
    + "This is rarely intended.",
  fix: "create a selector that selects the resource, "
    + "or set --check AUD-05=off if resources are meant to use the controller's own role",
  example: "# A Bucket in a namespace that no IAMRoleSelector selects.",
  *findInResource({ resolution: { outcome } }) {
    if (outcome !== "default") return;
    yield { path: NAME, message: "no selector or CARM map sets the role, so the controller uses its own role" };
  },
} satisfies AuditCheck;

export const AUD_06: AuditCheck = {
  id: "AUD-06",
  severity: "warn",
  waivable: false,
  section: "selectingNothing",
  supersedes: ["IRS-22"],
  reason: "An IAMRoleSelector that selects no resource contains a typo or is no longer needed.",
  fix: "correct the selector, or delete it",
  example: "# An IAMRoleSelector for a namespace without ACK resources.",
  requires: ["resources"],
  *findInSelector({ selectsResource, settings }) {
    // In mode carm, selectors have no effect.
    if (settings.mode === "carm" || selectsResource) return;
    yield { path: ["spec"], message: "the selector selects no existing resource" };
  },
};

export const AUD_07: AuditCheck = {
  id: "AUD-07",
  severity: "warn",
  waivable: false,
  section: "staleAnnotations",
  supersedes: ["ACK-02", "AC-09"],
  reason: "The annotations are stale: they no longer match the role that resolves for the resource, or the identity "
    + "that resolves for the cluster. "
    + "It changed after the last write of the object, or the webhook was down during that write.",
  fix: "wait until the webhook updates the annotations, or write the object again, for example with "
    + "`kubectl annotate --overwrite`",
  example: "# A Bucket whose annotation names the previous role of its IAMRoleSelector.",
  findInResource: ({ resource, resolution }) => staleFaults(resource, resolution),
  findInReferrer: ({ referrer, resolution }) => staleFaults(referrer, resolution),
};

function* staleFaults(
  { annotations }: Pick<ACKResource, "annotations">, resolution: Resolution,
): Iterable<Fault> {
  if (!hasResolutionAnnotations({ annotations })) return;
  const stale = staleAnnotations(annotations, resolution);
  const [first] = stale.keys();
  if (first === undefined) return;
  const differences = Array.from(stale, ([key, expected]) => (
    `${key} is ${valueText(annotations.get(key))} but should be ${valueText(expected)}`
  ));
  yield { path: ["metadata", "annotations", { key: first }], message: differences.join("; ") };
}

/** Returns whether the object has any annotation that reports its resolved role or identity. */
export function hasResolutionAnnotations({ annotations }: Pick<ACKResource, "annotations">): boolean {
  return RESOLUTION_KEYS.some((key) => annotations.has(key));
}

function valueText(value: string | null | undefined): string {
  return value === undefined || value === null ? "absent" : quote(value);
}
