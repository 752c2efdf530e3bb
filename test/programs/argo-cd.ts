import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

const PROGRAM = "argo-cd";

/**
 * A program that answers how Argo CD compares objects, what their health is, whether Flux can read an object, and what
 * its drift detection finds.
 */
export const ARGO_CD: Recipe = {
  name: PROGRAM,
  group: "ci",
  needs: "Go >= 1.25, once, about 5 minutes",
  sources: path.join(import.meta.dirname, "../real/gitops/go"),
  files: ["drift.go", "go.mod", "go.sum", "flux.go", "main.go"],
  makes: [PROGRAM],
  build: (folder, module) => goBuild(argoCDIn(folder), { module }),
};

/** Returns the program in the folder of ARGO_CD. */
export function argoCDIn(folder: string): string {
  return path.join(folder, PROGRAM);
}
