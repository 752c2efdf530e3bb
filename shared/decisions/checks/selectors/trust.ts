import { isACKController } from "../../exemptions.ts";
import type { FieldPath } from "../../kubernetes/field-path.ts";
import { NAME_LABEL } from "../../kubernetes/names.ts";
import { quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { SelectorChange } from "./change.ts";

export const IRS_24: QuickCheck<SelectorChange> = {
  id: "IRS-24",
  severity: "deny",
  waivable: false,
  reason: "The charts of ACK let their controllers write IAMRoleSelectors, so whoever takes one over could give it any role.",
  fix: "write selectors as a person or a deployment tool, and take the right away from the controllers' ClusterRole",
  example: "# sent by system:serviceaccount:ack-system:ack-s3-controller, one of --controller-service-accounts",
  requires: ["the requester", "--controller-service-accounts"],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true, // whoever asks for the step asked for no earlier one
  *find({ requester, settings }): Iterable<Fault> {
    if (requester === null || !isACKController(requester, settings)) return;
    yield { path: ["spec"], message: `the requester ${quote(requester.username)} is an ACK controller, and those only read selectors` };
  },
};

export const IRS_25: QuickCheck<SelectorChange> = {
  id: "IRS-25",
  severity: "warn",
  waivable: false,
  reason: "Whoever may label a namespace chooses the role of all that is in it.",
  fix: "select by names, by kubernetes.io/metadata.name, or by a label that tenants may not set",
  example: "# with --tenant-labels team\nspec: {namespaceSelector: {labelSelector: {matchLabels: {team: payments}}}}",
  requires: ["--tenant-labels"],
  *find({ spec, settings: { tenantLabels } }): Iterable<Fault> {
    const selector = spec.namespaceSelector?.labelSelector;
    const path: FieldPath = ["spec", "namespaceSelector", "labelSelector"];
    const isTenants = (key: string): boolean => key !== NAME_LABEL && tenantLabels.includes(key);
    for (const key of selector?.matchLabels.keys() ?? []) {
      if (isTenants(key)) yield { path: [...path, "matchLabels", { key }], message: tenantsMaySet(key) };
    }
    for (const [i, { key }] of (selector?.matchExpressions ?? []).entries()) {
      if (isTenants(key)) yield { path: [...path, "matchExpressions", i, "key"], message: tenantsMaySet(key) };
    }
  },
};

/** The sidecar looks at it in its own time, so that no review ever waits for AWS; here it only has its place and its severity. */
export const IRS_27: QuickCheck<SelectorChange> = {
  id: "IRS-27",
  severity: "off",
  waivable: false,
  reason: "Whether a role can be assumed at all is known to STS alone. With this check the sidecar tries each role that it grants, warns in its log and counts in a metric; nothing is ever refused for it.",
  fix: "have the role's trust policy allow sts:AssumeRole to the sidecar's own identity, with the external ID and the tags that the selector asks for",
  example: "# with --check IRS-27=warn, a role whose trust policy does not name the controllers\nspec: {arn: 'arn:aws:iam::111122223333:role/nobody-may-assume'}",
  requires: ["STS"],
  find: () => [],
};

function tenantsMaySet(key: string): string {
  return `tenants may set the label ${quote(key)} on their namespaces`;
}
