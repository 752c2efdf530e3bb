import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

const PROGRAMS = ["oracle", "controller"] as const;

/** The absolute paths of the programs. */
export type ACKPrograms = Readonly<Record<(typeof PROGRAMS)[number], string>>;

/** Programs on the runtime of ACK: the selector matcher that ACK ships, and a controller. */
export const ACK_RUNTIME: Recipe = {
  name: "ack-runtime",
  group: "oracle",
  needs: "Go >= 1.25, once, about 3 minutes",
  sources: path.join(import.meta.dirname, "../real/oracle/go"),
  files: [
    "go.mod", "go.sum", "main.go", "matcher.go", "labels.go",
    "controller/main.go", "controller/bucket.go", "controller/manager.go",
  ],
  makes: PROGRAMS,
  build: (folder, module) => goBuild(`${folder}${path.sep}`, {
    module, packages: [".", "./controller"], isStatic: true,
  }),
};

/** Returns the programs in the folder of ACK_RUNTIME. */
export function ackProgramsIn(folder: string): ACKPrograms {
  return { oracle: path.join(folder, "oracle"), controller: path.join(folder, "controller") };
}
