import type { JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { type CheckContext, type CheckEntry, type Fault, isComplete, type QuickCheck } from "./check.ts";
import { misspelledNamespace } from "./fault-texts.ts";
import { meant } from "./repair.ts";

/** What IRS-10 says of each object that names a namespace. */
export const UNKNOWN_NAMESPACE = {
  id: "IRS-10",
  severity: "warn",
  reason: "A selector selects nothing in a namespace that does not exist, for example a misspelled one. "
    + "Resources of the intended namespace fall back to the controller's own account. The check also finds labels that "
    + "are similar to those of a resource and, in manifests, misspelled namespaces of resources, and labels that are "
    + "similar to those of a namespace.",
  fix: "correct the name, or create the namespace",
  example: "spec: {namespaceSelector: {names: [team-that-does-not-exist]}}",
} as const satisfies CheckEntry;

const PATH = ["metadata", "namespace"] as const;

/** A change of an object that belongs to a namespace. */
interface ObjectChange extends CheckContext {
  readonly object: JsonObject;
}

/** IRS-10 for the manifest of an ACK resource or of an object that refers to an identity. */
export const IRS_10_OF_OBJECTS: QuickCheck<ObjectChange> = {
  ...UNKNOWN_NAMESPACE,
  requires: [],
  // The API server stores an object only in a namespace that exists.
  when: ({ origin }) => origin !== "cluster",
  *find({ object, inventory, origin, settings }): Iterable<Fault> {
    const { namespace } = objectReference(object);
    const message = misspelledNamespace(inventory, namespace);
    if (message === null) return;
    const repairs = meant(PATH, inventory.namespaces.misspelledBy(namespace));
    const isSure = isComplete({ origin, settings });
    yield { path: PATH, message, repairs: isSure ? repairs : repairs.map(({ edits }) => ({ edits })) };
  },
};
