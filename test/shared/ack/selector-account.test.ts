import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { describeRepairs } from "../../../shared/core/repair.ts";
import { ADMIN, FIRST, ROLE, roleIn, SECOND, selectorObject, withWaiver } from "../objects.ts";
import { changeLines, findingsOf, linesOf, needsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

type Input = readonly [arn: unknown, settings: Partial<DecisionSettings>];
const of = (id: string) => ([arn, settings]: Input): string[] => changeLines(id, { arn }, { settings });
const OTHERS = { allowedAccounts: ["444455556666"] };
const IN_CHINA = { controllerRole: "arn:aws-cn:iam::111122223333:role/ack" };
const notAllowed = (accounts: string): string => `deny IRS-04 spec.arn: account 111122223333 is not one of the allowed `
  + `accounts: ${accounts}. Use a role in one of the accounts that --allowed-accounts lists.`;
const PARTITION = "deny IRS-04 spec.arn: the role is in partition aws, but the controllers are in partition aws-cn. "
  + "Use a role in partition aws-cn: STS cannot assume a role across partitions.";

testRows("IRS-04: denies a role in an account or partition that is not allowed", of("IRS-04"), [
  ["not listed", [ROLE, { allowedAccounts: ["444455556666", "777788889999"] }],
    notAllowed("444455556666 and 777788889999")],
  ["listed", [ROLE, { allowedAccounts: ["444455556666", "111122223333"] }]],
  ["other checks report an ARN that is not a role", ["arn:aws:iam::111122223333:user/jane", OTHERS]],
  ["no role", [null, OTHERS]],
  ["another partition", [ROLE, IN_CHINA], PARTITION],
  ["another partition and account", [ROLE, { ...IN_CHINA, ...OTHERS }], PARTITION, notAllowed("444455556666")],
  ["the same partition", ["arn:aws-cn:iam::444455556666:role/team-a", IN_CHINA]],
]);

testRows("IRS-04: denies a role in another partition than the region of the controllers", of("IRS-04"), [
  ["a region in China", [ROLE, { region: "cn-north-1" }], PARTITION],
  ["as --controller-role says too", [ROLE, { ...IN_CHINA, region: "cn-north-1" }], PARTITION],
  ["the partition of the role", [ROLE, { region: "eu-west-1" }]],
  ["a region of a new partition", [ROLE, { region: "new-north-1" }]],
  ["other checks report an ARN that is not a role", ["arn:aws:iam::111122223333:user/jane", { region: "cn-north-1" }]],
  ["no role", [undefined, { region: "cn-north-1" }]],
]);

test("IRS-04: cannot be waived, warns but does not deny if the role is unchanged, and requires a setting", (t) => {
  const waived = withWaiver(selectorObject("team-a", { arn: ROLE }), "IRS-04");
  const circumstances = { settings: OTHERS, requester: ADMIN };
  t.same(linesOf("IRS-04", waived, circumstances), [notAllowed("444455556666")]);
  const old = selectorObject("team-a", { arn: ROLE });
  t.match(linesOf("IRS-04", waived, { ...circumstances, old }), [/^warn IRS-04/]);
  t.equal(needsOf("IRS-04", { arn: ROLE }), "--allowed-accounts or --controller-role");
  t.equal(needsOf("IRS-04", { arn: ROLE }, circumstances), null);
  t.equal(needsOf("IRS-04", { arn: ROLE }, { settings: { controllerRole: ROLE } }), null);
  t.equal(needsOf("IRS-05", { arn: ROLE }), "--controller-account or --controller-role");
  t.end();
});

const own = (what: string): string => `warn IRS-05 spec.arn: ${what}. Use a role in the team's account, or delete the `
  + "selector if the controller's own role is intended.";
const OWN_ROLE = own("the role is the controller's own role; the controller needs no selector to use it");
const OWN_ACCOUNT = own("account 111122223333 is the controller's own account");

testRows("IRS-05: warns about the controller's own role, and roles in the controller's account", of("IRS-05"), [
  ["the own role", [ROLE, { controllerRole: ROLE, controllerAccount: "111122223333" }], OWN_ROLE],
  ["the account of --controller-role", [ROLE, { controllerRole: `${ROLE}-2` }], OWN_ACCOUNT],
  ["the account of --controller-account", [ROLE, { controllerAccount: "111122223333" }], OWN_ACCOUNT],
  ["another account", [ROLE, { controllerAccount: "444455556666" }]],
  ["no role", [undefined, { controllerAccount: "444455556666" }]],
]);

test("IRS-04 restores the role before an update only if that one is allowed", (t) => {
  const settings = { allowedAccounts: [FIRST] };
  const repairsOf = (before: string): unknown => (
    findingsOf("IRS-04", selectorObject("s", { arn: roleIn(SECOND) }), {
      old: selectorObject("s", { arn: before }), operation: "UPDATE", settings,
    }).map(({ repairs = [], path }) => describeRepairs(repairs, path))
  );
  t.same(repairsOf(roleIn(FIRST)), [`write "${roleIn(FIRST)}"`]);
  t.same(repairsOf(roleIn(SECOND, "other")), [null]);
  t.same(repairsOf("no role"), [null]);
  t.end();
});
