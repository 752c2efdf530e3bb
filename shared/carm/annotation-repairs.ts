import { OWNER_ACCOUNT_ANNOTATION } from "../core/annotation-keys.ts";
import type { NamespaceChange, NamespaceState } from "../core/namespace-change.ts";
import { roleRepairs } from "../core/role-repairs.ts";
import { type Edit, meant, type Repair, safely, set, unsafe } from "../core/repair.ts";
import { ACCOUNT_ID } from "../formats/arn.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";
import { choosingAnnotations, type MapEntry } from "./carm-maps.ts";
import { dataPath, parseKey } from "./map-entry-checks.ts";

// The repairs of the annotations of a Namespace that CARM reads.

type MapData = ReadonlyMap<string, string>;

/** The ids of each map, which many namespaces can misspell. */
const IDS = new WeakMap<MapData, NameIndex>();

function idsOf(data: MapData): NameIndex {
  const known = IDS.get(data);
  if (known !== undefined) return known;
  const ids = new NameIndex(Array.from(data.keys()).flatMap((key) => [key, parseKey(key).id]));
  IDS.set(data, ids);
  return ids;
}

interface MissingRole {
  /** The annotation with the id. */
  readonly path: FieldPath;
  readonly entry: MapEntry;
  /** Null if the map does not exist. */
  readonly data: MapData | null;
  /** Whether the map has a role for another id. */
  readonly hasRole: (id: string) => boolean;
}

/** Returns the repairs of an id that has no role: the id that is meant, or the role that is meant in the map. */
export function missingRoleRepairs(
  { settings: { ackSystemNamespace: namespace } }: Pick<NamespaceChange, "settings">,
  { path, entry: { id, map }, data, hasRole }: MissingRole,
): readonly Repair[] {
  if (data === null) return [];
  const digits = digitsOf(id);
  if (digits !== null && hasRole(digits)) return safely(set(path, digits));
  const of = { apiVersion: "v1", kind: "ConfigMap", namespace, name: map };
  const roles = unsafe(roleRepairs(dataPath(id), data.get(id) ?? ""));
  if (roles.length > 0) return roles.map(({ edits }) => ({ edits: edits.map((edit) => ({ ...edit, of })) }));
  return unsafe(meant(path, idsOf(data).misspelled(id).filter(hasRole)));
}

/** Returns the account of a text with blanks or hyphens between its 12 digits; null for other texts. */
export function digitsOf(text: string): string | null {
  const digits = text.replaceAll(/[\s-]/g, "");
  return digits !== text && ACCOUNT_ID.test(digits) ? digits : null;
}

/** Returns the edits that restore the annotations that chose the role before the change. */
export function oldChoices(
  { settings, state }: Pick<NamespaceChange, "settings" | "state">, { annotations }: NamespaceState,
): readonly Edit[] {
  return choosingAnnotations(settings).filter((key) => annotations.get(key) !== state.annotations.get(key))
    .map((key) => set(annotationPath(key), annotations.get(key)));
}

/** Returns the edits that name an account on other namespaces. */
export function namedBy(namespaces: Iterable<string>, account: string): readonly Edit[] {
  return Array.from(namespaces, (name) => ({
    of: { apiVersion: "v1", kind: "Namespace", namespace: null, name },
    path: annotationPath(OWNER_ACCOUNT_ANNOTATION), value: account,
  }));
}
