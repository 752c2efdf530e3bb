import { test } from "tap";
import { IRS_27 } from "../../../shared/ack/selector-account.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { ROLE, selectorObject, withWaiver } from "../objects.ts";
import { changeLines, type Circumstances, linesOf, needsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const CONTROLLER = "system:serviceaccount:ack-system:ack-s3";
const settings = { controllerServiceAccounts: ["ack-system/ack-s3"] };
const WAIVED = withWaiver(selectorObject("team-a", { arn: ROLE }), "IRS-24");
const line = (username: string): string => `deny IRS-24 spec: the requester "${username}" is an ACK controller, and `
  + `ACK `
  + "controllers must not write selectors. Write selectors as a user or with a deployment tool. Remove the permission "
  + "to "
  + "write selectors from the controllers' ClusterRole.";

testRows("IRS-24: denies every change that a controller makes, and cannot be waived",
  ([username, rest]: [string, Circumstances?]) =>
    linesOf("IRS-24", WAIVED, { settings, requester: { username, groups: ["system:masters"] }, ...rest }), [
    ["CREATE", [CONTROLLER], line(CONTROLLER)],
    ["UPDATE", [CONTROLLER, { old: WAIVED }], line(CONTROLLER)],
    ["DELETE", [CONTROLLER, { operation: "DELETE" }], line(CONTROLLER)],
    ["--controller-users", ["capability-1", { settings: { controllerUsers: ["capability-*"] } }], line("capability-1")],
    ["another account", ["system:serviceaccount:ack-system:ack-s3-2"]],
    ["another namespace", ["system:serviceaccount:ack-s3:ack-system"]],
    ["a user of the same name", ["ack-system/ack-s3"]],
    ["a user", ["jane"]],
  ]);

test("IRS-24: is skipped if no requester or no controller is known", (t) => {
  const needs = (rest: Circumstances): string | null => needsOf("IRS-24", { arn: ROLE }, rest);
  t.equal(needs({}), "the requester, --controller-users");
  t.equal(needs({ settings }), "the requester");
  t.equal(needs({ requester: { username: CONTROLLER, groups: [] } }), "--controller-users");
  t.equal(needs({ settings, requester: { username: "jane", groups: [] } }), null);
  t.end();
});

const NAME = "kubernetes.io/metadata.name";
const byTenant = (path: string): string => `warn IRS-25 spec.namespaceSelector.labelSelector.${path}: tenants can set `
  + `the `
  + `label "team" on their namespaces. Select by names, by ${NAME}, or by a label that tenants cannot set.`;
const TWO = [{ key: "env", operator: "Exists" }, { key: "team", operator: "Exists" }];

testRows("IRS-25: warns about a namespace label that tenants can set",
  ([labelSelector, tenantLabels = ["team", NAME]]: [JsonObject | undefined, string[]?]) => changeLines(
    "IRS-25",
    { arn: ROLE, namespaceSelector: { labelSelector }, resourceLabelSelector: { matchLabels: { team: "a" } } },
    { settings: { tenantLabels, runtime: "extended" } },
  ), [
    ["a label", [{ matchLabels: { env: "prod", team: "a" } }], byTenant("matchLabels[team]")],
    ["an expression", [{ matchExpressions: TWO }], byTenant("matchExpressions[1].key")],
    ["the API server sets the label", [{ matchLabels: { env: "prod", [NAME]: "team-a" } }]],
    ["another label", [{ matchLabels: { team: "a" } }, ["env"]]],
    ["labels of resources", [undefined]],
  ]);

test("IRS-25: ignores a selector without a namespace selector, and requires --tenant-labels", (t) => {
  t.same(changeLines("IRS-25", { arn: ROLE }, { settings: { tenantLabels: ["team"] } }), []);
  t.equal(needsOf("IRS-25", { arn: ROLE }), "--tenant-labels");
  t.end();
});

test("IRS-27: is off by default, never denies a selector, and is skipped because it requires STS", (t) => {
  const spec = { arn: ROLE, namespaceSelector: { names: ["team-a"] } };
  t.equal(needsOf("IRS-27", spec), null, "IRS-27 is off by default");
  for (const severity of ["warn", "deny"] as const) {
    const on = { settings: { checkSeverities: new Map([["IRS-27", severity]]) } };
    t.equal(needsOf("IRS-27", spec, on), "STS");
    t.same(changeLines("IRS-27", spec, on), []);
  }
  t.same(IRS_27.find(), [], "the sidecar runs this check");
  t.end();
});
