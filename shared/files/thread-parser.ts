import { once } from "node:events";
import { getAsset, isSea } from "node:sea";
import { Worker } from "node:worker_threads";
import { errorMessage } from "../formats/errors.ts";
import { isJsonObject, parseJSON } from "../formats/json.ts";
import type { Paced } from "../formats/paced.ts";
import type { InputFault, Manifest, ParsedManifests } from "./manifest-reader.ts";

/** A text that the thread parses. */
export interface ParseRequest {
  readonly text: string;
  readonly file: string;
}

/** The objects of a text as JSON. The lists `documents` and `lines` have one element for each object. */
export interface ParsedText {
  readonly objects: readonly string[];
  readonly documents: readonly number[];
  readonly lines: readonly (number | null)[];
  readonly faults: readonly InputFault[];
  readonly notManifest: ParsedManifests["notManifest"];
}

/** The build places the module of the thread next to the chunk that contains this module. */
const MODULE = new URL(`./parser-thread.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);

/** Only the main thread of a single executable can read the files in it. */
function startThread(): Worker {
  return isSea() ? new Worker(getAsset("parser-thread.js", "utf8"), { eval: true }) : new Worker(MODULE);
}

/**
 * Parses manifests in a thread, because the yaml package parses about 1 MB per second and cannot pause in a document.
 * Starts the thread for the first text.
 */
export class ThreadParser {
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();

  /**
   * Parses the texts one after the other. Never rejects. If the thread fails, for example because its memory is
   * exhausted, returns a fault, and the next text starts a new thread.
   */
  parse(request: ParseRequest): Promise<ParsedText> {
    const parsed = this.#last.then(() => this.#parse(request));
    this.#last = parsed;
    return parsed;
  }

  async #parse(request: ParseRequest): Promise<ParsedText> {
    try {
      const { signal } = this.#closing;
      signal.throwIfAborted();
      this.#worker ??= startThread();
      const response = once(this.#worker, "message", { signal });
      // oxlint-disable-next-line require-post-message-target-origin -- only browser windows have origins
      this.#worker.postMessage(request);
      return (await response)[0];
    } catch (error) {
      await this.#terminate();
      const reason = errorMessage(error);
      const fault = { file: request.file, line: null, message: `cannot be parsed: ${reason}; use several files` };
      return { objects: [], documents: [], lines: [], faults: [fault], notManifest: null };
    }
  }

  /** Stops the thread. Texts that are not parsed yet get a fault. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
    await this.#terminate();
  }

  async #terminate(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}

/** Decodes the objects. `lineOf` returns the line at which the object starts, for every path. */
export function* manifestsOf(
  { objects, documents, lines, faults, notManifest }: ParsedText, file: string,
): Paced<ParsedManifests> {
  const manifests: Manifest[] = [];
  for (const [i, json] of objects.entries()) {
    const object = parseJSON(json);
    const line = lines[i] ?? null;
    if (isJsonObject(object)) manifests.push({ object, file, document: documents[i] ?? 1, lineOf: () => line });
    yield manifests.length;
  }
  return { manifests, faults, notManifest };
}
