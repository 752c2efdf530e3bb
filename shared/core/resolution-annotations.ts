import type { ChainLink, Resolution } from "./resolution.ts";
import { RESOLUTION, RESOLUTION_KEYS } from "./annotation-keys.ts";
import { IDENTITY_KINDS, identityKindOf } from "./capa-kinds.ts";
import { field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation } from "../formats/json.ts";
import { MAX_SUBDOMAIN_LENGTH, subdomainFaults } from "../formats/names.ts";
import { LIMITS } from "./limits.ts";

const MAX_CONFLICTING_NAMES = 10;
export const MAX_REASON_LENGTH = 256;
/** The maximum number of identities in the annotation of a chain: the roles, and the source of the credentials. */
export const MAX_CHAIN_LINKS = LIMITS.identityRoles.value + 1;
/** The maximum length of the annotation of a chain, which consists of `KIND/NAME` and separators. */
export const MAX_CHAIN_LENGTH = MAX_CHAIN_LINKS
  * (Math.max(...IDENTITY_KINDS.map(({ length }) => length)) + "/,".length + MAX_SUBDOMAIN_LENGTH);
/** The maximum length of a role ARN, in bytes. */
const MAX_ROLE_ARN_BYTES = 2048;
/**
 * The maximum size of all annotation keys and values of an object, in bytes.
 * Source: k8s.io/apimachinery pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB.
 */
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

/** Returns the annotations that record a resolution. Omits keys that have no value for the resolution. */
export function resolutionAnnotations({
  outcome,
  via,
  selectors,
  roleARN,
  chain,
  message,
}: Resolution): ReadonlyMap<string, string> {
  const annotations = new Map<string, string>([[RESOLUTION.outcome, outcome]]);
  const add = (key: string, value: string | null): void => void (value !== null && annotations.set(key, value));
  const [selector] = outcome === "selected" ? selectors : [];
  add(RESOLUTION.via, via);
  if (selector !== undefined) {
    add(RESOLUTION.selector, selector.name);
    add(RESOLUTION.selectorVersion, selector.resourceVersion);
  }
  if (roleARN !== null && byteLength(roleARN) <= MAX_ROLE_ARN_BYTES) add(RESOLUTION.roleARN, roleARN);
  if (outcome === "conflict") add(RESOLUTION.conflicting, listConflicting(selectors.map(({ name }) => name)));
  if (chain !== undefined) add(RESOLUTION.chain, chainText(chain));
  // Truncation can split a surrogate pair. The API server would replace the half that remains.
  add(RESOLUTION.reason, message.slice(0, MAX_REASON_LENGTH).toWellFormed());
  return annotations;
}

const NONE: ReadonlyMap<string, string | null> = new Map();

/**
 * Returns the annotations that are stale, with their correct values. A stale annotation whose value is null must be
 * removed. Returns no annotation if only the recorded resource version of the selector is old: each change of a
 * selector would otherwise change all its resources, although their role stays the same.
 */
export function staleAnnotations(
  annotations: ReadonlyMap<string, string>, resolution: Resolution,
): ReadonlyMap<string, string | null> {
  const desired = resolutionAnnotations(resolution);
  const keys = RESOLUTION_KEYS.filter((key) => annotations.get(key) !== desired.get(key));
  const isOnlyVersion = keys.length === 1 && keys[0] === RESOLUTION.selectorVersion;
  if (isOnlyVersion && desired.has(RESOLUTION.selectorVersion)) return NONE;
  return new Map(keys.map((key) => [key, desired.get(key) ?? null]));
}

function listConflicting(names: readonly string[]): string {
  const shown = names.slice(0, MAX_CONFLICTING_NAMES).join(",");
  return names.length > MAX_CONFLICTING_NAMES ? `${shown},+${names.length - MAX_CONFLICTING_NAMES}` : shown;
}

/**
 * Returns `KIND/NAME` of each identity in the chain, separated by commas, or null if the chain has no identity. Neither
 * a kind nor a name contains a slash or a comma. Omits a reference that no identity can have, which can only be the
 * last one: users can write any text in a reference. The reason names it.
 */
function chainText(chain: readonly ChainLink[]): string | null {
  const identities = chain.filter(({ kind, name }) => identityKindOf(kind) !== null && !subdomainFaults(name).length);
  return identities.length === 0 ? null : identities.map(({ kind, name }) => `${kind}/${name}`).join(",");
}

const METADATA = jsonPointer("metadata");
const ANNOTATIONS = jsonPointer("metadata", "annotations");
const POINTERS = RESOLUTION_KEYS.map((key) => ({ key, path: jsonPointer("metadata", "annotations", key) }));

/**
 * Returns the JSON patch that gives the object the desired annotations of a resolution, and no others: one operation
 * for each key that differs. If the annotations would exceed the size limit of the API server, the patch is empty and
 * `tooLarge` is true.
 */
export function annotationPatch(
  object: JsonObject, desired: ReadonlyMap<string, string>,
): { readonly patch: readonly PatchOperation[]; readonly tooLarge: boolean } {
  const metadata = field(object, "metadata");
  const current = field(metadata, "annotations");
  if (!isJsonObject(current)) return { patch: createAnnotations(metadata, desired), tooLarge: false };
  const patch = POINTERS.flatMap(({ key, path }): PatchOperation[] => {
    const value = desired.get(key);
    if (value === undefined) return Object.hasOwn(current, key) ? [{ op: "remove", path }] : [];
    return current[key] === value ? [] : [{ op: Object.hasOwn(current, key) ? "replace" : "add", path, value }];
  });
  const tooLarge = patch.length > 0 && patchedBytes(current, desired) > MAX_ANNOTATIONS_BYTES;
  return { patch: tooLarge ? [] : patch, tooLarge };
}

/**
 * Returns the patch for an object whose metadata or annotations are missing or null. The operation `add` replaces an
 * existing null (RFC 6902, section 4.1).
 */
function createAnnotations(metadata: unknown, desired: ReadonlyMap<string, string>): PatchOperation[] {
  const annotations = Object.fromEntries(desired);
  if (!isJsonObject(metadata)) return [{ op: "add", path: METADATA, value: { annotations } }];
  return [{ op: "add", path: ANNOTATIONS, value: annotations }];
}

function patchedBytes(current: JsonObject, desired: ReadonlyMap<string, string>): number {
  const resolutionKeys = new Set(RESOLUTION_KEYS);
  const others = Object.entries(current).filter(([key]) => !resolutionKeys.has(key));
  return [...others, ...desired].reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
}

/**
 * Returns the length of a text in UTF-8 bytes. Counts a surrogate pair as four bytes, and counts a lone surrogate as
 * U+FFFD, as Go does. Returns 0 for a value that is not a text, because the API server rejects the annotation, and
 * converting a deeply nested list to text would overflow the call stack.
 */
function byteLength(text: unknown): number {
  if (typeof text !== "string") return 0;
  const wellFormed = text.toWellFormed();
  let bytes = 0;
  for (let i = 0; i < wellFormed.length; i++) {
    const unit = wellFormed.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return bytes;
}
