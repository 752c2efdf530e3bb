import { placeOf } from "../core/ack-resource.ts";
import type { PendingChanges } from "../core/pending-changes.ts";
import { controllerAccountOf } from "../core/resolution.ts";
import { SELECTORS } from "./selectors.ts";
import { EXTERNAL_ID_ANNOTATION, REPLACES_ANNOTATION } from "../core/annotation-keys.ts";
import { annotationPath } from "../formats/json.ts";
import { compareText, listOf, quote, sortedListOf } from "../formats/text.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import type { SelectorChange } from "./selector-change.ts";
import type { Inventory } from "../core/inventory.ts";
import { type ARN, parseARN, parseRoleARN, partitionOfRegion } from "../formats/arn.ts";
import type { SelectorSpec } from "../core/iamroleselector.ts";
import { by, type Repair, set } from "../core/repair.ts";
import type { SessionExtras } from "../core/session.ts";
import { isUnchanged } from "./change-set.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { annotationOf, differingExtras, shortName } from "../core/session-annotations.ts";
import { SCAN_LIMIT, tenantLabelFaults } from "../core/fault-texts.ts";
import type { ResourceChange } from "./resource-change.ts";
import { NAME_LABEL } from "../formats/names.ts";
import { controllerCheck } from "../core/any-kind.ts";
import { NEEDS } from "../core/requirements.ts";

const PATH = ["spec", "arn"] as const;

export const IRS_04: QuickCheck<SelectorChange> = {
  id: "IRS-04",
  severity: "deny",
  reason: "A selector may only use a role in an allowed account. STS cannot assume a role in another partition.",
  fix: "use a role in one of the accounts that --allowed-accounts lists",
  example: "# with --allowed-accounts 111122223333\nspec: {arn: 'arn:aws:iam::444455556666:role/elsewhere'}",
  requires: [NEEDS.allowedAccounts],
  section: "unexpectedAccounts",
  *find({ spec, old, settings: { allowedAccounts, controllerRole } }): Iterable<Fault> {
    const role = parseRoleARN(spec.arn ?? "");
    if (role === null) return;
    const partition = parseARN(controllerRole ?? "")?.partition ?? role.partition;
    if (role.partition !== partition) yield otherPartition(role, old, partition);
    if (isForbidden(role.accountID, allowedAccounts)) {
      const message = `account ${role.accountID} is not one of the allowed accounts: ${sortedListOf(allowedAccounts)}`;
      const roles = allowedAccounts.map((account) => roleIn({ ...role, accountID: account }));
      const repairs = roleRepairs(old, ({ accountID }) => !isForbidden(accountID, allowedAccounts), roles);
      yield { path: PATH, message, fix: IRS_04.fix, repairs };
    }
  },
};

/**
 * Returns the repairs that write a role that is allowed: for an update, the stored one, because the API server lets no
 * role of a selector change; otherwise the only one of `roles`.
 */
function roleRepairs(
  old: SelectorSpec | null, isAllowed: (role: ARN) => boolean, roles: readonly string[],
): readonly Repair[] {
  const stored = old?.arn ?? null;
  if (stored !== null) {
    const role = parseRoleARN(stored);
    return role !== null && isAllowed(role) ? by(set(PATH, stored)) : [];
  }
  const [role, ...others] = roles;
  // Whether a role of the name exists there is not known.
  return role === undefined || others.length > 0 ? [] : by(set(PATH, role));
}

function roleIn({ partition, accountID, resource }: ARN): string {
  return `arn:${partition}:iam::${accountID}:${resource}`;
}

/** The part of IRS-04 that compares the role with the region of the controllers. */
export const IRS_04_OF_REGION: QuickCheck<SelectorChange> = {
  ...IRS_04,
  requires: [],
  *find({ spec, old, settings: { controllerRole, region } }): Iterable<Fault> {
    const role = parseRoleARN(spec.arn ?? "");
    const partition = region === null ? null : partitionOfRegion(region);
    if (role === null || partition === null || role.partition === partition) return;
    const isReported = parseARN(controllerRole ?? "")?.partition === partition;
    if (!isReported) yield otherPartition(role, old, partition);
  },
};

function otherPartition(role: ARN, old: SelectorSpec | null, partition: string): Fault {
  const { partition: ofRole } = role;
  const repairs = roleRepairs(old, (stored) => stored.partition === partition, [roleIn({ ...role, partition })]);
  const message = `the role is in partition ${ofRole}, but the controllers are in partition ${partition}`;
  const fix = `use a role in partition ${partition}: STS cannot assume a role across partitions`;
  return { path: PATH, message, fix, repairs };
}

/** The part of IRS-04 that examines a stored resource: its account, or the account of its role in the CARM maps. */
export const IRS_04_OF_RESOURCES: QuickCheck<ResourceChange> = {
  ...IRS_04,
  on: ["AUDIT"],
  when: ({ settings }) => settings.allowedAccounts.length > 0,
  *find({ resource, resolution: { via, accountID }, settings }): Iterable<Fault> {
    const { allowedAccounts, controllerAccount } = settings;
    const { status } = resource;
    const account = status.ownerAccountID ?? (via === "selector" ? null : accountID);
    if (account === null || account === controllerAccount || !isForbidden(account, allowedAccounts)) return;
    const path = status.ownerAccountID === null
      ? ["metadata", "namespace"]
      : ["status", "ackResourceMetadata", "ownerAccountID"];
    const place = status.ownerAccountID === null
      ? "the role of the resource is in account" : placeOf(resource, "account");
    yield { path, message: `${place} ${quote(account)}, which is not one of --allowed-accounts` };
  },
};

/** Whether `--allowed-accounts` excludes the account. */
function isForbidden(account: string, allowedAccounts: readonly string[]): boolean {
  return allowedAccounts.length > 0 && !allowedAccounts.includes(account);
}

export const IRS_05: QuickCheck<SelectorChange> = {
  id: "IRS-05",
  severity: "warn",
  reason: "A role in the controller's own account does not isolate a team. "
    + "Often, the controller's own role is not allowed to assume itself.",
  fix: "use a role in the team's account, or delete the selector if the controller's own role is intended",
  example: "# with --controller-account 111122223333\nspec: {arn: 'arn:aws:iam::111122223333:role/team-a'}",
  requires: [NEEDS.controllerAccount],
  *find({ spec, settings }): Iterable<Fault> {
    const role = parseRoleARN(spec.arn ?? "");
    if (role === null) return;
    if (spec.arn === settings.controllerRole) {
      const message = "the role is the controller's own role; the controller needs no selector to use it";
      yield { path: PATH, message };
    } else if (role.accountID === controllerAccountOf(settings)) {
      yield { path: PATH, message: `account ${role.accountID} is the controller's own account` };
    }
  },
};

export const IRS_40: QuickCheck<SelectorChange> = {
  id: "IRS-40",
  severity: "deny",
  reason: "An AssumeRole request to the sidecar contains only the role. If the selectors of a role differ in "
    + "external ID, tags or another session setting, the sidecar cannot choose between them and denies the role.",
  fix: "set the same annotations on every selector of the role, or merge the selectors. To change the annotations "
    + "of several selectors, first set --check IRS-40=warn; the sidecar denies the role until the annotations match",
  example: "# while IAMRoleSelector team-b has the same role without this annotation\n"
    + "metadata: {annotations: {ack-role-resolver.io/external-id: of-team-a}}\n"
    + "spec: {arn: 'arn:aws:iam::111122223333:role/shared'}",
  *find({ after, inventory, pending }): Iterable<Fault> {
    if (after === null) return;
    const differing = new Map<string, EffectiveSelector[]>();
    let found = 0;
    for (const other of selectorsWithOtherSession(after, inventory, pending)) {
      for (const annotation of differingExtras(after.extras, other.extras)) {
        const others = differing.get(annotation) ?? [];
        others.push(other);
        differing.set(annotation, others);
      }
      if (++found === SCAN_LIMIT) break;
    }
    for (const [annotation, others] of differing) {
      // The message names the annotation but not its value, because an external ID is confidential.
      const difference = `a different ${shortName(annotation)}`;
      const message = `the selector has the same role as ${firstOf(others.map(({ name }) => name))}, but ${difference}`;
      const repairs = others.slice(0, 1).flatMap(({ extras }) => sessionRepairs(annotation, extras));
      yield { path: annotationPath(annotation), message, fix: IRS_40.fix, repairs };
    }
  },
};

/** Returns the repair that writes the setting of another selector, but never an external ID, which is confidential. */
function sessionRepairs(annotation: string, extras: SessionExtras): readonly Repair[] {
  const value = annotationOf(annotation, extras);
  if (value !== null && annotation === EXTERNAL_ID_ANNOTATION) return [];
  // A template has another value in a selector of another namespace.
  if (value?.replaceAll("{group}", "").includes("{") === true) return [];
  return by({ path: annotationPath(annotation), value: value ?? undefined });
}

/**
 * Yields the other selectors that have the role of the given selector, but different session settings. Treats the
 * pending changes as applied.
 */
function* selectorsWithOtherSession(
  { name, roleARN, extras }: EffectiveSelector, inventory: Inventory, pending: PendingChanges,
): Iterable<EffectiveSelector> {
  const differs = (other: EffectiveSelector): boolean => differingExtras(extras, other.extras).length > 0;
  for (const selectors of inventory.of(SELECTORS).sessionsOfRole(roleARN)) {
    for (const other of selectors) {
      if (!differs(other)) break; // the selectors of a set have equal session settings
      if (other.name !== name && isUnchanged(other, pending)) yield other;
    }
  }
  for (const other of pending.writes.values()) {
    if (other.name !== name && other.roleARN === roleARN && differs(other)) yield other;
  }
}

/** Returns the sorted names as text. `names` contains at most `SCAN_LIMIT` names, because the scan then stops. */
function firstOf(names: readonly string[]): string {
  return listOf(names.toSorted(compareText), names.length, SCAN_LIMIT);
}

export const IRS_24 = controllerCheck({
  id: "IRS-24",
  reason: "ACK's charts let controllers write IAMRoleSelectors. "
    + "An attacker who compromises a controller could then use any role.",
  fix: "write selectors as a user or with a deployment tool. Remove the permission to write selectors from the "
    + "controllers' ClusterRole",
  example: "# sent by system:serviceaccount:ack-system:ack-s3-controller, one of --controller-users",
  objects: "selectors",
  path: ["spec"],
});

export const IRS_25: QuickCheck<SelectorChange> = {
  id: "IRS-25",
  severity: "warn",
  reason: "Anyone who can label a namespace controls which role its resources use.",
  fix: `select by names, by ${NAME_LABEL}, or by a label that tenants cannot set`,
  example: "# with --tenant-labels team\nspec: {namespaceSelector: {labelSelector: {matchLabels: {team: payments}}}}",
  requires: [NEEDS.tenantLabels],
  *find({ spec, settings: { tenantLabels } }): Iterable<Fault> {
    const selector = spec.namespaceSelector?.labelSelector;
    if (selector) yield* tenantLabelFaults(selector, ["spec", "namespaceSelector", "labelSelector"], tenantLabels);
  },
};

/**
 * The sidecar runs this check (sidecar/probe/assume-role-probe.ts), so that no admission review waits for AWS. The
 * definition here provides the severity and the documentation of the check.
 */
export const IRS_27 = {
  id: "IRS-27",
  severity: "off",
  reason: "Only STS knows whether a role can be assumed. If this check is on, the sidecar test-assumes each role "
    + "that it grants, and reports failures in its log and in a metric. This check never denies a request.",
  fix: "allow sts:AssumeRole for the sidecar's own identity in the role's trust policy, "
    + "with the external ID and the tags that the selector sets",
  example: "# with --check IRS-27=warn, and a role whose trust policy does not name the controllers\n"
    + "spec: {arn: 'arn:aws:iam::111122223333:role/not-assumable'}",
  requires: [NEEDS.sts],
  find: () => [],
} satisfies QuickCheck<SelectorChange>;

export const IRS_07: QuickCheck<SelectorChange> = {
  id: "IRS-07",
  severity: "deny",
  reason: "If the role of a selector changes, existing resources remain in the account of the old role. The CRD "
    + "rejects this change, but cannot prevent it in two steps: one that removes spec, and one that sets the new role.",
  fix: `create a selector that has another name, the new role and the annotation ${REPLACES_ANNOTATION}: NAME of `
    + "this selector. Delete this selector once no resource needs it",
  example: "# an update from\nspec: {arn: 'arn:aws:iam::111122223333:role/old'}\n"
    + "# to\nspec: {arn: 'arn:aws:iam::111122223333:role/new'}",
  requires: [NEEDS.storedObject],
  ofChange: true,
  *find({ spec: { arn }, old }): Iterable<Fault> {
    const stored = old?.arn ?? null;
    if (stored === null || arn === stored) return;
    const change =
      arn === null ? `the role ${quote(stored)} is removed` : `the role changes from ${quote(stored)} to ${quote(arn)}`;
    yield { path: PATH, message: change, fix: IRS_07.fix, repairs: by(set(PATH, stored)) };
  },
};
