import { findingLine } from "../../../../shared/decisions/checks/finding.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, selectorObject } from "../objects.ts";
import { type Circumstances, findingsOf } from "./selector-changes.ts";

export const OWN = "777788889999";
export const FIRST = "111122223333";
export const SECOND = "444455556666";

export function roleIn(account: string, name = "r"): string {
  return `arn:aws:iam::${account}:role/${name}`;
}

/** A selector of a role in `account` for namespaces by name. */
export function selecting(name: string, account: string, namespaces: readonly string[], metadata: JsonObject = {}): JsonObject {
  return selectorObject(name, { arn: roleIn(account, name), namespaceSelector: { names: namespaces } }, metadata);
}

export function replacing(names: string): JsonObject {
  return { annotations: { "ack-role-resolver.io/replaces": names } };
}

/** A bucket of team-a that nobody has made yet. */
export function wanted(name: string, metadata: JsonObject = {}): JsonObject {
  return bucketObject({ name, ...metadata });
}

/** A bucket of team-a that is in AWS. */
export function made(name: string, account: string, metadata: JsonObject = {}): JsonObject {
  return bucketObject({ name, ...metadata }, { status: { ackResourceMetadata: { ownerAccountID: account, arn: `arn:aws:s3:::${name}`, region: "eu-west-1" } } });
}

export function many(count: number, make: (name: string) => JsonObject): JsonObject[] {
  return Array.from({ length: count }, (_, i) => make(`b${String(i).padStart(2, "0")}`));
}

/** `deny LINE` or `warn LINE` of each finding of the check, with the controllers' account known. */
export function told(id: string, object: JsonObject, circumstances: Circumstances): string[] {
  const settings = { controllerAccount: OWN, ...circumstances.settings };
  return findingsOf(id, object, { ...circumstances, settings }).map((finding) => `${finding.severity} ${findingLine(finding)}`);
}
