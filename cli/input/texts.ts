import { readFileSync } from "node:fs";
import { CONFIDENTIAL } from "../../shared/core/confidential.ts";
import type { Edit } from "../../shared/core/repair.ts";
import { EditableText } from "../../shared/files/edit-yaml.ts";
import { whyGenerated } from "../../shared/files/generated.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { mayContainSecret } from "../../shared/files/secret-values.ts";
import { isJsonObject } from "../../shared/formats/json.ts";
import type { StateObject } from "./state.ts";

/** The maximum number of characters that a run parses to edit them: many findings in one document take minutes. */
const MAX_EDITED = 100_000_000;

/** A file and its text before and after some edits. */
export interface EditedFile {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** Whether the file may contain a value that must not be shown next to a change. */
  readonly isConfidential: boolean;
}

interface Result extends EditedFile {
  readonly text: EditableText;
}

/** The edits of one object. */
export interface ObjectEdits {
  /** The edited object, or for a new object the judged one, whose file receives it. */
  readonly found: StateObject;
  readonly edits: readonly Edit[];
  readonly isNew: boolean;
}

interface FileText {
  readonly original: string;
  /** Why a program must not change the file; null if it may. */
  readonly reason: string | null;
  readonly isConfidential: boolean;
  text: EditableText;
}

const UNSUITED = "its YAML cannot be edited here without a guess: there is an anchor, a tag, a directive, a comment "
  + "within the value, or a number that is written otherwise than its value";
const TOO_MUCH = "the documents are too large for so many repairs; run lint again";

/** The texts of the files of the input, and those that edits gave them. */
export class Texts {
  /** The current texts by path, of the files that were edited. */
  readonly current = new Map<string, string>();
  readonly #files = new Map<string, FileText | null>();
  #left = MAX_EDITED;

  /** Returns the files that were edited, with their first and their current text. */
  changes(): readonly EditedFile[] {
    return Array.from(this.current, ([file, after]) => {
      const { original: before = "", isConfidential = true } = this.#file(file) ?? {};
      return { file, before, after, isConfidential };
    });
  }

  /** Makes the results of edits the current texts. */
  keep(results: readonly Result[]): void {
    for (const { file, after, text } of results) {
      this.current.set(file, after);
      const known = this.#file(file);
      if (known !== null) known.text = text;
    }
  }

  /** Returns the current texts, to which `restore` returns. */
  saved(): ReadonlyMap<string, EditableText> {
    return new Map(Array.from(this.current.keys(), (file) => [file, this.#file(file)?.text ?? EditableText.of("")]));
  }

  restore(saved: ReturnType<Texts["saved"]>): void {
    for (const file of this.current.keys()) {
      const known = this.#file(file);
      const text = saved.get(file);
      if (known === null) continue;
      known.text = text ?? EditableText.of(known.original);
      if (text === undefined) this.current.delete(file);
      else this.current.set(file, text.toString());
    }
  }

  /** Returns the files after the edits, which are not kept, or why the edits cannot be made. */
  edited(all: readonly ObjectEdits[]): readonly Result[] | string {
    const results = new Map<string, EditableText>();
    for (const one of all) {
      const { file } = one.found;
      if (file === null || file === STDIN) return "it is not a file";
      if (one.found.from !== undefined) return "it changes an object that results from another one";
      const known = this.#file(file);
      if (known === null) return "it cannot be read";
      if (known.reason !== null) return known.reason;
      const result = this.#editOne(results.get(file) ?? known.text, one);
      if (typeof result === "string") return result;
      results.set(file, result);
    }
    return Array.from(results, ([file, text]) => {
      const { text: old, isConfidential = true } = this.#file(file) ?? {};
      return { file, before: String(old), after: text.toString(), isConfidential, text };
    });
  }

  #editOne(text: EditableText, { found, edits, isNew }: ObjectEdits): EditableText | string {
    const { document = 0, at = [], object } = found;
    this.#left -= text.lengthOf(document) * edits.length;
    if (this.#left < 0) return TOO_MUCH;
    const value = edits[0]?.value;
    if (isNew) return (isJsonObject(value) ? text.with(value) : null) ?? UNSUITED;
    return text.edited({ document, at, object }, edits) ?? UNSUITED;
  }

  /** Returns the text of a file without its byte order mark; null if it cannot be read. */
  #file(file: string): FileText | null {
    const known = this.#files.get(file);
    if (known !== undefined) return known;
    const original = readText(file);
    const read = original === null
      ? null
      : {
        original, reason: whyGenerated(original), text: EditableText.of(original),
        isConfidential: mayContainSecret(original) || CONFIDENTIAL.test(original),
      };
    this.#files.set(file, read);
    return read;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function readText(file: string): string | null {
  try {
    return UTF8.decode(readFileSync(file));
  } catch {
    return null;
  }
}
