import { findingLine } from "../../../../shared/checks/check.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { bucketObject, selectorObject } from "../objects.ts";
import { type Circumstances, findingsOf } from "./selector-changes.ts";

/** The controller's own account. */
export const OWN = "777788889999";
export const FIRST = "111122223333";
export const SECOND = "444455556666";

export function roleIn(account: string, name = "r"): string {
  return `arn:aws:iam::${account}:role/${name}`;
}

/** Returns a selector that lists namespaces by name and has a role in the account. */
export function selectorFor(
  name: string, account: string, namespaces: readonly string[], metadata: JsonObject = {},
): JsonObject {
  return selectorObject(name, { arn: roleIn(account, name), namespaceSelector: { names: namespaces } }, metadata);
}

/** Returns the metadata of a selector that replaces the selectors in `names`. */
export function replacesMetadata(names: string): JsonObject {
  return { annotations: { "ack-role-resolver.io/replaces": names } };
}

/** Returns a Bucket, by default in team-a, that does not exist in AWS yet. */
export function newBucket(name: string, metadata: JsonObject = {}): JsonObject {
  return bucketObject({ name, ...metadata });
}

/** Returns a Bucket, by default in team-a, that exists in the account. */
export function existingBucket(name: string, account: string, metadata: JsonObject = {}): JsonObject {
  const ackResourceMetadata = { ownerAccountID: account, arn: `arn:aws:s3:::${name}`, region: "eu-west-1" };
  return bucketObject({ name, ...metadata }, { status: { ackResourceMetadata } });
}

/** Returns a Bucket, by default in team-a, whose account ACK recorded before the creation in AWS failed. */
export function attemptedBucket(name: string, account: string, metadata: JsonObject = {}): JsonObject {
  const conditions = [{ type: "ACK.ResourceSynced", status: "False" }];
  const status = { ackResourceMetadata: { ownerAccountID: account, region: "eu-west-1" }, conditions };
  return bucketObject({ name, ...metadata }, { status });
}

/** Returns `count` objects with the names b00, b01, ... */
export function repeat(count: number, create: (name: string) => JsonObject): JsonObject[] {
  return Array.from({ length: count }, (_, i) => create(`b${String(i).padStart(2, "0")}`));
}

/** Runs the check with the controller's own account in the settings, and returns `SEVERITY LINE` for each finding. */
export function findingLines(id: string, object: JsonObject, circumstances: Circumstances): string[] {
  const settings = { controllerAccount: OWN, ...circumstances.settings };
  return findingsOf(id, object, { ...circumstances, settings }).map(
    (finding) => `${finding.severity} ${findingLine(finding)}`,
  );
}
