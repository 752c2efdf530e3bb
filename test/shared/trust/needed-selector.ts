import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import type { EffectiveSelector } from "../../../shared/core/effective-selector.ts";
import { selectorObject } from "../objects.ts";
import { type Fields, ROLE } from "./trust-cases.ts";

/** Returns a selector with the annotations that `settings` names, such as `external-id`. */
export function selectorOf(settings: Readonly<Record<string, string>> = {}, spec: Fields = {}): EffectiveSelector {
  const annotations = Object.entries(settings).map(([key, value]) => [`ack-role-resolver.io/${key}`, value]);
  const object = selectorObject(
    "team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] }, ...spec },
    { annotations: Object.fromEntries(annotations) },
  );
  const { effective, faults } = judgeSelector(object, { runtime: "ack", origin: "file" });
  if (effective?.grantable !== true) throw new Error(JSON.stringify(faults));
  return effective;
}
