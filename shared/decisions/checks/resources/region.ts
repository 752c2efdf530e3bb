import { REGION_ANNOTATION } from "../../annotation-keys.ts";
import { isRegion, parseARN, partitionOfRegion } from "../../kubernetes/arn.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { quote } from "../../kubernetes/text.ts";
import { wantedRegion } from "../../resolution/region.ts";
import type { Fault, QuickCheck } from "../check.ts";
import type { ResourceChange } from "./change.ts";

const PATH = annotationPath(REGION_ANNOTATION);

export const ACK_10: QuickCheck<ResourceChange> = {
  id: "ACK-10",
  severity: "deny",
  waivable: false,
  reason: "A controller takes any text for a region, and each of its calls fails; one of another partition than the role's can never be reached with it.",
  fix: "write a region of the role's partition, such as eu-west-1, or leave the annotation out",
  example: `metadata: {annotations: {${REGION_ANNOTATION}: Frankfurt}}`,
  *find({ resource, resolution }): Iterable<Fault> {
    const region = resource.annotations.get(REGION_ANNOTATION);
    if (region === undefined) return;
    const partition = parseARN(resolution.roleARN ?? "")?.partition ?? null;
    if (!isRegion(region)) yield { path: PATH, message: `${quote(region)} is not a region` };
    else if (partition !== null && partitionOfRegion(region) !== partition) {
      yield { path: PATH, message: `${quote(region)} is in the partition ${partitionOfRegion(region)}, and its role in ${quote(partition)}` };
    }
  },
};

export const ACK_10B: QuickCheck<ResourceChange> = {
  id: "ACK-10b",
  severity: "deny",
  waivable: false,
  reason: "A controller stops for ever at a resource that is to be in another region than it is in, without a condition on it.",
  fix: "keep the region that it is in; a resource moves only by being made anew",
  example: `metadata: {annotations: {${REGION_ANNOTATION}: eu-west-1}} # of a Bucket that exists in us-east-1`,
  on: ["UPDATE"],
  find: regionDrift,
};

/** A wanted region that is not the one that the resource exists in. */
export function* regionDrift({ inventory, resource, settings }: ResourceChange): Iterable<Fault> {
  const { region } = resource.status;
  const wanted = wantedRegion(inventory, resource, settings);
  if (region === null || wanted === null || region === wanted.value) return;
  yield { path: PATH, message: `it exists in region ${quote(region)}, and ${quote(wanted.value)} is wanted (by the ${wanted.from})` };
}
