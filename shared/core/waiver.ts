import { WAIVER_ANNOTATION } from "./annotation-keys.ts";
import type { DecisionSettings, Requester } from "./context.ts";
import { isController } from "./exemptions.ts";
import { annotationPath, type JsonObject } from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { listOf, MAX_NAMES, quote } from "../formats/text.ts";
import { LIMITS } from "./limits.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { by, type Edit, set } from "./repair.ts";
import { NEEDS } from "./requirements.ts";

type WaiverSettings = Parameters<typeof isController>[1] & Pick<DecisionSettings, "waiverUsers" | "waiverGroups">;

/** A write of an object that may have the waiver annotation. */
interface WaiverChange {
  readonly object: JsonObject;
  /** The stored object at UPDATE; otherwise null. */
  readonly old: JsonObject | null;
  /** Null offline. */
  readonly requester: Requester | null;
  readonly settings: WaiverSettings;
}

const COPIED_FIX = `remove the annotation ${WAIVER_ANNOTATION} from the object from which the controller copies it; `
  + "a waiver user can then set it on this object";

const PATH = annotationPath(WAIVER_ANNOTATION);

function hasWaivers({ object }: WaiverChange): boolean {
  return annotationAt(object, WAIVER_ANNOTATION) !== null;
}

/**
 * The check applies to every kind whose checks can be waived, and to the CustomResourceDefinitions of IAMRoleSelectors
 * and ACK resources.
 */
export const WAIVER_01: QuickCheck<WaiverChange> = {
  id: "WAIVER-01",
  severity: "deny",
  reason: "Without this check, any user could set a waiver, and the waiver would take effect when a waiver user next "
    + "writes or deletes the object. Controllers copy annotations that tenants choose, so they may not set a waiver "
    + "either, not even as waiver users. Every user may remove a waiver.",
  fix: `remove the annotation ${WAIVER_ANNOTATION}, or ask a user in --waiver-users or in a group in --waiver-groups `
    + "to set it",
  example: `metadata: {annotations: {${WAIVER_ANNOTATION}: IRS-30}} # set by a user who is not a waiver user`,
  requires: [NEEDS.requester],
  ofChange: true, // the webhook does not know who wrote the stored object
  bindsControllers: true,
  when: hasWaivers,
  *find({ object, old, requester, settings }): Iterable<Fault> {
    if (requester === null || mayWaive(requester, settings)) return;
    const stored = new Set(old === null ? [] : waivedChecks(old));
    const added = waivedChecks(object).filter((id) => id !== "" && !stored.has(id));
    if (added.length === 0) return;
    const ids = listOf(added.slice(0, MAX_NAMES).map(quote), added.length);
    const isCopied = isController(requester, settings);
    const is = isCopied ? "a controller" : "not a waiver user";
    const message = `the requester ${quote(requester.username)} is ${is} and may not waive ${ids}`;
    const fix = isCopied ? COPIED_FIX : WAIVER_01.fix;
    yield { path: PATH, message, fix, repairs: by(withoutWaivers(object, new Set(added))) };
  },
};

/** Returns the edit that removes ids from the waiver annotation, and the annotation with its last id. */
export function withoutWaivers(object: JsonObject, removed: ReadonlySet<string>): Edit {
  const kept = waivedChecks(object).filter((id) => id !== "" && !removed.has(id));
  return set(PATH, kept.length === 0 ? undefined : kept.join(","));
}

/** Returns the edit with which a waiver user waives one more check. */
export function withWaiver(object: JsonObject, id: string): Edit {
  return set(PATH, [...waivedChecks(object).filter((one) => one !== ""), id].join(","));
}

/** Returns the first 100 ids in the waiver annotation of the object. */
export function waivedChecks(object: JsonObject): readonly string[] {
  const text = annotationAt(object, WAIVER_ANNOTATION);
  return text === null ? [] : text.split(",", LIMITS.listedEntries.value).map((id) => id.trim());
}

/** Returns whether the requester is a waiver user, whose waivers are valid. A controller is never a waiver user. */
export function mayWaive(requester: Requester, settings: WaiverSettings): boolean {
  const { waiverUsers, waiverGroups } = settings;
  const isListed = waiverUsers.includes(requester.username)
    || requester.groups.some((group) => waiverGroups.includes(group));
  return isListed && !isController(requester, settings);
}
