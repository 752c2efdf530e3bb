import { findingLine } from "../../../../shared/checks/check.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject } from "../objects.ts";
import { type Circumstances, findingsOf } from "./selector-changes.ts";

/** Returns the finding lines of a check for namespace team-a with these annotations. */
export function annotationLines(id: string, annotations: JsonObject, circumstances: Circumstances = {}): string[] {
  return linesOf(id, namespaceObject("team-a", {}, annotations), circumstances);
}

/** Returns the findings of a check as lines, each with its severity. */
export function linesOf(id: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  return findingsOf(id, object, circumstances).map((finding) => `${finding.severity} ${findingLine(finding)}`);
}

export const ACCOUNT_MAP = "ack-role-account-map";
export const TEAM_MAP = "ack-role-team-map";

export function mapObject(name: string, data: JsonObject, namespace = "ack-system"): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}

/** Returns the finding lines of a check for an account map with this data. */
export function dataLines(id: string, data: JsonObject, circumstances: Circumstances = {}): string[] {
  return linesOf(id, mapObject(ACCOUNT_MAP, data), circumstances);
}

/** Returns a Bucket, by default in team-a, that exists in the account. */
export function existingBucket(
  name: string,
  account: string,
  metadata: JsonObject = {},
  region = "eu-west-1",
): JsonObject {
  return bucketObject(
    { name, ...metadata },
    { status: { ackResourceMetadata: { ownerAccountID: account, region, arn: `arn:aws:s3:::${name}` } } },
  );
}

export const CARM = { mode: "carm" } as const;
export const roleIn = (account: string, name = "a"): string => `arn:aws:iam::${account}:role/${name}`;
export const ONE = "111122223333";
export const TWO = "444455556666";
