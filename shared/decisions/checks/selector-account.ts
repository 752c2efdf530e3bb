import { controllerAccountOf } from "../resolve.ts";
import { parseARN, parseRoleARN } from "../role-arn.ts";
import type { Check, Fault, SelectorChange } from "./check.ts";
import { countOf } from "./resource-list.ts";
import { isReplacing } from "./selector-effects.ts";
import { someNames } from "./some-names.ts";

const PATH = ["spec", "arn"] as const;

export const IRS_04: Check<SelectorChange> = {
  id: "IRS-04",
  severity: "deny",
  waivable: false,
  reason: "A role of another partition can never be assumed, and one outside the allowed accounts must not be.",
  fix: "write a role of one of the accounts that --allowed-accounts lists",
  example: "# with --allowed-accounts 111122223333\nspec: {arn: 'arn:aws:iam::444455556666:role/elsewhere'}",
  needs: ["--allowed-accounts or --controller-role"],
  *find({ written, settings: { allowedAccounts, controllerRole } }): Iterable<Fault> {
    const role = parseRoleARN(written.arn ?? "");
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

export const IRS_05: Check<SelectorChange> = {
  id: "IRS-05",
  severity: "warn",
  waivable: false,
  reason: "A role in the controllers' own account keeps nothing apart, and their own role may not be allowed to assume itself.",
  fix: "write a role in the account of the team, or leave the selector out if the controllers' own role is meant",
  example: "# with --controller-account 111122223333\nspec: {arn: 'arn:aws:iam::111122223333:role/team-a'}",
  needs: ["--controller-account or --controller-role"],
  *find({ written, settings }): Iterable<Fault> {
    const role = parseRoleARN(written.arn ?? "");
    if (role === null) return;
    if (written.arn === settings.controllerRole) yield { path: PATH, message: "the role is the controllers' own, which they use without a selector" };
    else if (role.accountID === controllerAccountOf(settings)) yield { path: PATH, message: `account ${role.accountID} is the controllers' own` };
  },
};

export const IRS_23: Check<SelectorChange> = {
  id: "IRS-23",
  severity: "warn",
  waivable: false,
  reason: "Two selectors for one role are often one in two pieces, and where both select a resource they conflict, equal roles or not.",
  fix: "put them into one selector where that can be said, and see that no resource is selected by two",
  example: "# while IAMRoleSelector team-b has the same role\nspec: {arn: 'arn:aws:iam::111122223333:role/shared', namespaceSelector: {names: [team-a]}}",
  *find({ inventory, written, after }): Iterable<Fault> {
    if (after === null) return;
    const sharing = [...inventory.selectorsOfRole(after.roleARN)].filter((other) => other.name !== written.name && !isReplacing(after, other));
    const others = sharing.map(({ name }) => name);
    if (others.length > 0) yield { path: PATH, message: `${countOf(others.length, "other selector")} for the same role: ${someNames(others)}` };
  },
};
