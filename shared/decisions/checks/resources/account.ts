import { quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { RESOLUTION, RESOLUTION_OF_ALL, type ResourceChange } from "./change.ts";

const LABELS = ["metadata", "labels"] as const;

export const ACK_07: QuickCheck<ResourceChange> = {
  id: "ACK-07",
  severity: "deny",
  waivable: false,
  reason: "A controller stops for ever at a resource whose role is in another account than the resource, without a condition on it.",
  fix: "keep the labels that select a role in its account; a resource moves only by being made anew",
  example: "a label on a Bucket of account 111122223333, by which the IAMRoleSelector of 444455556666 selects it",
  requires: RESOLUTION,
  on: ["UPDATE"],
  *find(change): Iterable<Fault> {
    if (change.resource.created) yield* accountDrift(change, "which controllers stop at for ever");
  },
};

export const ACK_18: QuickCheck<ResourceChange> = {
  id: "ACK-18",
  severity: "warn",
  waivable: false,
  reason: "The account of the first attempt stays in the status even where nothing was made, and a role in any other account is then refused.",
  fix: "delete the object and create it anew, or clear status.ackResourceMetadata",
  example: "status: {ackResourceMetadata: {ownerAccountID: '111122223333'}} # no arn, and a role in 444455556666",
  requires: RESOLUTION,
  *find(change): Iterable<Fault> {
    if (!change.resource.created) yield* accountDrift(change, "though it was never made there");
  },
};

/** What a role in another account than the resource's comes to. */
export function* accountDrift({ resource, resolution }: ResourceChange, consequence: string): Iterable<Fault> {
  const { ownerAccountID } = resource.status;
  const { outcome, accountID } = resolution;
  if (outcome !== "selected" || ownerAccountID === null || accountID === null || accountID === ownerAccountID) return;
  yield { path: LABELS, message: `it is of account ${quote(ownerAccountID)} and its role of ${quote(accountID)}, ${consequence}` };
}

export const ACK_08: QuickCheck<ResourceChange> = {
  id: "ACK-08",
  severity: "deny",
  waivable: false,
  reason: "Controllers do not stop at a resource of another account that nothing selects: they make it again, or give it up, with their own role in their own account.",
  fix: "keep the labels by which a selector in its account selects it",
  example: "a Bucket of account 111122223333 without the label that its IAMRoleSelector reads",
  requires: RESOLUTION_OF_ALL,
  on: ["UPDATE"],
  find: (change) => fallBack(change, "would make it again there"),
};

/** What the controller's own role means for a resource of another account. */
export function* fallBack({ resource, resolution }: ResourceChange, consequence: string): Iterable<Fault> {
  const { ownerAccountID } = resource.status;
  const { outcome, accountID } = resolution;
  if (outcome !== "default" || ownerAccountID === null || accountID === null || ownerAccountID === accountID) return;
  yield { path: LABELS, message: `it is of account ${quote(ownerAccountID)}, and the controller's own role, of account ${quote(accountID)}, ${consequence}` };
}
