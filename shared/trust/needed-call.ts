import type { RoleTarget } from "../core/role-target.ts";
import { accountOfARN } from "../formats/arn.ts";
import { compareText } from "../formats/text.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { TEMPLATE } from "../core/session-annotations.ts";
import type { SessionTag } from "../core/session.ts";
import { CAPABILITY_KEYS, type Credentials, POD_IDENTITY_KEYS } from "./added-tags.ts";
import type { Program } from "./role-caller.ts";

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

/** Who calls, and with which credentials. */
export interface NeededCallers {
  readonly callers: readonly string[];
  /** Only the sidecar sends the session settings of selectors. */
  readonly via: Program;
  readonly credentials: Credentials | null;
}

/** Returns the calls for the role of selectors that have the same session settings. */
export function neededCall(
  selectors: readonly [EffectiveSelector, ...EffectiveSelector[]], callers: NeededCallers,
): NeededCall {
  const [{ roleARN, extras }] = selectors;
  const base = plainCall(roleARN, callers);
  if (callers.via !== "sidecar") return base;
  const { externalID, sessionName, sourceIdentity } = extras;
  const tags = extras.tags.map((tag) => neededTag(tag, selectors));
  return { ...base, externalID, sessionName, sourceIdentity, tags };
}

/** Returns the calls for a role for which a program sends no settings. */
function plainCall(role: string, { callers, via, credentials }: NeededCallers): NeededCall {
  const podKeys = credentials === "pod-identity" ? POD_IDENTITY_KEYS : [];
  const addedTagKeys = via === "eks-capability" ? CAPABILITY_KEYS : podKeys;
  const nothing = { externalID: null, sessionName: null, sourceIdentity: null, tags: [] };
  return { role, callers: callers.toSorted(compareText), addedTagKeys, ...nothing };
}

/** Returns the calls for a role of a CARM map, for which the sidecar has no settings. */
export function mapCall({ roleARN }: Pick<RoleTarget, "roleARN">, callers: NeededCallers): NeededCall {
  return plainCall(roleARN, callers);
}

/** Returns the calls for the role of an identity, which the role of its source makes if it has one. */
export function identityCall(
  { roleARN, session, source }: Extract<RoleTarget, { kind: "identity" }>, callers: NeededCallers,
): NeededCall {
  const base = plainCall(roleARN, callers);
  const isTagged = callers.via === "sidecar";
  const inherited = source?.hasOtherBase === true ? [] : base.addedTagKeys;
  // CAPA sends no tags, and treats "" as missing.
  return {
    ...base, callers: source === null ? base.callers : [source.roleARN],
    externalID: textOf(session.externalID), sessionName: textOf(session.sessionName),
    tags: isTagged ? session.tags.map(({ key, value }) => ({ key, values: [value], isPattern: false })) : [],
    addedTagKeys: isTagged ? [...inherited, ...source?.tags.map(({ key }) => key) ?? []] : inherited,
  };
}

function textOf(text: string | null): string | null {
  return text === "" ? null : text;
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
