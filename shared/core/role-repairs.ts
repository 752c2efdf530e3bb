import { nearestRoleARN } from "../formats/arn.ts";
import type { FieldPath } from "../formats/json.ts";
import { by, type Repair, safely, set } from "./repair.ts";

/** Returns the repair that writes the role that a text probably means; none if nothing is near. */
export function roleRepairs(path: FieldPath, text: string): readonly Repair[] {
  const near = nearestRoleARN(text);
  if (near === null) return [];
  const edit = set(path, near.arn);
  return near.isSure ? safely(edit) : by(edit);
}
