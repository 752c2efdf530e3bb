import type { FieldPath } from "../field-path.ts";
import { quote } from "../quote.ts";
import { isACKController } from "../requesters.ts";
import { NAME_LABEL } from "../selector-index.ts";
import type { Check, Fault, SelectorChange } from "./check.ts";

export const IRS_24: Check<SelectorChange> = {
  id: "IRS-24",
  severity: "deny",
  waivable: false,
  reason: "The charts of ACK let their controllers write IAMRoleSelectors, so whoever takes one over could give it any role.",
  fix: "write selectors as a person or a deployment tool, and take the right away from the controllers' ClusterRole",
  example: "# sent by system:serviceaccount:ack-system:ack-s3-controller, one of --controller-service-accounts",
  needs: ["the requester", "--controller-service-accounts"],
  on: ["CREATE", "UPDATE", "DELETE"],
  ofChange: true, // whoever asks for the step asked for no earlier one
  *find({ requester, settings }): Iterable<Fault> {
    if (requester === null || !isACKController(requester, settings)) return;
    yield { path: ["spec"], message: `the requester ${quote(requester.username)} is an ACK controller, and those only read selectors` };
  },
};

export const IRS_25: Check<SelectorChange> = {
  id: "IRS-25",
  severity: "warn",
  waivable: false,
  reason: "Whoever may label a namespace chooses the role of all that is in it.",
  fix: "select by names, by kubernetes.io/metadata.name, or by a label that tenants may not set",
  example: "# with --tenant-labels team\nspec: {namespaceSelector: {labelSelector: {matchLabels: {team: payments}}}}",
  needs: ["--tenant-labels"],
  *find({ written, settings: { tenantLabels } }): Iterable<Fault> {
    const selector = written.namespaceSelector?.labelSelector;
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

function tenantsMaySet(key: string): string {
  return `tenants may set the label ${quote(key)} on their namespaces`;
}
