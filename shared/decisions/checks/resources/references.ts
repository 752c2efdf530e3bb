import { type ARN, isRegion, parseARN, partitionOfRegion } from "../../kubernetes/arn.ts";
import type { FieldPath, FieldStep } from "../../kubernetes/field-path.ts";
import { field } from "../../kubernetes/json.ts";
import { quote } from "../../kubernetes/text.ts";
import { paced } from "../../paced.ts";
import type { Fault, ScanningCheck } from "../check.ts";
import { RESOLUTION, type ResourceChange } from "./change.ts";

/** After so many values a walk may be put off: about a millisecond's work. */
const VALUES_BETWEEN_PAUSES = 5_000;

export const ACK_16: ScanningCheck<ResourceChange> = {
  id: "ACK-16",
  severity: "warn",
  waivable: false,
  reason: "A reference across accounts needs a policy on the other side, which is often missing, and one across partitions never works.",
  fix: "name something of the resource's own account and partition, unless the other side allows it",
  example: "spec: {encryption: {kmsKeyID: 'arn:aws:kms:eu-west-1:444455556666:key/1'}} # with a role in 111122223333",
  requires: RESOLUTION,
  *scan({ object, resolution }) {
    const role = parseARN(resolution.roleARN ?? "");
    if (role === null) return [];
    const faults: Fault[] = [];
    yield* paced(strings(field(object, "spec")), VALUES_BETWEEN_PAUSES, ([place, text]) => {
      const message = foreignARN(text, role) ?? foreignRegion(place, text, role);
      if (message !== null) faults.push({ path: pathOf(place), message });
      return true;
    });
    return faults;
  },
};

function foreignARN(text: string, role: ARN): string | null {
  const arn = parseARN(text);
  if (arn === null) return null;
  const differences: string[] = [];
  if (arn.partition !== role.partition) differences.push(`partition ${quote(arn.partition)}`);
  // AWS's own, such as a managed policy, has the account "aws"; a bucket has none.
  if (/^\d{12}$/.test(arn.accountID) && arn.accountID !== role.accountID) differences.push(`account ${arn.accountID}`);
  return differences.length === 0 ? null : `${quote(text)} is of ${differences.join(" and ")}, and its role ${quote(roleName(role))} is not`;
}

function roleName({ partition, accountID, resource }: ARN): string {
  return `arn:${partition}:iam::${accountID}:${resource}`;
}

/** A field that holds a region by its name, since other texts may look like one. */
const REGION_FIELD = /region|locationConstraint/i;

function foreignRegion(place: Place, text: string, role: ARN): string | null {
  if (!isRegion(text) || partitionOfRegion(text) === role.partition || !REGION_FIELD.test(fieldOf(place))) return null;
  return `${quote(text)} is in the partition ${partitionOfRegion(text)}, and its role in ${quote(role.partition)}`;
}

/** A place in the spec as the steps up from it: a path is written out only where there is something to tell. */
interface Place {
  readonly step: string | number;
  readonly above: Place | null;
}

function pathOf(place: Place): FieldPath {
  const path: FieldStep[] = [];
  for (let at: Place | null = place; at !== null; at = at.above) path.push(at.step);
  return path.toReversed();
}

/** The name of the field at the place, that of the list for an element. */
function fieldOf(place: Place): string {
  let at: Place | null = place;
  while (at !== null && typeof at.step === "number") at = at.above;
  return String(at?.step);
}

/** Every string of the spec with its place, without recursion: how deep a spec is nested is its author's choice. */
function* strings(spec: unknown): Iterable<readonly [place: Place, text: string]> {
  const open: (readonly [place: Place, value: unknown])[] = [[{ step: "spec", above: null }, spec]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [above, value] = next;
    if (typeof value === "string") yield [above, value];
    if (typeof value !== "object" || value === null) continue;
    const steps = Array.isArray(value) ? value.map((item, i) => [i, item] as const) : Object.entries(value);
    for (const [step, item] of steps) open.push([{ step, above }, item]);
  }
}
