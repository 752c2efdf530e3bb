import type { Check, Found } from "./check.ts";
import { namedResources } from "./named-resources.ts";
import type { NamespaceChange } from "./namespace-change.ts";

export const NS_13: Check<NamespaceChange> = {
  id: "NS-13",
  severity: "warn",
  waivable: false,
  reason: "ACK resources wait for their finalizers, which need the namespace's labels and annotations and the selectors of its resources until the last of them is gone.",
  fix: "leave the namespace's labels and annotations and the selectors of its resources as they are until it is gone",
  example: "kubectl delete namespace team-a # while a Bucket is in it",
  needs: ["resources"],
  on: ["DELETE"],
  *find({ inventory, name }): Found {
    const resources = inventory.resources.inNamespace(name);
    if (resources.size === 0) return;
    yield { path: ["metadata", "name"], message: `with the namespace go ${namedResources([...resources])}` };
  },
};
