import type { Requester } from "../../../shared/core/context.ts";
import { isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, selectorObject } from "../objects.ts";
import { checkChange, type Circumstances, linesOf } from "../core/findings.ts";

export const GOLD = "arn:aws:iam::111122223333:role/gold";
export const SILVER = "arn:aws:iam::444455556666:role/silver";
export const CONTROLLER_ACCOUNT = "777788889999";
export const JANE: Requester = { username: "jane", groups: ["developers"] };

/**
 * In namespace team-a, one selector selects resources with the label `gold: yes`, and one selects resources with the
 * label `silver: yes`. The roles of the two selectors are in different accounts.
 */
export const CLUSTER_OBJECTS: readonly JsonObject[] = [
  namespaceObject("team-a"),
  namespaceObject("sandbox"),
  tierSelector("gold", GOLD),
  tierSelector("silver", SILVER),
];

export function tierSelector(name: string, arn: string, tier = name): JsonObject {
  return selectorObject(name, {
    arn,
    namespaceSelector: { names: ["team-a"] },
    resourceLabelSelector: { matchLabels: { [tier]: "yes" } },
  });
}

/**
 * Returns a Bucket of team-a that has a label for each tier. The selector `gold` selects a Bucket with the label
 * `gold`.
 */
export function tiered(...tiers: readonly string[]): JsonObject {
  return bucketObject({ labels: Object.fromEntries(tiers.map((tier) => [tier, "yes"])) });
}

export function annotated(annotations: JsonObject, object: JsonObject = tiered("gold")): JsonObject {
  const { metadata } = object;
  return { ...object, metadata: { ...(isJsonObject(metadata) && metadata), annotations } };
}

/** Returns the object with the status that ACK sets after it has created the AWS resource in the account. */
export function owned(ownerAccountID: string, object: JsonObject = tiered("gold"), region = "eu-west-1"): JsonObject {
  return { ...object, status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1", ownerAccountID, region } } };
}

/** Returns the object with the status that ACK sets if it recorded the account but did not create the AWS resource. */
export function attempted(ownerAccountID: string, object: JsonObject = tiered("gold")): JsonObject {
  return { ...object, status: { ackResourceMetadata: { ownerAccountID } } };
}

function inCluster({ settings, ...rest }: Circumstances): Circumstances {
  const all = { controllerAccount: CONTROLLER_ACCOUNT, ...settings };
  return { known: CLUSTER_OBJECTS, requester: JANE, ...rest, settings: all };
}

/** Returns the finding lines of a check for a change by jane in the cluster. */
export function findingLines(id: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  return linesOf(id, object, inCluster(circumstances));
}

/** What is wrong or allowed, the object, and the circumstances. */
export type Input = readonly [object: JsonObject, circumstances?: Circumstances];

/** Returns a function that returns the finding lines of the check. */
export const of = (id: string) => ([object, circumstances]: Input): string[] => findingLines(id, object, circumstances);

/** Returns the unmet requirements of each skipped check, by check id. */
export function skippedChecks(object: JsonObject, circumstances: Circumstances = {}): Readonly<Record<string, string>> {
  const { skipped } = checkChange(object, inCluster(circumstances));
  return Object.fromEntries(skipped.map(({ code, needs }) => [code, needs]));
}
