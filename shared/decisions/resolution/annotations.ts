import { RESOLVER_PREFIX as PREFIX, RESOLUTION_KEYS } from "../annotation-keys.ts";
import { field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation } from "../kubernetes/json.ts";
import type { Resolution } from "./resolve.ts";

const CONFLICTING_NAMED = 10;
const REASON_LENGTH = 256;
/** IAM's limit. A stored selector may hold a longer text, which is no role's ARN and would not fit the annotations' 4 KiB. */
const ROLE_ARN_BYTES = 2048;
/** Kubernetes refuses more, keys and values counted in bytes (k8s.io/apimachinery pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB). */
const ANNOTATIONS_BYTES = 256 * 1024;

/** What the annotations of a resource say of its resolution; a key that does not apply is absent. */
export function resolutionAnnotations({ outcome, via, selectors, roleARN, message }: Resolution): ReadonlyMap<string, string> {
  const [selector] = outcome === "selected" ? selectors : [];
  const said: [string, string | null][] = [
    ["outcome", outcome],
    ["via", via],
    ["selector", selector?.name ?? null],
    ["selector-resource-version", selector?.resourceVersion ?? null],
    ["role-arn", roleARN === null || byteLength(roleARN) > ROLE_ARN_BYTES ? null : roleARN],
    ["conflicting-selectors", outcome === "conflict" ? listed(selectors.map(({ name }) => name)) : null],
    ["reason", message.slice(0, REASON_LENGTH).toWellFormed()], // half a surrogate pair would come back as another text
  ];
  return new Map(said.flatMap(([key, value]) => (value === null ? [] : [[PREFIX + key, value] as const])));
}

function listed(names: readonly string[]): string {
  const named = names.slice(0, CONFLICTING_NAMED).join(",");
  return names.length > CONFLICTING_NAMED ? `${named},+${names.length - CONFLICTING_NAMED}` : named;
}

/**
 * The JSON patch that makes the object's annotations tell `resolution`: one operation a key, none where they do already, and
 * none at all (`tooLarge`) where the object would then be refused for the size of its annotations.
 */
export function annotationPatch(object: JsonObject, resolution: Resolution): { readonly patch: readonly PatchOperation[]; readonly tooLarge: boolean } {
  const wanted = resolutionAnnotations(resolution);
  const metadata = field(object, "metadata");
  const found = field(metadata, "annotations");
  if (!isJsonObject(found)) return { patch: createAnnotations(metadata, wanted), tooLarge: false };
  const patch = RESOLUTION_KEYS.flatMap((key): PatchOperation[] => {
    const value = wanted.get(key);
    const path = jsonPointer("metadata", "annotations", key);
    if (value === undefined) return Object.hasOwn(found, key) ? [{ op: "remove", path }] : [];
    return found[key] === value ? [] : [{ op: Object.hasOwn(found, key) ? "replace" : "add", path, value }];
  });
  const tooLarge = patch.length > 0 && sizeAfter(found, wanted) > ANNOTATIONS_BYTES;
  return { patch: tooLarge ? [] : patch, tooLarge };
}

/** A parent that is absent or null is made first; `add` on an existing null replaces it (RFC 6902, 4.1). */
function createAnnotations(metadata: unknown, wanted: ReadonlyMap<string, string>): PatchOperation[] {
  const annotations = Object.fromEntries(wanted);
  if (!isJsonObject(metadata)) return [{ op: "add", path: jsonPointer("metadata"), value: { annotations } }];
  return [{ op: "add", path: jsonPointer("metadata", "annotations"), value: annotations }];
}

function sizeAfter(found: JsonObject, wanted: ReadonlyMap<string, string>): number {
  const ours = new Set(RESOLUTION_KEYS);
  const kept = Object.entries(found).filter(([key]) => !ours.has(key));
  return [...kept, ...wanted].reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(String(value)), 0);
}

/** Length in UTF-8, where each half of a surrogate pair takes two bytes. A lone one, which JSON can carry, becomes U+FFFD in Go. */
function byteLength(text: string): number {
  const wellFormed = text.toWellFormed();
  let bytes = 0;
  for (let i = 0; i < wellFormed.length; i++) {
    const unit = wellFormed.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return bytes;
}
