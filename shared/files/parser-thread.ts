import { parentPort } from "node:worker_threads";
import { excessOf } from "../formats/json.ts";
import { LIMITS } from "../core/limits.ts";
import { type InputFault, readManifests } from "./manifest-reader.ts";
import type { ParsedText, ParseRequest } from "./thread-parser.ts";

// The module that `ThreadParser` runs in a thread. Responds to each request in order.

const BOUNDS = { maxDepth: LIMITS.objectDepth.value, maxValues: LIMITS.manifestValues.value };

/** Returns the objects as JSON texts, because the server parses a text faster than it receives an object. */
function parse({ text, file }: ParseRequest): ParsedText {
  const { manifests, faults, notManifest } = readManifests(text, file);
  const excesses = manifests.flatMap(({ object, lineOf }): InputFault[] => {
    const excess = excessOf(object, BOUNDS);
    return excess === null ? [] : [{ file, line: lineOf([]), message: `${excess.message}; split the object` }];
  });
  if (excesses.length > 0) {
    return { objects: [], documents: [], lines: [], faults: [...faults, ...excesses], notManifest: null };
  }
  return {
    objects: manifests.map(({ object }) => JSON.stringify(object)),
    documents: manifests.map(({ document }) => document),
    lines: manifests.map(({ lineOf }) => lineOf([])),
    faults,
    notManifest,
  };
}

parentPort?.on("message", (request: ParseRequest) => {
  // oxlint-disable-next-line require-post-message-target-origin -- only browser windows have origins
  parentPort?.postMessage(parse(request));
});
