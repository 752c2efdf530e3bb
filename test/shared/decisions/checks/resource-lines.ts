import { findingLine } from "../../../../shared/checks/check.ts";
import { type CheckResult, runChecks } from "../../../../shared/checks/run.ts";
import type {
  AccessByName, DecisionSettings, Operation, Origin, Requester,
} from "../../../../shared/contract/context.ts";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import { isJsonObject, type JsonObject } from "../../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

export const GOLD = "arn:aws:iam::111122223333:role/gold";
export const SILVER = "arn:aws:iam::444455556666:role/silver";
export const CONTROLLER_ACCOUNT = "777788889999";
export const JANE: Requester = { username: "jane", groups: ["developers"] };
export const ADMIN: Requester = { username: "root", groups: ["system:masters"] };

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

export interface Circumstances {
  readonly old?: JsonObject;
  readonly operation?: Operation;
  readonly requester?: Requester | null;
  readonly settings?: Partial<DecisionSettings>;
  readonly access?: AccessByName;
  readonly origin?: Origin;
  readonly warnOnly?: boolean;
  readonly known?: readonly JsonObject[];
}

function checkResource(
  object: JsonObject,
  { settings = {}, known = CLUSTER_OBJECTS, origin = "cluster", ...rest }: Circumstances = {},
): CheckResult {
  const inventory = new Inventory({ runtime: settings.runtime ?? "ack", origin });
  inventory.apply(known.map(put));
  return runChecks(
    { object, old: null, requester: JANE, origin, inventory, ...rest },
    { ...SETTINGS_BY_DEFAULT, controllerAccount: CONTROLLER_ACCOUNT, ...settings },
  );
}

/** Returns the finding lines of a check with their severity: `deny ACK-11 PATH: MESSAGE. FIX.` */
export function findingLines(id: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  const { findings } = checkResource(object, circumstances);
  return findings
    .filter(({ code }) => code === id)
    .map((finding) => `${finding.severity}${finding.waived ? " (waived)" : ""} ${findingLine(finding)}`);
}

/** Returns the unmet requirements of each skipped check, by check id. */
export function skippedChecks(object: JsonObject, circumstances: Circumstances = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(checkResource(object, circumstances).skipped.map(({ code, needs }) => [code, needs]));
}
