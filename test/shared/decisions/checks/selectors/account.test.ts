import { test } from "tap";
import { ROLE, selectorObject } from "../../objects.ts";
import { changeLines, type Circumstances, findingsOf, needsOf } from "../selector-changes.ts";

const found = (id: string, arn: unknown, settings: Circumstances["settings"], rest: Circumstances = {}): string[] => changeLines(id, { arn }, { settings: settings ?? {}, ...rest });
const FIX_04 = "Write a role of one of the accounts that --allowed-accounts lists.";
const FIX_05 = "Write a role in the account of the team, or leave the selector out if the controllers' own role is meant.";

test("IRS-04: a role outside the allowed accounts is caught", (t) => {
  const allowedAccounts = ["444455556666", "777788889999"];
  t.same(found("IRS-04", ROLE, { allowedAccounts }), [`IRS-04 spec.arn: account 111122223333 is not an allowed one: 444455556666 and 777788889999. ${FIX_04}`]);
  t.same(found("IRS-04", ROLE, { allowedAccounts: ["444455556666", "111122223333"] }), []);
  t.same(found("IRS-04", "arn:aws:iam::111122223333:user/jane", { allowedAccounts }), [], "what is no role, other checks speak of");
  t.same(found("IRS-04", null, { allowedAccounts }), []);
  t.end();
});

test("IRS-04: a role of another partition than the controllers' is caught, and both faults at once", (t) => {
  const controllerRole = "arn:aws-cn:iam::111122223333:role/ack";
  const other = "IRS-04 spec.arn: the role is in partition aws, and the controllers are in aws-cn. "
    + "Write a role in partition aws-cn: no role can be assumed from another partition.";
  t.same(found("IRS-04", ROLE, { controllerRole }), [other]);
  t.same(found("IRS-04", ROLE, { controllerRole, allowedAccounts: ["444455556666"] }), [other, `IRS-04 spec.arn: account 111122223333 is not an allowed one: 444455556666. ${FIX_04}`]);
  t.same(found("IRS-04", "arn:aws-cn:iam::444455556666:role/team-a", { controllerRole }), []);
  t.end();
});

test("IRS-04 is denied whoever waives it, excused by the stored object alone, and wants a setting", (t) => {
  const waived = selectorObject("team-a", { arn: ROLE }, { annotations: { "ack-role-resolver.io/allow": "IRS-04" } });
  const circumstances: Circumstances = { settings: { allowedAccounts: ["444455556666"] }, requester: { username: "root", groups: ["system:masters"] } };
  t.match(findingsOf("IRS-04", waived, circumstances), [{ severity: "deny", waivable: false, waived: false }]);
  t.match(findingsOf("IRS-04", waived, { ...circumstances, old: selectorObject("team-a", { arn: ROLE }) }), [{ severity: "warn" }]);
  t.equal(needsOf("IRS-04", { arn: ROLE }), "--allowed-accounts or --controller-role");
  t.equal(needsOf("IRS-04", { arn: ROLE }, circumstances), null);
  t.equal(needsOf("IRS-04", { arn: ROLE }, { settings: { controllerRole: ROLE } }), null);
  t.end();
});

test("IRS-05: the controllers' own role is caught, and any other of their account", (t) => {
  const own = `IRS-05 spec.arn: the role is the controllers' own, which they use without a selector. ${FIX_05}`;
  const account = `IRS-05 spec.arn: account 111122223333 is the controllers' own. ${FIX_05}`;
  t.same(found("IRS-05", ROLE, { controllerRole: ROLE }), [own]);
  t.same(found("IRS-05", ROLE, { controllerRole: ROLE, controllerAccount: "111122223333" }), [own]);
  t.same(found("IRS-05", ROLE, { controllerRole: `${ROLE}-2` }), [account], "the role says the account too");
  t.same(found("IRS-05", ROLE, { controllerAccount: "111122223333" }), [account]);
  t.same(found("IRS-05", ROLE, { controllerAccount: "444455556666" }), []);
  t.same(found("IRS-05", undefined, { controllerAccount: "444455556666" }), []);
  t.equal(needsOf("IRS-05", { arn: ROLE }), "--controller-account or --controller-role");
  t.end();
});

test("IRS-23: other selectors for the same role are counted and the first are named", (t) => {
  const others = ["d", "c", "b", "a"].map((name) => selectorObject(name, { arn: ROLE, namespaceSelector: { names: [name] } }));
  const line = (what: string): string[] => [`IRS-23 spec.arn: ${what}. Put them into one selector where that can be said, and see that no resource is selected by two.`];
  t.same(found("IRS-23", ROLE, {}, { known: others }), line("4 other selectors for the same role: a, b, c and 1 more"));
  t.same(found("IRS-23", ROLE, {}, { known: others.slice(2, 3) }), line("1 other selector for the same role: b"));
  t.same(found("IRS-23", `${ROLE}-2`, {}, { known: others }), []);
  t.same(found("IRS-23", ROLE, {}, { known: [selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["a"] } })] }), [], "itself as it is stored");
  t.same(found("IRS-23", "not-an-arn", {}, { known: [selectorObject("a", { arn: "not-an-arn" })] }), [], "what takes no part");
  const replacer = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["a"] } }, { annotations: { "ack-role-resolver.io/replaces": "a,b" } });
  t.same(findingsOf("IRS-23", replacer, { known: others }).map(({ message }) => message), ["2 other selectors for the same role: c and d"], "what it replaces is about to go");
  t.end();
});
