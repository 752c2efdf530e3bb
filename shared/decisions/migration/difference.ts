import { namespaceNameFaults } from "../kubernetes/names.ts";
import { listOf, quote } from "../kubernetes/text.ts";
import type { Resolution } from "../resolution/resolve.ts";
import { isRoleARN } from "./selectors.ts";

/** What a resource resolves to, as far as it is compared. */
export type Side = Pick<Resolution, "outcome" | "via" | "roleARN" | "code">;

/** Something that does not resolve to the same before and after; all of it in one namespace, and for one reason. */
export interface Difference {
  readonly namespace: string;
  /** The ACK groups of which any resource differs, sorted; `["*"]` for every one, none where only resources there are differ. */
  readonly groups: readonly string[];
  /** The resources there are that differ. */
  readonly resources: readonly { readonly apiVersion: string; readonly kind: string; readonly namespace: string; readonly name: string }[];
  readonly before: Side;
  readonly after: Side;
  readonly message: string;
  readonly fix: string;
}

/** A difference, with what is known of its cause. */
export interface Explained {
  readonly difference: Omit<Difference, "message" | "fix">;
  /** Why the maps refuse, or "". */
  readonly reason: string;
  /** The account that the first of its resources exists in, if any. */
  readonly ownerAccountID: string | null;
}

/** What differs and why, as a sentence without its full stop, and how to decide it. */
export function explain(explained: Explained): Pick<Difference, "message" | "fix"> {
  const { before, after } = explained.difference;
  const { cause, fix } = causeOf(explained);
  return { message: `${whatDiffers(explained.difference)}: ${sideText(before)} before, ${sideText(after)} after: ${cause}`, fix };
}

function whatDiffers({ namespace, groups, resources }: Explained["difference"]): string {
  const where = `in namespace ${quote(namespace)}`;
  if (groups[0] === "*") return `every resource ${where}`;
  return groups.length > 0 ? `resources of ${listOf(groups)} ${where}` : `${listOf(resources.map(({ kind, name }) => `${kind} ${quote(name)}`))} ${where}`;
}

function sideText({ outcome, roleARN }: Side): string {
  if (outcome === "default") return "the controller's own role";
  return roleARN === null ? outcome : quote(roleARN);
}

function causeOf({ difference: { namespace, groups, before, after }, reason, ownerAccountID }: Explained): { readonly cause: string; readonly fix: string } {
  if (after.outcome !== "default") return { cause: "the selectors do not follow the maps", fix: "apply the selectors that `migrate carm` prints, and no others" };
  if (groups.length === 0 && ownerAccountID !== null) {
    return {
      cause: `found by status.ackResourceMetadata.ownerAccountID ${quote(ownerAccountID)} alone, which no selector reads${reason === "" ? "" : ` (${sentencePart(reason)})`}`,
      fix: "where that is the controllers' own account, say so with --controller-account; else annotate the namespace with the account (all of it then goes there) or give these resources a namespace of their own, and run this again",
    };
  }
  if (before.code !== null) return { cause: `a stop would become the controller's own account (${sentencePart(reason)})`, fix: FIXES[before.code] ?? NO_ROLE };
  if (before.roleARN !== null && !isRoleARN(before.roleARN)) return { cause: "that is not the ARN of an IAM role, so no selector may name it", fix: "write the role's ARN into the map as IAM shows it, arn:aws:iam::ACCOUNT:role/NAME, and run this again" };
  return {
    cause: namespaceNameFaults(namespace).length > 0 ? "no namespace can have that name, so no selector may name it" : "no selector selects it",
    fix: "give the Namespace the name that it has in the cluster, and run this again",
  };
}

const NO_ROLE = "give the key its role in the map, or take the annotation off the namespace where the controller's own role is meant, and run this again";
const FIXES: Readonly<Record<string, string>> = {
  ERR_CARM_MAP_MISSING: "add the map to the input, name its namespace with --ack-system-namespace, or take the annotation off the namespace where the controller's own role is meant, and run this again",
};

/** Without its full stop. */
function sentencePart(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
