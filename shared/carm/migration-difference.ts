import type { Resolution } from "../core/resolution.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import { listOf, quote } from "../formats/text.ts";

/** The fields of a resolution that the proof compares. */
export type Side = Pick<Resolution, "outcome" | "via" | "roleARN" | "code">;

/** Resources of one namespace whose resolution changes in the same way when selectors replace CARM. */
export interface Difference {
  readonly namespace: string;
  /**
   * The ACK groups whose resources differ, sorted. The value is `["*"]` if every group differs, and [] if only the
   * listed resources differ.
   */
  readonly groups: readonly string[];
  /** The stored resources whose resolution differs. */
  readonly resources: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  }[];
  readonly before: Side;
  readonly after: Side;
  readonly message: string;
  readonly fix: string;
}

/** A difference and the details that explain its cause. */
interface DifferenceDetails {
  readonly difference: Omit<Difference, "message" | "fix">;
  /** The error message for a fault in the CARM maps; "" if the maps have no fault. */
  readonly reason: string;
  /** The account in which the first resource of the difference exists; null if this resource does not exist in AWS. */
  readonly ownerAccountID: string | null;
}

/** Returns the message and the fix of a difference. The message has no full stop at its end. */
export function describeDifference(details: DifferenceDetails): Pick<Difference, "message" | "fix"> {
  const { before, after } = details.difference;
  const { cause, fix } = causeOf(details);
  const sides = `${describeSide(before)} before, ${describeSide(after)} after`;
  return { message: `${describeSubject(details.difference)}: ${sides}: ${cause}`, fix };
}

function describeSubject({ namespace, groups, resources }: DifferenceDetails["difference"]): string {
  const where = `in namespace ${quote(namespace)}`;
  if (groups[0] === "*") return `every resource ${where}`;
  if (groups.length > 0) return `resources of ${listOf(groups)} ${where}`;
  return `${listOf(resources.map(({ kind, name }) => `${kind} ${quote(name)}`))} ${where}`;
}

function describeSide({ outcome, roleARN }: Side): string {
  if (outcome === "default") return "the controller's own role";
  return roleARN === null ? outcome : quote(roleARN);
}

interface Cause {
  readonly cause: string;
  readonly fix: string;
}

function causeOf({ difference, reason, ownerAccountID }: DifferenceDetails): Cause {
  const { namespace, groups, before, after } = difference;
  if (after.outcome !== "default") {
    return {
      cause: "the selectors do not match the maps",
      fix: "apply exactly the selectors that `migrate carm` prints",
    };
  }
  if (groups.length === 0 && ownerAccountID !== null) return foundByStatus(ownerAccountID, reason);
  if (before.code !== null) {
    return {
      cause: `with CARM, controllers do not reconcile these resources (${withoutFullStop(reason)}); without a `
        + "selector, controllers use their own role for these resources",
      fix: FIXES[before.code] ?? ADD_ROLE,
    };
  }
  return {
    cause: namespaceNameFaults(namespace).length > 0
      ? "the name of the namespace is invalid, so a selector cannot list the namespace"
      : "no selector selects these resources",
    fix: "correct the name of the Namespace in the input, and run the command again",
  };
}

function foundByStatus(ownerAccountID: string, reason: string): Cause {
  const fault = reason === "" ? "" : ` (${withoutFullStop(reason)})`;
  return {
    cause: `CARM reads their account only from status.ackResourceMetadata.ownerAccountID, ${quote(ownerAccountID)}, `
      + `but selectors do not read the status${fault}`,
    fix: "if this is the account of the controllers, set --controller-account. Otherwise annotate the namespace with "
      + "the account, which applies to all its resources, or move these resources to another namespace. "
      + "Then run the command again",
  };
}

export const CORRECT_ARN =
  "set the value in the map to a role ARN, arn:aws:iam::ACCOUNT:role/NAME, and run the command again";
const REMOVE_ANNOTATION = "remove the annotation from the namespace to use the controller's own role";
const ADD_ROLE = `set the role of the key in the map, or ${REMOVE_ANNOTATION}. Then run the command again`;
const FIXES: Readonly<Record<string, string>> = {
  ERR_CARM_ARN: CORRECT_ARN,
  ERR_CARM_MAP_MISSING: "add the map to the input, set --ack-system-namespace to its namespace, "
    + `or ${REMOVE_ANNOTATION}. Then run the command again`,
};

function withoutFullStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
