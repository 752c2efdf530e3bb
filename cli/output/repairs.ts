import { CONFIDENTIAL } from "../../shared/core/confidential.ts";
import type { Finding } from "../../shared/core/check.ts";
import { describeRepairs, type ObjectName, patchOf, type Repair } from "../../shared/core/repair.ts";
import { type ObjectChange, ObjectsByName } from "../../shared/diagnosis/object-changes.ts";
import type { PatchOperation } from "../../shared/formats/json.ts";
import type { StateObject } from "../input/state.ts";
import { type EditedFile, type ObjectEdits, Texts } from "../input/texts.ts";
import { kubectlCommand } from "../../shared/diagnosis/kubectl-commands.ts";
import { unifiedHunks } from "./line-diff.ts";
import { isPastable, shellWord, withInput } from "../../shared/formats/shell.ts";

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

type Repaired = Pick<Finding, "path" | "repairs">;

/** Renders the repairs of findings. */
export class RepairRenderer {
  readonly texts: Texts;
  readonly #objects: ObjectsByName<StateObject>;

  /** `objects` are those of the input, which repairs can name. */
  constructor(objects: readonly StateObject[], texts = new Texts()) {
    this.#objects = new ObjectsByName(objects);
    this.texts = texts;
  }

  /** Returns the repairs of a finding about an object. */
  render({ repairs = [] }: Repaired, judged: StateObject): readonly RenderedRepair[] {
    const all = repairs.map((repair) => ({ repair, targets: this.#objects.changesOf(repair, judged) }));
    // Nobody writes an object that a controller creates.
    const possible = all.filter(({ targets }) => targets.every(({ found }) => found?.from === undefined));
    return possible.map(({ repair, targets }) => {
      const commands = judged.file === null ? targets.map(kubectlCommand) : this.#fileCommands(targets, judged);
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
    return this.#filesOf(this.#objects.changesOf(repair, judged), judged);
  }

  /** Returns the objects of the input that a repair changes. */
  foundBy(repair: Repair, judged: StateObject): readonly StateObject[] {
    return this.#objects.changesOf(repair, judged).flatMap(({ found }) => found ?? []);
  }

  #filesOf(targets: readonly ObjectChange<StateObject>[], judged: StateObject): ReturnType<Texts["edited"]> {
    const all: ObjectEdits[] = [];
    for (const { found, edits } of targets) {
      const isNew = found === null && edits.length === 1 && edits[0]?.path.length === 0;
      if (found === null && !isNew) return "it changes an object that the files do not contain";
      all.push({ found: found ?? judged, edits, isNew });
    }
    return this.texts.edited(all);
  }

  #fileCommands(targets: readonly ObjectChange<StateObject>[], judged: StateObject): readonly string[] {
    const files = this.#filesOf(targets, judged);
    if (typeof files === "string") return [];
    const diffs = files.map((file) => ({ file: file.file, diff: diffOf(file) }));
    return diffs.every(({ diff }) => diff !== null)
      ? diffs.map(({ file, diff }) => withInput(`patch ${shellWord(pathArgument(file))}`, diff ?? ""))
      : [];
  }
}

function changeOf({ name, found, edits }: ObjectChange<StateObject>): RepairChange {
  const path = edits[0]?.path ?? [];
  return {
    object: name,
    file: found?.file ?? null,
    line: found?.file == null ? null : found.lineOf(path),
    patch: patchOf(found?.object ?? null, edits),
  };
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
