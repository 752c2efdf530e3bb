import { RESOLUTION, RESOLUTION_KEYS } from "./annotation-keys.ts";
import type { CheckContext, Fault, QuickCheck, Requirement } from "./check.ts";
import { staleAnnotations } from "./resolution-annotations.ts";
import { DRIFT, type Resolution } from "./resolution.ts";
import { annotationPath } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { safely, set } from "./repair.ts";

type Annotations = ReadonlyMap<string, string>;

interface RecordedOn {
  readonly annotations: Annotations;
  /** The annotations before the change. */
  readonly stored: Annotations | undefined;
}

type Resolved = Pick<CheckContext, "operation"> & { readonly resolution: Resolution };

/** Returns check ACK-02 for the objects of a kind. `recordedOn` returns their annotations. */
export function recordedResolutionCheck<Subject extends Resolved>(
  requires: readonly Requirement[], recordedOn: (subject: Subject) => RecordedOn,
): QuickCheck<Subject> {
  return {
    id: "ACK-02",
    severity: "warn",
    reason: "Only the webhook writes the annotations that report the role of a resource or the identity of a cluster. "
      + "Without this check, a user could annotate an object with a role that it does not use. Stored annotations are "
      + "stale if the role changed after the last write of the object, or if the webhook was down during that write.",
    fix: WRITE_FIX,
    example: "metadata: {annotations: {ack-role-resolver.io/role-arn: 'arn:aws:iam::111122223333:role/admin'}}",
    requires,
    section: "staleAnnotations",
    when: (subject) => hasResolution(recordedOn(subject).annotations),
    find: (subject) => wrongAnnotations(recordedOn(subject), subject),
  };
}

const WRITE_FIX = "remove the annotation; the webhook sets the resolved value";
const STALE_FIX = "controllers do not read these annotations, so the role does not depend on them. Wait until the "
  + "webhook updates them, or write the object again, for example with `kubectl annotate --overwrite`";

/**
 * Yields a fault if the object reports another resolution than the current one. A write is judged only by the values
 * that it changes: CAPA repeats stale annotations, because the webhook does not change the writes of CAPA. It only
 * warns, even with `--check ACK-02=deny`, because the webhook replaces the values.
 */
function* wrongAnnotations(
  { annotations, stored }: RecordedOn, { operation, resolution }: Resolved,
): Iterable<Fault> {
  const isWrite = operation !== "AUDIT";
  const wrong = [...staleAnnotations(annotations, resolution)].filter(([key, expected]) => (
    isWrite ? annotations.has(key) && annotations.get(key) !== stored?.get(key)
      : !isBySettings(key, [annotations.get(key) ?? null, expected], [annotations.get(RESOLUTION.outcome), resolution])
  ));
  const [[first] = [null]] = wrong;
  if (first === null) return;
  const differences = wrong.map(([key, expected]) => (
    `${key} is ${valueText(annotations.get(key))} but should be ${valueText(expected)}`
  ));
  const message = differences.join("; ");
  // The webhook sets the annotations of a written object.
  const edits = wrong.map(([key, expected]) => set(annotationPath(key), isWrite ? undefined : expected ?? undefined));
  const how = isWrite ? { fix: WRITE_FIX, severity: "warn" as const } : { fix: STALE_FIX };
  yield { path: annotationPath(first), message, ...how, repairs: safely(...edits) };
}

/**
 * Whether two values differ only by what the webhook can know and `audit` not, or the reverse: the controllers' own
 * role, their account and their region. The webhook would never write the other value. Other checks report drift.
 */
function isBySettings(
  key: string, values: readonly (string | null)[], [before, { outcome }]: readonly [string | undefined, Resolution],
): boolean {
  if (key === RESOLUTION.roleARN) return outcome === "default" && before === outcome && values.includes(null);
  const [one, other] = values.map((value) => value?.split(DRIFT)[0]);
  return key === RESOLUTION.reason && one === other;
}

/** Returns whether any annotation reports the resolution of the object. */
export function hasResolution(annotations: Annotations): boolean {
  return RESOLUTION_KEYS.some((key) => annotations.has(key));
}

function valueText(value: string | null | undefined): string {
  return value === undefined || value === null ? "absent" : quote(value);
}
