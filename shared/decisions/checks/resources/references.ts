import { type ARN, isRegion, parseARN, partitionOfRegion } from "../../kubernetes/arn.ts";
import type { FieldPath, FieldStep } from "../../kubernetes/field-path.ts";
import { field } from "../../kubernetes/json.ts";
import { quote } from "../../kubernetes/text.ts";
import { paced } from "../../paced.ts";
import type { Fault, ScanningCheck } from "../check.ts";
import { RESOLUTION, type ResourceChange } from "./change.ts";

/** The number of values that a scan visits between two pauses, which takes less than 1 ms. */
const VALUES_BETWEEN_PAUSES = 500;

export const ACK_16: ScanningCheck<ResourceChange> = {
  id: "ACK-16",
  severity: "warn",
  waivable: false,
  reason: "A reference to another account needs a policy in that account, which is often missing. "
    + "A reference to another partition never works.",
  fix: "refer to the account and partition of the role, unless a policy in the other account allows the access",
  example: "spec: {encryption: {kmsKeyID: 'arn:aws:kms:eu-west-1:444455556666:key/1'}} # with a role in 111122223333",
  requires: RESOLUTION,
  *scan({ object, resolution }) {
    const role = parseARN(resolution.roleARN ?? "");
    if (role === null) return [];
    const faults: Fault[] = [];
    yield* paced(stringsOf(field(object, "spec")), VALUES_BETWEEN_PAUSES, ([place, text]) => {
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
  // ARNs owned by AWS, such as managed policies, have the account "aws". The ARN of a bucket has no account.
  if (/^\d{12}$/.test(arn.accountID) && arn.accountID !== role.accountID) differences.push(`account ${arn.accountID}`);
  if (differences.length === 0) return null;
  return `${quote(text)} is in ${differences.join(" and ")}, but the role ${quote(roleText(role))} is not`;
}

function roleText({ partition, accountID, resource }: ARN): string {
  return `arn:${partition}:iam::${accountID}:${resource}`;
}

/**
 * Matches the names of fields that hold a region. In other fields, a text may look like a region but have another
 * meaning.
 */
const REGION_FIELD = /region|locationConstraint/i;

function foreignRegion(place: Place, text: string, role: ARN): string | null {
  if (!isRegion(text) || partitionOfRegion(text) === role.partition || !REGION_FIELD.test(fieldOf(place))) return null;
  const partition = partitionOfRegion(text);
  return `region ${quote(text)} is in partition ${partition}, but the role is in partition ${quote(role.partition)}`;
}

/** A field or list element of the spec. If the value has a fault, the parent links are used to build its path. */
interface Place {
  readonly step: string | number;
  readonly parent: Place | null;
}

function pathOf(place: Place): FieldPath {
  const path: FieldStep[] = [];
  for (let at: Place | null = place; at !== null; at = at.parent) path.push(at.step);
  return path.toReversed();
}

/** Returns the name of the field; for a list element, the name of the list. */
function fieldOf(place: Place): string {
  let at: Place | null = place;
  while (at !== null && typeof at.step === "number") at = at.parent;
  return String(at?.step);
}

/** Yields every string in the spec, with its position. Avoids recursion, because a user can nest a spec very deeply. */
function* stringsOf(spec: unknown): Iterable<readonly [place: Place, text: string]> {
  const open: (readonly [place: Place, value: unknown])[] = [[{ step: "spec", parent: null }, spec]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [parent, value] = next;
    if (typeof value === "string") yield [parent, value];
    if (typeof value !== "object" || value === null) continue;
    const steps = Array.isArray(value) ? value.map((item, i) => [i, item] as const) : Object.entries(value);
    for (const [step, item] of steps) open.push([{ step, parent }, item]);
  }
}
