import { parseARN, parseRoleARN } from "../../kubernetes/arn.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { countOf, someNames } from "../../kubernetes/text.ts";
import { controllerAccountOf } from "../../resolution/resolve.ts";
import { differingExtras, shortName } from "../../selectors/session-annotations.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { SelectorChange } from "./change.ts";
import { isReplacing } from "./effects.ts";

const PATH = ["spec", "arn"] as const;

export const IRS_04: QuickCheck<SelectorChange> = {
  id: "IRS-04",
  severity: "deny",
  waivable: false,
  reason: "A role of another partition can never be assumed, and one outside the allowed accounts must not be.",
  fix: "write a role of one of the accounts that --allowed-accounts lists",
  example: "# with --allowed-accounts 111122223333\nspec: {arn: 'arn:aws:iam::444455556666:role/elsewhere'}",
  requires: ["--allowed-accounts or --controller-role"],
  *find({ spec, settings: { allowedAccounts, controllerRole } }): Iterable<Fault> {
    const role = parseRoleARN(spec.arn ?? "");
    if (role === null) return;
    const partition = parseARN(controllerRole ?? "")?.partition ?? role.partition;
    if (role.partition !== partition) {
      const fix = `write a role in partition ${partition}: no role can be assumed from another partition`;
      yield { path: PATH, message: `the role is in partition ${role.partition}, and the controllers are in ${partition}`, fix };
    }
    if (allowedAccounts.length > 0 && !allowedAccounts.includes(role.accountID)) {
      yield { path: PATH, message: `account ${role.accountID} is not an allowed one: ${someNames(allowedAccounts)}` };
    }
  },
};

export const IRS_05: QuickCheck<SelectorChange> = {
  id: "IRS-05",
  severity: "warn",
  waivable: false,
  reason: "A role in the controllers' own account keeps nothing apart, and their own role may not be allowed to assume itself.",
  fix: "write a role in the account of the team, or leave the selector out if the controllers' own role is meant",
  example: "# with --controller-account 111122223333\nspec: {arn: 'arn:aws:iam::111122223333:role/team-a'}",
  requires: ["--controller-account or --controller-role"],
  *find({ spec, settings }): Iterable<Fault> {
    const role = parseRoleARN(spec.arn ?? "");
    if (role === null) return;
    if (spec.arn === settings.controllerRole) yield { path: PATH, message: "the role is the controllers' own, which they use without a selector" };
    else if (role.accountID === controllerAccountOf(settings)) yield { path: PATH, message: `account ${role.accountID} is the controllers' own` };
  },
};

export const IRS_23: QuickCheck<SelectorChange> = {
  id: "IRS-23",
  severity: "warn",
  waivable: false,
  reason: "Two selectors for one role are often one in two pieces, and where both select a resource they conflict, equal roles or not.",
  fix: "put them into one selector where that can be said, and see that no resource is selected by two",
  example: "# while IAMRoleSelector team-b has the same role\nspec: {arn: 'arn:aws:iam::111122223333:role/shared', namespaceSelector: {names: [team-a]}}",
  *find({ inventory, spec, after }): Iterable<Fault> {
    if (after === null) return;
    const sharing = [...inventory.selectorsOfRole(after.roleARN)].filter((other) => other.name !== spec.name && !isReplacing(after, other));
    const others = sharing.map(({ name }) => name);
    if (others.length > 0) yield { path: PATH, message: `${countOf(others.length, "other selector")} for the same role: ${someNames(others)}` };
  },
};

/** What differs is named and never quoted: an external ID is nobody else's business. */
export const IRS_40: QuickCheck<SelectorChange> = {
  id: "IRS-40",
  severity: "deny",
  waivable: false,
  reason: "A request to STS names the role alone, so nothing would tell whose external ID, tags or session name to send: the sidecar grants the role on none of its selectors.",
  fix: "annotate every selector of the role alike, or make one of them. To change what is annotated on several, do it under --check IRS-40=warn, since the role is granted to nobody meanwhile",
  example: "# while IAMRoleSelector team-b has the same role and no such annotation\nmetadata: {annotations: {ack-role-resolver.io/external-id: of-team-a}}\nspec: {arn: 'arn:aws:iam::111122223333:role/shared'}",
  *find({ after, inventory, pendingDeletions }): Iterable<Fault> {
    if (after === null) return;
    const unequal = new Map<string, string[]>();
    for (const other of inventory.selectorsOfRole(after.roleARN)) {
      if (other.name === after.name || pendingDeletions.has(other.name)) continue;
      for (const annotation of differingExtras(after.extras, other.extras)) unequal.set(annotation, [...(unequal.get(annotation) ?? []), other.name]);
    }
    for (const [annotation, names] of unequal) {
      yield { path: annotationPath(annotation), message: `${shortName(annotation)} differs from that of ${someNames(names)}, which ${names.length === 1 ? "has" : "have"} the same role` };
    }
  },
};
