import { ACK_GROUPS, serviceOf } from "../core/ack-groups.ts";
import { resourceName } from "../core/ack-resource.ts";
import { DELETION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import { NAMESPACE_DELETION, type NamespaceChange } from "../core/namespace-change.ts";
import { by, remove, rename } from "../core/repair.ts";
import { DELETION_POLICY } from "../core/value-types.ts";
import { deletionPolicyRepairs } from "../core/meant-values.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { closest } from "../formats/nearest.ts";
import { compareText, countOf, listOf, MAX_NAMES, quote } from "../formats/text.ts";
import { ACK_NEEDS } from "./requirements.ts";
import { RESOURCES } from "./resources.ts";

/** Matches the annotation key for the deletion policy of a service, such as `s3.services.k8s.aws/deletion-policy`. */
const SERVICE_POLICY = /^(.+)\.services\.k8s\.aws\/deletion-policy$/;

export const NS_09: QuickCheck<NamespaceChange> = {
  id: "NS-09",
  severity: "deny",
  reason: "Controllers treat any policy except delete as retain. The AWS resources then remain in AWS, and controllers "
    + "log no warning. A controller reads only the policy of its own service, in lower case: for another service, the "
    + "check warns.",
  fix: "set the deletion policy to delete or retain",
  example: "metadata: {annotations: {s3.services.k8s.aws/deletion-policy: Delete}}",
  *find({ inventory, state }): Iterable<Fault> {
    for (const [key, value] of state.annotations) {
      const path = annotationPath(key);
      const [, service] = SERVICE_POLICY.exec(key) ?? [];
      if (key === DELETION_POLICY_ANNOTATION) {
        const message = "the deletion policy names no service, so controllers ignore it on a namespace";
        yield { path, message, fix: SERVICE_FIX, repairs: by(remove(path)), severity: "warn" };
      }
      if (service === undefined) continue;
      if (value !== "" && DELETION_POLICY.faults(value).length > 0) {
        const message = `${quote(value)} is not a deletion policy, so controllers treat it as retain`;
        yield { path, message, repairs: deletionPolicyRepairs(path, value) };
      }
      yield* serviceFaults({ path, value, others: state.annotations }, service, inventory.kinds.groups);
    }
  },
};

const SERVICE_FIX = "use SERVICE.services.k8s.aws/deletion-policy with the lower-case name of the service, such as s3";

interface ServicePolicy {
  readonly path: FieldPath;
  readonly value: string;
  readonly others: ReadonlyMap<string, string>;
}

function* serviceFaults(
  { path, value, others }: ServicePolicy, service: string, installed: ReadonlySet<string>,
): Iterable<Fault> {
  const group = `${service}.services.k8s.aws`;
  if (ACK_GROUPS.includes(group) || installed.has(group)) return;
  const meant = closest(service, ACK_GROUPS.map(serviceOf));
  const message = `${quote(service)} is not an ACK service, so controllers ignore the annotation`;
  const fix = meant === null ? SERVICE_FIX : `use ${meant}.${DELETION_POLICY_ANNOTATION} if you meant ${meant}`;
  const key = `${meant ?? ""}.${DELETION_POLICY_ANNOTATION}`;
  const edits = meant === null || others.has(key) ? [remove(path)] : rename(path, { key }, value);
  yield { path, message, fix, repairs: by(...edits), severity: "warn" };
}

export const NS_13: QuickCheck<NamespaceChange> = {
  ...NAMESPACE_DELETION,
  requires: [ACK_NEEDS.resources],
  *find({ inventory, name }): Iterable<Fault> {
    const resources = inventory.of(RESOURCES).inNamespace(name);
    if (resources.size === 0) return;
    // Sorts only the resources that the message lists, because a namespace may contain many resources.
    const some = [...resources].slice(0, MAX_NAMES).map(resourceName).toSorted(compareText);
    const list = `${countOf(resources.size, "resource")}: ${listOf(some, resources.size)}`;
    yield { path: ["metadata", "name"], message: `the deletion of the namespace also deletes ${list}` };
  },
};
