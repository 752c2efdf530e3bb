import type { FieldPath } from "../field-path.ts";
import { field } from "../json.ts";
import { isRegion, partitionOfRegion } from "../region.ts";
import { type ARN, parseARN } from "../role-arn.ts";
import { quote } from "../quote.ts";
import type { Check, Fault, Found } from "./check.ts";
import { RESOLUTION, type ResourceChange } from "./resource-change.ts";

/** After so many values a walk may be put off: about a millisecond's work. */
const VALUES_BETWEEN_PAUSES = 5_000;

export const ACK_16: Check<ResourceChange> = {
  id: "ACK-16",
  severity: "warn",
  waivable: false,
  reason: "A reference across accounts needs a policy on the other side, which is often missing, and one across partitions never works.",
  fix: "name something of the resource's own account and partition, unless the other side allows it",
  example: "spec: {encryption: {kmsKeyID: 'arn:aws:kms:eu-west-1:444455556666:key/1'}} # with a role in 111122223333",
  needs: RESOLUTION,
  *find({ object, resolution }): Found {
    const role = parseARN(resolution.roleARN ?? "");
    if (role === null) return;
    let looked = 0;
    for (const [path, text] of strings(field(object, "spec"))) {
      if (++looked % VALUES_BETWEEN_PAUSES === 0) yield null;
      yield* foreignARN(path, text, role);
      yield* foreignRegion(path, text, role);
    }
  },
};

function* foreignARN(path: FieldPath, text: string, role: ARN): Iterable<Fault> {
  const arn = parseARN(text);
  if (arn === null) return;
  const differences: string[] = [];
  if (arn.partition !== role.partition) differences.push(`partition ${quote(arn.partition)}`);
  // AWS's own, such as a managed policy, has the account "aws"; a bucket has none.
  if (/^\d{12}$/.test(arn.accountID) && arn.accountID !== role.accountID) differences.push(`account ${arn.accountID}`);
  if (differences.length > 0) yield { path, message: `${quote(text)} is of ${differences.join(" and ")}, and its role ${quote(roleName(role))} is not` };
}

function roleName({ partition, accountID, resource }: ARN): string {
  return `arn:${partition}:iam::${accountID}:${resource}`;
}

/** A field that holds a region by its name, since other texts may look like one. */
const REGION_FIELD = /region|locationConstraint/i;

function* foreignRegion(path: FieldPath, text: string, role: ARN): Iterable<Fault> {
  const name = path.findLast((step) => typeof step === "string");
  if (typeof name !== "string" || !REGION_FIELD.test(name) || !isRegion(text) || partitionOfRegion(text) === role.partition) return;
  yield { path, message: `${quote(text)} is in the partition ${partitionOfRegion(text)}, and its role in ${quote(role.partition)}` };
}

/** Every string of the spec with its path, without recursion: how deep a spec is nested is its author's choice. */
function* strings(spec: unknown): Iterable<readonly [path: FieldPath, text: string]> {
  const open: (readonly [path: FieldPath, value: unknown])[] = [[["spec"], spec]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next;
    if (typeof value === "string") yield [path, value];
    if (typeof value !== "object" || value === null) continue;
    const steps = Array.isArray(value) ? value.map((item, i) => [i, item] as const) : Object.entries(value);
    for (const [step, item] of steps) open.push([[...path, step], item]);
  }
}
