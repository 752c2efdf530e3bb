import { test } from "tap";
import { findingLine } from "../../../../../shared/decisions/checks/finding.ts";
import type { SelectorChange } from "../../../../../shared/decisions/checks/selectors/change.ts";
import { IRS_27 } from "../../../../../shared/decisions/checks/selectors/trust.ts";
import { ROLE, selectorObject } from "../../objects.ts";
import { changeLines, type Circumstances, findingsOf, needsOf } from "../selector-changes.ts";

const CONTROLLER = "system:serviceaccount:ack-system:ack-s3";
const SETTINGS = { controllerServiceAccounts: ["ack-system/ack-s3"] };
const sent = (username: string, rest: Circumstances = {}): Circumstances => ({ settings: SETTINGS, requester: { username, groups: ["system:masters"] }, ...rest });

test("IRS-24: whatever a controller does to a selector is denied, and never waived", (t) => {
  const selector = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }, { annotations: { "ack-role-resolver.io/allow": "IRS-24" } });
  const findings = findingsOf("IRS-24", selector, sent(CONTROLLER));
  t.same(findings.map(findingLine), [
    `IRS-24 spec: the requester "${CONTROLLER}" is an ACK controller, and those only read selectors. `
      + "Write selectors as a person or a deployment tool, and take the right away from the controllers' ClusterRole.",
  ]);
  for (const rest of [{}, { old: structuredClone(selector) }, { operation: "DELETE" }] as const) {
    t.match(findingsOf("IRS-24", selector, sent(CONTROLLER, rest)), [{ severity: "deny", waivable: false, waived: false }]);
  }
  t.end();
});

test("IRS-24: others are let through, and without the list or a requester it is not applied", (t) => {
  for (const username of ["system:serviceaccount:ack-system:ack-s3-2", "system:serviceaccount:ack-s3:ack-system", "ack-system/ack-s3", "jane"]) {
    t.same(changeLines("IRS-24", { arn: ROLE }, sent(username)), []);
  }
  t.equal(needsOf("IRS-24", { arn: ROLE }), "the requester, --controller-service-accounts");
  t.equal(needsOf("IRS-24", { arn: ROLE }, { settings: SETTINGS }), "the requester");
  t.equal(needsOf("IRS-24", { arn: ROLE }, { requester: { username: CONTROLLER, groups: [] } }), "--controller-service-accounts");
  t.equal(needsOf("IRS-24", { arn: ROLE }, sent("jane")), null);
  t.end();
});

test("IRS-25: labels of namespaces that tenants may set are caught", (t) => {
  const NAME = "kubernetes.io/metadata.name";
  const of = (labelSelector: unknown, tenantLabels = ["team", NAME]): string[] =>
    changeLines("IRS-25", { arn: ROLE, namespaceSelector: { labelSelector }, resourceLabelSelector: { matchLabels: { team: "a" } } }, { settings: { tenantLabels, runtime: "extended" } });
  const line = (path: string): string =>
    `IRS-25 spec.namespaceSelector.labelSelector.${path}: tenants may set the label "team" on their namespaces. `
      + `Select by names, by ${NAME}, or by a label that tenants may not set.`;
  t.same(of({ matchLabels: { env: "prod", team: "a" } }), [line("matchLabels[team]")]);
  t.same(of({ matchExpressions: [{ key: "env", operator: "Exists" }, { key: "team", operator: "Exists" }] }), [line("matchExpressions[1].key")]);
  t.same(of({ matchLabels: { env: "prod", [NAME]: "team-a" } }), [], "the API server itself sets that one");
  t.same(of({ matchLabels: { team: "a" } }, ["env"]), []);
  t.same(of(undefined), [], "the labels of resources are another matter");
  t.same(changeLines("IRS-25", { arn: ROLE }, { settings: { tenantLabels: ["team"] } }), []);
  t.equal(needsOf("IRS-25", { arn: ROLE }), "--tenant-labels");
  t.end();
});

test("IRS-27 is off, once it is on says that STS alone knows, and refuses nothing by itself", (t) => {
  const spec = { arn: ROLE, namespaceSelector: { names: ["team-a"] } };
  t.equal(needsOf("IRS-27", spec), null, "off by default");
  for (const severity of ["warn", "deny"] as const) {
    const settings = { checkSeverities: new Map([["IRS-27", severity]]) };
    t.equal(needsOf("IRS-27", spec, { settings }), "STS");
    t.same(changeLines("IRS-27", spec, { settings }), []);
  }
  t.same([...IRS_27.find({} as SelectorChange)], [], "the sidecar runs this check");
  t.end();
});
