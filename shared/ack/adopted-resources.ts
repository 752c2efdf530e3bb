import { isSameContent } from "../core/exemptions.ts";
import { field, type JsonObject, stringAt } from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { quote } from "../formats/text.ts";
import { createdResource, pathInAdopted, roleNamespaceOf } from "./adopted-resource.ts";
import { type CheckInput, type Fault, hasOldObject, operationOf, type QuickCheck } from "../core/check.ts";
import { by, set } from "../core/repair.ts";
import { NEEDS } from "../core/requirements.ts";

export const ACK_41: QuickCheck<JsonObject> = {
  id: "ACK-41",
  severity: "deny",
  waivable: true,
  reason: "Before runtime 0.62, an AdoptedResource makes an ACK controller create a resource in any namespace, with "
    + "the labels that its author chooses and the rights of the controller. So the author could get a role of a "
    + "namespace in which they may create nothing.",
  fix: "create the AdoptedResource in the namespace of the resource",
  example: "spec: {kubernetes: {group: s3.services.k8s.aws, kind: Bucket, metadata: {namespace: team-b}}} "
    + "# of an AdoptedResource in namespace team-a",
  requires: [NEEDS.ownNamespace],
  section: "crossNamespace",
  *find(object): Iterable<Fault> {
    const own = namespaceOrDefault(objectReference(object).namespace);
    const target = roleNamespaceOf(object);
    if (target === own) return;
    const kind = stringAt(field(field(object, "spec"), "kubernetes"), "kind") ?? "";
    const message = `for the AdoptedResource in namespace ${quote(own)}, the controller would create the `
      + `${kind === "" ? "resource" : quote(kind)} in namespace ${quote(target)}`;
    const path = pathInAdopted(["metadata", "namespace"]);
    yield { path, message, fix: ACK_41.fix, repairs: by(set(path, own)) };
  },
};

/** The checks of an AdoptedResource itself. The checks of resources apply to the resource that it creates. */
export const ADOPTED_RESOURCE_CHECKS: readonly QuickCheck<JsonObject>[] = [ACK_41];

/**
 * Returns the creation of the resource that a write of an AdoptedResource causes; null if it causes none. Each change
 * of the spec counts as a new creation, because the controller repeats it until it succeeds. An audit finds the created
 * resource itself.
 */
export function creationOf(input: CheckInput): CheckInput | null {
  const versionOf = (group: string, kind: string): string | null => (
    input.inventory?.kinds.versions(group, kind)?.storage ?? null
  );
  const object = operationOf(input) === "AUDIT" ? null : createdResource(input.object, versionOf);
  if (object === null) return null;
  const isUnchanged = hasOldObject(input) && isSameContent(input.object, input.old);
  if (isUnchanged) return { ...input, object, old: createdResource(input.old, versionOf) };
  return { ...input, object, old: null, operation: "CREATE" };
}
