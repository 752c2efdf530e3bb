import { findingLine } from "../../../../shared/decisions/checks/finding.ts";
import { type CheckResult, runChecks } from "../../../../shared/decisions/checks/run.ts";
import type {
  AccessAnswers, DecisionSettings, Operation, Origin, Requester,
} from "../../../../shared/decisions/context.ts";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import { isJsonObject, type JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, namespaceObject, put, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

export const GOLD = "arn:aws:iam::111122223333:role/gold";
export const SILVER = "arn:aws:iam::444455556666:role/silver";
export const BASE = "777788889999";
export const JANE: Requester = { username: "jane", groups: ["developers"] };
export const ADMIN: Requester = { username: "root", groups: ["system:masters"] };

/** In team-a what is labelled `tier: gold` or `tier: silver` is selected, each in an account of its own; sandbox is nobody's. */
export const COMPANY: readonly JsonObject[] = [
  namespaceObject("team-a"),
  namespaceObject("sandbox"),
  tierSelector("gold", GOLD),
  tierSelector("silver", SILVER),
];

export function tierSelector(name: string, arn: string, tier = name): JsonObject {
  return selectorObject(name, { arn, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: { matchLabels: { [tier]: "yes" } } });
}

/** A bucket of team-a with these labels, `{gold: "yes"}` for one that `gold` selects. */
export function tiered(...tiers: readonly string[]): JsonObject {
  return bucketObject({ labels: Object.fromEntries(tiers.map((tier) => [tier, "yes"])) });
}

export function annotated(annotations: JsonObject, object: JsonObject = tiered("gold")): JsonObject {
  const { metadata } = object;
  return { ...object, metadata: { ...(isJsonObject(metadata) && metadata), annotations } };
}

/** The object as ACK leaves it once it is made in the account. */
export function owned(ownerAccountID: string, object: JsonObject = tiered("gold"), region = "eu-west-1"): JsonObject {
  return { ...object, status: { ackResourceMetadata: { arn: "arn:aws:s3:::b1", ownerAccountID, region } } };
}

/** The object after a first attempt that failed: the account is noted, and nothing was made. */
export function attempted(ownerAccountID: string, object: JsonObject = tiered("gold")): JsonObject {
  return { ...object, status: { ackResourceMetadata: { ownerAccountID } } };
}

export interface Circumstances {
  readonly old?: JsonObject;
  readonly operation?: Operation;
  readonly requester?: Requester | null;
  readonly settings?: Partial<DecisionSettings>;
  readonly access?: AccessAnswers;
  readonly origin?: Origin;
  readonly warnOnly?: boolean;
  readonly known?: readonly JsonObject[];
}

export function judged(object: JsonObject, { settings = {}, known = COMPANY, origin = "cluster", ...rest }: Circumstances = {}): CheckResult {
  const inventory = new Inventory({ runtime: "ack", origin });
  inventory.apply(known.map(put));
  return runChecks({ object, old: null, requester: JANE, origin, inventory, ...rest }, { ...SETTINGS_BY_DEFAULT, controllerAccount: BASE, ...settings });
}

/** What a check says of a step, each line with its severity: `deny ACK-11 PATH: MESSAGE. FIX.` */
export function lines(id: string, object: JsonObject, circumstances: Circumstances = {}): string[] {
  const { findings } = judged(object, circumstances);
  return findings.filter(({ code }) => code === id).map((finding) => `${finding.severity}${finding.waived ? " (waived)" : ""} ${findingLine(finding)}`);
}

/** The ids of the checks that could not be applied. */
export function notApplied(object: JsonObject, circumstances: Circumstances = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(judged(object, circumstances).skipped.map(({ code, needs }) => [code, needs]));
}
