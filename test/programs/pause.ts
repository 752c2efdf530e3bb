import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

const PROGRAM = "pause";

/** The program of the Pod sandbox. */
export const PAUSE: Recipe = {
  name: PROGRAM,
  group: "cluster",
  needs: "Go >= 1.25",
  sources: path.join(import.meta.dirname, "../cluster/pause"),
  files: ["go.mod", "main.go"],
  makes: [PROGRAM],
  build: (folder, module) => goBuild(pauseIn(folder), { module, isStatic: true }),
};

/** Returns the program in the folder of PAUSE. */
export function pauseIn(folder: string): string {
  return path.join(folder, PROGRAM);
}
