import { readFileSync } from "node:fs";
import type { Edit } from "../../shared/core/repair.ts";
import { addObject, editText } from "../../shared/files/edit-yaml.ts";
import { whyGenerated } from "../../shared/files/generated.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { isJsonObject } from "../../shared/formats/json.ts";
import type { StateObject } from "./state.ts";

/** The maximum number of characters that a run parses to edit them, so that many findings in a large file end. */
const MAX_EDITED = 100_000_000;

/** A file and its text before and after some edits. */
export interface EditedFile {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** The edits of one object. */
export interface ObjectEdits {
  /** The edited object, or for a new object the judged one, whose file receives it. */
  readonly found: StateObject;
  readonly edits: readonly Edit[];
  readonly isNew: boolean;
}

const UNSUITED = "its YAML cannot be edited here without a guess, for example because of an anchor";

/** The texts of the files of the input, and those that edits gave them. */
export class Texts {
  /** The current texts by path, of the files that were edited. */
  readonly current = new Map<string, string>();
  readonly #read = new Map<string, string | null>();
  readonly #generated = new Map<string, string | null>();
  #left = MAX_EDITED;

  /** Returns the text of a file without its byte order mark, as it was first read; null if it cannot be read. */
  original(file: string): string | null {
    const known = this.#read.get(file);
    if (known !== undefined) return known;
    const text = readText(file);
    this.#read.set(file, text);
    return text;
  }

  /** Returns the files after the edits, which change nothing here, or why the edits cannot be made. */
  edited(all: readonly ObjectEdits[]): readonly EditedFile[] | string {
    const texts = new Map<string, string>();
    for (const one of all) {
      const { file } = one.found;
      if (file === null || file === STDIN) return "it is not a file";
      const text = texts.get(file) ?? this.current.get(file) ?? this.original(file);
      if (text === null) return "it cannot be read";
      const reason = this.#whyGenerated(file, text);
      if (reason !== null) return reason;
      const result = this.#editOne(text, one);
      if (result === null) return UNSUITED;
      texts.set(file, result);
    }
    return Array.from(texts, ([file, after]) => (
      { file, before: this.current.get(file) ?? this.original(file) ?? "", after }
    ));
  }

  #editOne(text: string, { found, edits, isNew }: ObjectEdits): string | null {
    this.#left -= text.length;
    if (this.#left < 0) return null;
    const value = edits[0]?.value;
    if (isNew) return isJsonObject(value) ? addObject(text, value) : null;
    const { document, at = [], object } = found;
    return document === undefined ? null : editText(text, { document, at, object }, edits);
  }

  #whyGenerated(file: string, text: string): string | null {
    const known = this.#generated.get(file);
    if (known !== undefined) return known;
    const reason = whyGenerated(text);
    this.#generated.set(file, reason);
    return reason;
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
