import type { Resolution } from "../core/resolution.ts";
import { RESOLUTION_KEYS } from "../core/annotation-keys.ts";
import { annotationPath } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { staleAnnotations } from "../core/resolution-annotations.ts";
import type { CheckContext, Fault, QuickCheck } from "../core/check.ts";
import type { ClusterChange } from "../capa/cluster-reference.ts";
import { RESOLUTION, type ResourceChange } from "./resource-change.ts";

type Annotations = ReadonlyMap<string, string>;

export const ACK_02: QuickCheck<ResourceChange> = {
  id: "ACK-02",
  severity: "warn",
  reason: "Only the webhook writes the annotations that report the role of a resource or the identity of a cluster. "
    + "Without this check, a user could annotate an object with a role that it does not use. Stored annotations are "
    + "stale if the role changed after the last write of the object, or if the webhook was down during that write.",
  fix: "remove the annotation; the webhook sets the resolved value",
  example: "metadata: {annotations: {ack-role-resolver.io/role-arn: 'arn:aws:iam::111122223333:role/admin'}}",
  requires: RESOLUTION,
  section: "staleAnnotations",
  when: ({ resource }) => hasResolution(resource.annotations),
  find: (change) => wrongAnnotations(change.resource.annotations, change.stored?.resource.annotations, change),
};

/** The same for objects that refer to a CAPA identity. */
export const ACK_02_OF_CLUSTERS: QuickCheck<ClusterChange> = {
  ...ACK_02,
  requires: ["identities"],
  when: ({ referrer }) => hasResolution(referrer.annotations),
  find: (change) => wrongAnnotations(change.referrer.annotations, change.stored?.annotations, change),
};

const STALE_FIX = "wait until the webhook updates the annotations, or write the object again, for example "
  + "with `kubectl annotate --overwrite`";

/**
 * Yields a fault if the object reports another resolution than the current one. A write is judged only by the values
 * that it changes: CAPA repeats stale annotations, because the webhook does not change the writes of CAPA. It only
 * warns, even with `--check ACK-02=deny`, because the webhook replaces the values.
 */
function* wrongAnnotations(
  annotations: Annotations, stored: Annotations | undefined,
  { operation, resolution }: Pick<CheckContext, "operation"> & { readonly resolution: Resolution },
): Iterable<Fault> {
  const isWrite = operation !== "AUDIT";
  const wrong = [...staleAnnotations(annotations, resolution)].filter(([key]) => (
    !isWrite || (annotations.has(key) && annotations.get(key) !== stored?.get(key))
  ));
  const [[first] = [null]] = wrong;
  if (first === null) return;
  const differences = wrong.map(([key, expected]) => (
    `${key} is ${valueText(annotations.get(key))} but should be ${valueText(expected)}`
  ));
  const message = differences.join("; ");
  yield { path: annotationPath(first), message, ...(isWrite ? { severity: "warn" } : { fix: STALE_FIX }) };
}

/** Returns whether any annotation reports the resolution of the object. */
export function hasResolution(annotations: Annotations): boolean {
  return RESOLUTION_KEYS.some((key) => annotations.has(key));
}

function valueText(value: string | null | undefined): string {
  return value === undefined || value === null ? "absent" : quote(value);
}
