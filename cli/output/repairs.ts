import type { Finding } from "../../shared/core/check.ts";
import { describeRepairs, type Edit, type ObjectName, patchOf, type Repair } from "../../shared/core/repair.ts";
import type { JsonObject, PatchOperation } from "../../shared/formats/json.ts";
import { apiVersionOf, objectReference } from "../../shared/formats/object-meta.ts";
import type { StateObject } from "../input/state.ts";
import { CONFIDENTIAL, type EditedFile, type ObjectEdits, Texts } from "../input/texts.ts";
import { kubectlCommand } from "./kubectl-commands.ts";
import { unifiedHunks } from "./line-diff.ts";
import { isPastable, shellWord, withInput } from "./shell.ts";

/** What a repair changes in one object. */
interface RepairChange {
  readonly object: ObjectName;
  readonly file: string | null;
  readonly line: number | null;
  /** An operation with the path "" creates or deletes the object. */
  readonly patch: readonly PatchOperation[];
}

/** A repair in the format of `-o json`. */
export interface RenderedRepair {
  readonly when: string | null;
  readonly isSafe: boolean;
  readonly changes: readonly RepairChange[];
  /** What a user can paste into a shell; [] if no command makes exactly these changes. */
  readonly commands: readonly string[];
}

/** What a repair changes in the files, and its text. */
export interface FileRepair {
  readonly text: string;
  readonly files: readonly EditedFile[];
}

/** An object that a repair changes. */
interface Target {
  readonly name: ObjectName;
  /** Null if it is not in the input. */
  readonly found: StateObject | null;
  readonly edits: readonly Edit[];
}

type Repaired = Pick<Finding, "path" | "repairs">;

/** Renders the repairs of findings. */
export class RepairRenderer {
  readonly texts: Texts;
  readonly #objects: readonly StateObject[];
  #byName: ReadonlyMap<string, StateObject> | null = null;

  /** `objects` are those of the input, which repairs can name. */
  constructor(objects: readonly StateObject[], texts = new Texts()) {
    this.#objects = objects;
    this.texts = texts;
  }

  /** Returns the repairs of a finding about an object. */
  render({ repairs = [] }: Repaired, judged: StateObject): readonly RenderedRepair[] {
    return repairs.map((repair) => {
      const targets = this.#targetsOf(repair, judged);
      const commands = judged.file === null ? clusterCommands(targets) : this.#fileCommands(targets, judged);
      return {
        when: repair.when ?? null,
        isSafe: repair.isSafe === true,
        changes: targets.map(changeOf),
        commands: commands.every(isPastable) ? commands : [],
      };
    });
  }

  /** Returns the repairs of a finding that can be written into the files. */
  inFiles({ repairs = [], path }: Repaired, judged: StateObject): readonly FileRepair[] {
    return repairs.flatMap((repair) => {
      const files = this.filesOf(repair, judged);
      const isShown = typeof files !== "string" && files.every(isShownChange);
      return isShown ? { text: describeRepairs([repair], path) ?? "", files } : [];
    });
  }

  /** Returns the files after a repair, or why it cannot be written into them. */
  filesOf(repair: Repair, judged: StateObject): ReturnType<Texts["edited"]> {
    return this.#filesOf(this.#targetsOf(repair, judged), judged);
  }

  /** Returns the objects of the input that a repair changes. */
  foundBy(repair: Repair, judged: StateObject): readonly StateObject[] {
    return this.#targetsOf(repair, judged).flatMap(({ found }) => found ?? []);
  }

  #targetsOf({ edits }: Repair, judged: StateObject): readonly Target[] {
    const own = nameOf(judged.object);
    const groups = Map.groupBy(edits, ({ of }) => JSON.stringify(of === undefined ? own : ordered(of)));
    return Array.from(groups, ([key, ofObject]) => {
      const of = ofObject[0]?.of;
      const isOwn = of === undefined || key === JSON.stringify(own);
      return { name: of ?? own, found: isOwn ? judged : this.#find(of), edits: ofObject };
    });
  }

  #find(name: ObjectName): StateObject | null {
    this.#byName ??= new Map(this.#objects.map((one) => [keyOf(nameOf(one.object)), one]));
    return this.#byName.get(keyOf(name)) ?? null;
  }

  #filesOf(targets: readonly Target[], judged: StateObject): ReturnType<Texts["edited"]> {
    const all: ObjectEdits[] = [];
    for (const { found, edits } of targets) {
      const isNew = found === null && edits.length === 1 && edits[0]?.path.length === 0;
      if (found === null && !isNew) return "it changes an object that the files do not contain";
      all.push({ found: found ?? judged, edits, isNew });
    }
    return this.texts.edited(all);
  }

  #fileCommands(targets: readonly Target[], judged: StateObject): readonly string[] {
    const files = this.#filesOf(targets, judged);
    if (typeof files === "string") return [];
    const diffs = files.map((file) => ({ file: file.file, diff: diffOf(file) }));
    return diffs.every(({ diff }) => diff !== null)
      ? diffs.map(({ file, diff }) => withInput(`patch ${shellWord(pathArgument(file))}`, diff ?? ""))
      : [];
  }
}

function clusterCommands(targets: readonly Target[]): readonly string[] {
  return targets.map(({ name, found, edits }) => (
    kubectlCommand(found?.object ?? asObject(name), found?.object ?? null, edits)
  ));
}

function changeOf({ name, found, edits }: Target): RepairChange {
  const path = edits[0]?.path ?? [];
  return {
    object: name,
    file: found?.file ?? null,
    line: found?.file == null ? null : found.lineOf(path),
    patch: patchOf(found?.object ?? null, edits),
  };
}

function nameOf(object: JsonObject): ObjectName {
  const id = objectReference(object);
  return ordered({ ...id, apiVersion: apiVersionOf(id), namespace: id.namespace === "" ? null : id.namespace });
}

function ordered({ apiVersion, kind, namespace, name }: ObjectName): ObjectName {
  return { apiVersion, kind, namespace, name };
}

/** Returns the key of an object. The version of its API and the namespace `default` do not distinguish objects. */
function keyOf({ apiVersion, kind, namespace, name }: ObjectName): string {
  return JSON.stringify([apiVersion.replace(/\/?[^/]*$/, ""), kind, namespace ?? "default", name]);
}

function asObject({ apiVersion, kind, namespace, name }: ObjectName): JsonObject {
  return { apiVersion, kind, metadata: namespace === null ? { name } : { name, namespace } };
}

const CONTEXT = 3;

/**
 * Returns the changes of a file as a unified diff; null if a changed line contains an external ID. Lines next to the
 * changes are left out if the file may contain confidential values.
 */
export function diffOf({ file, before, after, isConfidential }: EditedFile): string | null {
  const hunks = unifiedHunks(before, after, isConfidential ? 0 : CONTEXT);
  return CONFIDENTIAL.test(hunks) ? null : `--- ${file}\n+++ ${file}\n${hunks}`;
}

function isShownChange(file: EditedFile): boolean {
  return file.before !== file.after && diffOf(file) !== null;
}

/** Returns the path so that no program takes it for an option. */
function pathArgument(file: string): string {
  return file.startsWith("-") ? `./${file}` : file;
}
