import { basename, dirname, join, normalize } from "node:path";
import { isACKGroup } from "../core/ack-groups.ts";
import { field, isJsonObject, stringAt } from "../formats/json.ts";
import { parseValues } from "./manifest-reader.ts";
import { mentionsIn, type Unjudged } from "./unjudged.ts";
import { kindOf } from "../kinds.ts";

const KUSTOMIZATION = /^(?:kustomization\.ya?ml|Kustomization)$/;

/** Whether kustomize reads a file of this name. */
export function isKustomization(path: string): boolean {
  return KUSTOMIZATION.test(basename(path));
}

/** What the kustomizations of a folder state about files. */
export interface Kustomizations {
  /**
   * The normalized paths of the patches that are not resources too, and whether the target of the patch can choose a
   * role. A patch is a part of an object, so no check can run.
   */
  readonly patches: ReadonlyMap<string, boolean>;
  /** The patches and generators in the kustomizations. */
  readonly unjudged: readonly Unjudged[];
}

/** Reads the texts of kustomizations. A text that is invalid states nothing. */
export function readKustomizations(files: readonly { readonly path: string; readonly text: string }[]): Kustomizations {
  const patches = new Map<string, boolean>();
  const resources = new Set<string>();
  const unjudged: Unjudged[] = [];
  for (const { path, text } of files) {
    const resolve = (file: string): string => normalize(join(dirname(path), file));
    for (const value of parseValues(text)) {
      for (const file of stringsIn(field(value, "resources"))) resources.add(resolve(file));
      const [inline, inFiles] = partition(patchesOf(value));
      for (const [file, choosesRole] of inFiles) {
        patches.set(resolve(file), choosesRole || patches.get(resolve(file)) === true);
      }
      const count = inline.filter(Boolean).length + countMaps(value);
      if (count > 0) unjudged.push({ file: path, reason: "patch", count });
    }
  }
  for (const file of resources) patches.delete(file);
  return { patches, unjudged };
}

/** Returns whether each patch in the kustomization chooses a role, and the same for the patches in files. */
function partition(patches: readonly Patch[]): readonly [boolean[], (readonly [file: string, choosesRole: boolean])[]] {
  const inline = patches.flatMap(({ file, choosesRole }) => (file === null ? [choosesRole] : []));
  return [inline, patches.flatMap(({ file, choosesRole }) => (file === null ? [] : [[file, choosesRole] as const]))];
}

interface Patch {
  /** Null if the patch is in the kustomization. */
  readonly file: string | null;
  /** Whether the text or the target of the patch is an object that can choose a role. */
  readonly choosesRole: boolean;
}

function patchesOf(kustomization: unknown): Patch[] {
  const merged = stringsIn(field(kustomization, "patchesStrategicMerge")).map((text) => (
    text.includes("\n") ? { file: null, choosesRole: mentionsIn(text) > 0 } : { file: text, choosesRole: false }
  ));
  const listed = ["patches", "patchesJson6902"].flatMap((key) => itemsIn(kustomization, key)).map((patch) => {
    const choosesRole = mentionsIn(stringAt(patch, "patch") ?? "") > 0 || isRoleTarget(field(patch, "target"));
    return { file: stringAt(patch, "path"), choosesRole };
  });
  return [...merged, ...listed];
}

/** Whether the target of a patch can choose a role. A target without a kind can be any object. */
function isRoleTarget(target: unknown): boolean {
  if (!isJsonObject(target)) return false;
  const [group, kind] = [stringAt(target, "group") ?? "", stringAt(target, "kind") ?? ""];
  return kind === "" ? group === "" || isACKGroup(group) : mentionsIn(`apiVersion: ${group}/\nkind: ${kind}`) > 0;
}

/** Returns the number of ConfigMaps that generators create and that can choose a role. */
function countMaps(kustomization: unknown): number {
  const names = itemsIn(kustomization, "configMapGenerator").map((one) => stringAt(one, "name") ?? "");
  return names.filter((name) => kindOf({ group: "", kind: "ConfigMap", name })?.choosesRole === true).length;
}

function itemsIn(value: unknown, key: string): readonly unknown[] {
  const list = field(value, key);
  return Array.isArray(list) ? (list as readonly unknown[]).filter(isJsonObject) : [];
}

function stringsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? (list as readonly unknown[]).filter((item) => typeof item === "string") : [];
}
