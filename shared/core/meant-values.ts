import { meant, remove, type Repair, safely, set } from "./repair.ts";
import { DELETION_POLICY, DELETION_POLICY_DELETE } from "./value-types.ts";
import { isRegion } from "../formats/arn.ts";
import type { FieldPath } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";

// The values that misspelled annotations and labels probably mean.

const DELETION_POLICIES = new NameIndex(DELETION_POLICY.valid);

/** Returns the repairs of an unknown deletion policy. Controllers treat it as `retain`, so that comes first. */
export function deletionPolicyRepairs(path: FieldPath, value: string): readonly Repair[] {
  const nearest = DELETION_POLICIES.nearest(value.trim());
  if (nearest.length > 0) return meant(path, nearest);
  return [
    { when: "to keep the AWS resource", edits: [set(path, "retain")] },
    { when: "to delete it", edits: [set(path, DELETION_POLICY_DELETE)] },
  ];
}

/** Returns the repairs of an annotation with an invalid region. An empty one has no effect. */
export function regionRepairs(path: FieldPath, value: string): readonly Repair[] {
  const written = value.trim().toLowerCase().replaceAll(/[ _]+/g, "-");
  if (written === "") return safely(remove(path));
  // The name of an availability zone is that of its region and a letter.
  return meant(path, [written, written.replace(/[a-z]$/, "")].filter(isRegion).slice(0, 1));
}

const BOOLEANS: readonly (readonly [value: string, words: ReadonlySet<string>])[] = [
  ["false", new Set(["no", "n", "off", "0", "f"])], ["true", new Set(["yes", "y", "on", "1", "t"])],
];
const BOOLEAN_NAMES = new NameIndex(BOOLEANS.map(([value]) => value));

/** Returns the repairs of a text that is neither `true` nor `false`. Most readers treat it as `false`. */
export function booleanRepairs(path: FieldPath, value: string): readonly Repair[] {
  const word = value.trim().toLowerCase();
  const found = BOOLEANS.filter(([, words]) => words.has(word)).map(([name]) => name);
  const nearest = found.length > 0 ? found : BOOLEAN_NAMES.misspelled(word);
  return meant(path, nearest.length > 0 ? nearest : BOOLEANS.map(([name]) => name));
}
