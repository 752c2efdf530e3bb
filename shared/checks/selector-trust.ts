import type { FieldPath } from "../formats/json.ts";
import { NAME_LABEL } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { controllerCheck } from "./any-kind.ts";
import type { SelectorChange } from "./selector-change.ts";

export const IRS_24 = controllerCheck({
  id: "IRS-24",
  reason: "ACK's charts let controllers write IAMRoleSelectors. "
    + "An attacker who compromises a controller could then use any role.",
  fix: "write selectors as a user or with a deployment tool. Remove the permission to write selectors from the "
    + "controllers' ClusterRole",
  example: "# sent by system:serviceaccount:ack-system:ack-s3-controller, one of --controller-users",
  objects: "selectors",
  path: ["spec"],
});

export const IRS_25: QuickCheck<SelectorChange> = {
  id: "IRS-25",
  severity: "warn",
  waivable: false,
  reason: "Anyone who can label a namespace controls which role its resources use.",
  fix: `select by names, by ${NAME_LABEL}, or by a label that tenants cannot set`,
  example: "# with --tenant-labels team\nspec: {namespaceSelector: {labelSelector: {matchLabels: {team: payments}}}}",
  requires: ["--tenant-labels"],
  *find({ spec, settings: { tenantLabels } }): Iterable<Fault> {
    const selector = spec.namespaceSelector?.labelSelector;
    const path: FieldPath = ["spec", "namespaceSelector", "labelSelector"];
    const isTenantLabel = (key: string): boolean => key !== NAME_LABEL && tenantLabels.includes(key);
    for (const key of selector?.matchLabels.keys() ?? []) {
      if (isTenantLabel(key)) yield { path: [...path, "matchLabels", { key }], message: tenantLabelMessage(key) };
    }
    for (const [i, { key }] of (selector?.matchExpressions ?? []).entries()) {
      if (isTenantLabel(key)) yield { path: [...path, "matchExpressions", i, "key"], message: tenantLabelMessage(key) };
    }
  },
};

function tenantLabelMessage(key: string): string {
  return `tenants can set the label ${quote(key)} on their namespaces`;
}

/**
 * The sidecar runs this check (sidecar/probe/assume-role-probe.ts), so that no admission review waits for AWS. The
 * definition here provides the severity and the documentation of the check.
 */
export const IRS_27 = {
  id: "IRS-27",
  severity: "off",
  waivable: false,
  reason: "Only STS knows whether a role can be assumed. If this check is on, the sidecar test-assumes each role "
    + "that it grants, and reports failures in its log and in a metric. This check never denies a request.",
  fix: "allow sts:AssumeRole for the sidecar's own identity in the role's trust policy, "
    + "with the external ID and the tags that the selector sets",
  example: "# with --check IRS-27=warn, and a role whose trust policy does not name the controllers\n"
    + "spec: {arn: 'arn:aws:iam::111122223333:role/not-assumable'}",
  requires: ["STS"],
  find: () => [],
} satisfies QuickCheck<SelectorChange>;
