import { test } from "tap";
import { ROLE, selectorObject } from "../../objects.ts";
import { changeLines, type Circumstances, findingsOf, needsOf } from "../selector-changes.ts";

const linesOf = (id: string, arn: unknown, settings: Circumstances["settings"], rest: Circumstances = {}): string[] =>
  changeLines(id, { arn }, { settings: settings ?? {}, ...rest });
const FIX_04 = "Use a role in one of the accounts that --allowed-accounts lists.";
const FIX_05 = "Use a role in the team's account, or delete the selector if the controller's own role is intended.";

test("IRS-04: denies a role whose account is not one of --allowed-accounts", (t) => {
  const allowedAccounts = ["444455556666", "777788889999"];
  t.same(linesOf("IRS-04", ROLE, { allowedAccounts }), [
    "IRS-04 spec.arn: account 111122223333 is not one of the allowed accounts: 444455556666 and 777788889999. "
      + FIX_04,
  ]);
  t.same(linesOf("IRS-04", ROLE, { allowedAccounts: ["444455556666", "111122223333"] }), []);
  t.same(
    linesOf("IRS-04", "arn:aws:iam::111122223333:user/jane", { allowedAccounts }),
    [],
    "other checks report an ARN that is not a role",
  );
  t.same(linesOf("IRS-04", null, { allowedAccounts }), []);
  t.end();
});

test("IRS-04: denies a role in another partition than the controllers, and reports its account too", (t) => {
  const controllerRole = "arn:aws-cn:iam::111122223333:role/ack";
  const other = "IRS-04 spec.arn: the role is in partition aws, but the controllers are in partition aws-cn. "
    + "Use a role in partition aws-cn: STS cannot assume a role across partitions.";
  t.same(linesOf("IRS-04", ROLE, { controllerRole }), [other]);
  t.same(linesOf("IRS-04", ROLE, { controllerRole, allowedAccounts: ["444455556666"] }), [
    other,
    `IRS-04 spec.arn: account 111122223333 is not one of the allowed accounts: 444455556666. ${FIX_04}`,
  ]);
  t.same(linesOf("IRS-04", "arn:aws-cn:iam::444455556666:role/team-a", { controllerRole }), []);
  t.end();
});

test("IRS-04: cannot be waived, warns but does not deny if the role is unchanged, and requires a setting", (t) => {
  const waived = selectorObject("team-a", { arn: ROLE }, { annotations: { "ack-role-resolver.io/allow": "IRS-04" } });
  const circumstances: Circumstances = {
    settings: { allowedAccounts: ["444455556666"] },
    requester: { username: "root", groups: ["system:masters"] },
  };
  t.match(findingsOf("IRS-04", waived, circumstances), [{ severity: "deny", waivable: false, waived: false }]);
  t.match(findingsOf("IRS-04", waived, { ...circumstances, old: selectorObject("team-a", { arn: ROLE }) }), [
    { severity: "warn" },
  ]);
  t.equal(needsOf("IRS-04", { arn: ROLE }), "--allowed-accounts or --controller-role");
  t.equal(needsOf("IRS-04", { arn: ROLE }, circumstances), null);
  t.equal(needsOf("IRS-04", { arn: ROLE }, { settings: { controllerRole: ROLE } }), null);
  t.end();
});

test("IRS-05: warns about the controller's own role, and about other roles in the controller's account", (t) => {
  const own = "IRS-05 spec.arn: the role is the controller's own role; the controller needs no selector to use it. "
    + FIX_05;
  const account = `IRS-05 spec.arn: account 111122223333 is the controller's own account. ${FIX_05}`;
  t.same(linesOf("IRS-05", ROLE, { controllerRole: ROLE }), [own]);
  t.same(linesOf("IRS-05", ROLE, { controllerRole: ROLE, controllerAccount: "111122223333" }), [own]);
  t.same(linesOf("IRS-05", ROLE, { controllerRole: `${ROLE}-2` }), [account], "the account of --controller-role");
  t.same(linesOf("IRS-05", ROLE, { controllerAccount: "111122223333" }), [account]);
  t.same(linesOf("IRS-05", ROLE, { controllerAccount: "444455556666" }), []);
  t.same(linesOf("IRS-05", undefined, { controllerAccount: "444455556666" }), []);
  t.equal(needsOf("IRS-05", { arn: ROLE }), "--controller-account or --controller-role");
  t.end();
});
