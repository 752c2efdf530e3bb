import { compareText } from "../finding.ts";
import { resourceName } from "../transition.ts";
import type { Check, Found } from "./check.ts";
import type { NamespaceChange } from "./namespace-change.ts";
import { countOf, listOf, NAMED } from "./resource-list.ts";

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
    // The first few as they were found: it may hold very many.
    const some = [...resources].slice(0, NAMED).map(resourceName).toSorted(compareText);
    yield { path: ["metadata", "name"], message: `with the namespace go ${countOf(resources.size, "resource")}: ${listOf(some, resources.size)}` };
  },
};
