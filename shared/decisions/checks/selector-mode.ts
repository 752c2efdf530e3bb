import { ACCOUNT_MAP, TEAM_MAP } from "../carm.ts";
import type { Inventory } from "../inventory.ts";
import type { DecisionSettings } from "../settings.ts";
import type { Check, Fault, SelectorChange } from "./check.ts";
import { countOf } from "./resource-list.ts";
import { someNames } from "./some-names.ts";

const PATH = ["spec"] as const;

/** A controller takes one of them: it exits at start where both are on (aws-controllers-k8s/runtime pkg/config/config.go). */
export const IRS_26: Check<SelectorChange> = {
  id: "IRS-26",
  severity: "warn",
  waivable: false,
  reason: "A controller resolves roles by CARM or by selectors, never by both: where CARM is on, a selector has no effect.",
  fix: "run every controller with the feature gate IAMRoleSelector and --enable-carm=false, then remove the maps and the annotations",
  example: "# with --mode carm, or while ConfigMap ack-system/ack-role-account-map has entries\nspec: {arn: 'arn:aws:iam::111122223333:role/team-a', namespaceSelector: {names: [team-a]}}",
  *find({ inventory, settings }): Iterable<Fault> {
    if (settings.mode === "carm") {
      yield { path: PATH, message: "the controllers resolve roles by CARM (--mode carm), so the selector will have no effect", fix: CARM_FIX };
      return;
    }
    const uses = usesOfCARM(inventory, settings);
    if (uses.length > 0) yield { path: PATH, message: `CARM is still in use (${uses.join("; ")}), and controllers that run with it ignore selectors` };
  },
};

const CARM_FIX = "give the namespace its role by the CARM maps, or switch the controllers and --mode to selectors";

function usesOfCARM(inventory: Inventory, { ackSystemNamespace }: DecisionSettings): string[] {
  const maps = [ACCOUNT_MAP, TEAM_MAP].flatMap((name) => {
    const keys = inventory.configMap(ackSystemNamespace, name)?.size ?? 0;
    return keys === 0 ? [] : [`ConfigMap ${ackSystemNamespace}/${name} has ${countOf(keys, "key")}`];
  });
  const { size } = inventory.namespacesOfCARM;
  return size === 0 ? maps : [...maps, `${countOf(size, "namespace")} annotated: ${someNames(inventory.namespacesOfCARM)}`];
}
