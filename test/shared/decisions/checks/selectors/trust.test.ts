import { test } from "tap";
import { findingLine } from "../../../../../shared/checks/check.ts";
import { IRS_27 } from "../../../../../shared/checks/selector-trust.ts";
import { ROLE, selectorObject } from "../../objects.ts";
import { changeLines, type Circumstances, findingsOf, needsOf } from "../selector-changes.ts";

const CONTROLLER = "system:serviceaccount:ack-system:ack-s3";
const SETTINGS = { controllerServiceAccounts: ["ack-system/ack-s3"] };
const sentBy = (username: string, rest: Circumstances = {}): Circumstances => ({
  settings: SETTINGS,
  requester: { username, groups: ["system:masters"] },
  ...rest,
});

test("IRS-24: denies every change that a controller makes, and cannot be waived", (t) => {
  const selector = selectorObject(
    "team-a",
    { arn: ROLE, namespaceSelector: { names: ["team-a"] } },
    { annotations: { "ack-role-resolver.io/allow": "IRS-24" } },
  );
  const findings = findingsOf("IRS-24", selector, sentBy(CONTROLLER));
  t.same(findings.map(findingLine), [
    `IRS-24 spec: the requester "${CONTROLLER}" is an ACK controller, and ACK controllers must not write selectors. `
      + "Write selectors as a user or with a deployment tool. Remove the permission to write selectors "
      + "from the controllers' ClusterRole.",
  ]);
  for (const rest of [{}, { old: structuredClone(selector) }, { operation: "DELETE" }] as const) {
    t.match(findingsOf("IRS-24", selector, sentBy(CONTROLLER, rest)), [
      { severity: "deny", waivable: false, waived: false },
    ]);
  }
  t.end();
});

test("IRS-24: allows other requesters, and is skipped if no requester or no controller is known", (t) => {
  for (const username of [
    "system:serviceaccount:ack-system:ack-s3-2",
    "system:serviceaccount:ack-s3:ack-system",
    "ack-system/ack-s3",
    "jane",
  ]) {
    t.same(changeLines("IRS-24", { arn: ROLE }, sentBy(username)), []);
  }
  t.equal(needsOf("IRS-24", { arn: ROLE }), "the requester, --controller-users");
  t.equal(needsOf("IRS-24", { arn: ROLE }, { settings: SETTINGS }), "the requester");
  const users = { settings: { controllerUsers: ["capability-*"] } };
  const byUser = changeLines("IRS-24", { arn: ROLE }, { ...sentBy("capability-1"), ...users });
  t.match(byUser, [/^IRS-24 spec: the requester "capability-1" is an ACK controller/]);
  t.equal(
    needsOf("IRS-24", { arn: ROLE }, { requester: { username: CONTROLLER, groups: [] } }),
    "--controller-users",
  );
  t.equal(needsOf("IRS-24", { arn: ROLE }, sentBy("jane")), null);
  t.end();
});

test("IRS-25: warns about a namespace label that tenants can set", (t) => {
  const NAME = "kubernetes.io/metadata.name";
  const of = (labelSelector: unknown, tenantLabels = ["team", NAME]): string[] =>
    changeLines(
      "IRS-25",
      { arn: ROLE, namespaceSelector: { labelSelector }, resourceLabelSelector: { matchLabels: { team: "a" } } },
      { settings: { tenantLabels, runtime: "extended" } },
    );
  const line = (path: string): string =>
    `IRS-25 spec.namespaceSelector.labelSelector.${path}: tenants can set the label "team" on their namespaces. `
      + `Select by names, by ${NAME}, or by a label that tenants cannot set.`;
  t.same(of({ matchLabels: { env: "prod", team: "a" } }), [line("matchLabels[team]")]);
  t.same(
    of({
      matchExpressions: [
        { key: "env", operator: "Exists" },
        { key: "team", operator: "Exists" },
      ],
    }),
    [line("matchExpressions[1].key")],
  );
  t.same(of({ matchLabels: { env: "prod", [NAME]: "team-a" } }), [], "the API server sets this label");
  t.same(of({ matchLabels: { team: "a" } }, ["env"]), []);
  t.same(of(undefined), [], "labels of resources");
  t.same(changeLines("IRS-25", { arn: ROLE }, { settings: { tenantLabels: ["team"] } }), []);
  t.equal(needsOf("IRS-25", { arn: ROLE }), "--tenant-labels");
  t.end();
});

test("IRS-27: is off by default, never denies a selector, and is skipped because it requires STS", (t) => {
  const spec = { arn: ROLE, namespaceSelector: { names: ["team-a"] } };
  t.equal(needsOf("IRS-27", spec), null, "IRS-27 is off by default");
  for (const severity of ["warn", "deny"] as const) {
    const settings = { checkSeverities: new Map([["IRS-27", severity]]) };
    t.equal(needsOf("IRS-27", spec, { settings }), "STS");
    t.same(changeLines("IRS-27", spec, { settings }), []);
  }
  t.same(IRS_27.find(), [], "the sidecar runs this check");
  t.end();
});
