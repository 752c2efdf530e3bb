import type { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../formats/json.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../contract/ack-groups.ts";
import { objectReference } from "../formats/object-meta.ts";
import { quote } from "../formats/text.ts";
import type { Fault, QuickCheck } from "./check.ts";

/** An object whose kind is similar to IAMRoleSelector. */
interface SelectorLike {
  readonly object: JsonObject;
  /** Contains the served versions of the CRD; null if the state of the cluster is unknown. */
  readonly inventory: Inventory | null;
}

/** The version that ACK serves. */
const VERSIONS = ["v1alpha1"] as const;

export const IRS_51: QuickCheck<SelectorLike> = {
  id: "IRS-51",
  severity: "deny",
  waivable: true,
  reason: "The API server serves IAMRoleSelectors only under their exact kind, group and version. "
    + "ACK controllers ignore all other kinds, so the object selects no resource.",
  fix: `write apiVersion: ${SELECTOR_GROUP}/${VERSIONS[0]} and kind: ${SELECTOR_KIND}`,
  example: "apiVersion: services.k8s.aws/v1beta1\nkind: IamRoleSelector",
  ofChange: true,
  *find({ object, inventory }): Iterable<Fault> {
    const { group, version, kind } = objectReference(object);
    if (kind !== SELECTOR_KIND) yield { path: ["kind"], message: `${quote(kind)} is not the kind ${SELECTOR_KIND}` };
    const versions = inventory?.kinds.versions(SELECTOR_GROUP, SELECTOR_KIND)?.served ?? VERSIONS;
    if (group !== SELECTOR_GROUP) {
      yield { path: ["apiVersion"], message: `${quote(group)} is not the group ${SELECTOR_GROUP}` };
    } else if (!versions.includes(version)) {
      const message = `version ${quote(version)} of ${SELECTOR_GROUP} is not served; expected ${versions.join(" or ")}`;
      yield { path: ["apiVersion"], message };
    }
  },
};
