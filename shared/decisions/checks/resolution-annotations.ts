import { RESOLUTION_KEYS } from "../annotation-keys.ts";
import { annotationPath } from "../kubernetes/field-path.ts";
import { quote } from "../kubernetes/text.ts";
import { resolutionAnnotations } from "../resolution/annotations.ts";
import type { Resolution } from "../resolution/resolve.ts";
import type { Fault } from "./check.ts";

/** Returns a fault for each annotation that reports another resolution than the current one. The faults only warn. */
export function* wrongAnnotations(
  annotations: ReadonlyMap<string, string>, resolution: Resolution,
): Iterable<Fault> {
  const resolved = resolutionAnnotations(resolution);
  for (const key of RESOLUTION_KEYS) {
    const value = annotations.get(key);
    const expected = resolved.get(key);
    if (value === undefined || value === expected) continue;
    const expectedText = expected === undefined ? "no value" : quote(expected);
    const message = `${quote(value)} is not the resolved value: expected ${expectedText}`;
    // The checks only warn, even with --check ACK-02=deny, because the webhook replaces the value.
    yield { path: annotationPath(key), message, severity: "warn" };
  }
}
