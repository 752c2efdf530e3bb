import type { CREDENTIALS, PROGRAMS } from "../contract/trust-settings.ts";
import { accountOfARN } from "../formats/arn.ts";
import { compareText } from "../formats/text.ts";
import type { EffectiveSelector } from "../model/effective-selector.ts";
import { TEMPLATE } from "../model/session-annotations.ts";
import type { SessionTag } from "../model/session.ts";

/** How the calls of AssumeRole are made. Only the sidecar sends the session settings of selectors. */
export type Via = Exclude<(typeof PROGRAMS)[number], "capa">;
/** The kinds of credentials of a caller. */
export type Credentials = (typeof CREDENTIALS)[number];

/** A session tag with the values that it can have. With `isPattern`, a value can contain `*`. */
export interface NeededTag {
  readonly key: string;
  readonly values: readonly string[];
  readonly isPattern: boolean;
}

/** What every call for a role sends, for which conditions can ask. */
export interface NeededCall {
  readonly role: string;
  readonly callers: readonly string[];
  readonly externalID: string | null;
  readonly sessionName: string | null;
  readonly sourceIdentity: string | null;
  readonly tags: readonly NeededTag[];
  /** The keys of tags that AWS adds to the caller's session or to the call. */
  readonly addedTagKeys: readonly string[];
}

/**
 * The tags that AWS adds, of which those of EKS Pod Identity are transitive. Sources:
 * https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html and ack-permissions.html
 */
export const POD_IDENTITY_KEYS = [
  "eks-cluster-arn", "eks-cluster-name", "kubernetes-namespace", "kubernetes-service-account", "kubernetes-pod-name",
  "kubernetes-pod-uid",
];
export const CAPABILITY_KEYS = ["eks:eks-capability-arn", "eks:kubernetes-namespace", "eks:kubernetes-api-group"];

/** Who calls, and with which credentials. */
export interface NeededCallers {
  readonly callers: readonly string[];
  readonly via: Via;
  readonly credentials: Credentials | null;
}

/** Returns the calls for the role of selectors that have the same session settings. */
export function neededCall(
  selectors: readonly [EffectiveSelector, ...EffectiveSelector[]], { callers, via, credentials }: NeededCallers,
): NeededCall {
  const [{ roleARN, extras }] = selectors;
  const podKeys = credentials === "pod-identity" ? POD_IDENTITY_KEYS : [];
  const addedTagKeys = via === "eks-capability" ? CAPABILITY_KEYS : podKeys;
  const base = { role: roleARN, callers: callers.toSorted(compareText), addedTagKeys };
  if (via !== "sidecar") return { ...base, externalID: null, sessionName: null, sourceIdentity: null, tags: [] };
  const { externalID, sessionName, sourceIdentity } = extras;
  const tags = extras.tags.map((tag) => neededTag(tag, selectors));
  return { ...base, externalID, sessionName, sourceIdentity, tags };
}

/** Fills in the namespaces that selectors name. `*` stands for a template whose value is not known. */
function neededTag({ key, value }: SessionTag, selectors: readonly EffectiveSelector[]): NeededTag {
  const lists = selectors.map(({ namespaces }) => namespaces);
  const namespaces = lists.every((one) => one !== null) ? new Set(lists.flatMap((one) => [...one])) : null;
  const isOpen = value.includes("{namespace}") && namespaces !== null;
  const filled = isOpen ? Array.from(namespaces, (name) => value.replaceAll("{namespace}", name)) : [value];
  const values = new Set(filled.map((one) => one.replaceAll(TEMPLATE, "*").replaceAll(/\*+/g, "*")));
  const isPattern = [...values].some((one) => one.includes("*"));
  return { key, values: [...values].toSorted(compareText), isPattern };
}

/** Whether caller and role are in one account. */
export function isInAccountOf(role: string, caller: string): boolean {
  return accountOfARN(role) === accountOfARN(caller);
}
