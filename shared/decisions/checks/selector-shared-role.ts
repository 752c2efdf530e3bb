import { annotationPath } from "../field-path.ts";
import { differingExtras, shortName } from "../session-extras.ts";
import type { Check, Fault, SelectorChange } from "./check.ts";
import { someNames } from "./some-names.ts";

/** What differs is named and never quoted: an external ID is nobody else's business. */
export const IRS_40: Check<SelectorChange> = {
  id: "IRS-40",
  severity: "deny",
  waivable: false,
  reason: "A request to STS names the role alone, so nothing would tell whose external ID, tags or session name to send: the sidecar grants the role on none of its selectors.",
  fix: "annotate every selector of the role alike, or make one of them. To change what is annotated on several, do it under --check IRS-40=warn, since the role is granted to nobody meanwhile",
  example: "# while IAMRoleSelector team-b has the same role and no such annotation\nmetadata: {annotations: {ack-role-resolver.io/external-id: of-team-a}}\nspec: {arn: 'arn:aws:iam::111122223333:role/shared'}",
  *find({ after, inventory, leaving }): Iterable<Fault> {
    if (after === null) return;
    const unequal = new Map<string, string[]>();
    for (const other of inventory.selectorsOfRole(after.roleARN)) {
      if (other.name === after.name || leaving.has(other.name)) continue;
      for (const annotation of differingExtras(after.extras, other.extras)) unequal.set(annotation, [...(unequal.get(annotation) ?? []), other.name]);
    }
    for (const [annotation, names] of unequal) {
      yield { path: annotationPath(annotation), message: `${shortName(annotation)} differs from that of ${someNames(names)}, which ${names.length === 1 ? "has" : "have"} the same role` };
    }
  },
};
