import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

const PROGRAMS = ["controller", "pause"] as const;

/** The absolute paths of the programs. */
export type PodPrograms = Readonly<Record<(typeof PROGRAMS)[number], string>>;

/** The programs that Pods run: a controller, and the program of the Pod sandbox. */
export const POD_PROGRAMS: Recipe = {
  name: "pod-programs",
  group: "cluster",
  needs: "Go >= 1.25, once, about 2 minutes",
  sources: path.join(import.meta.dirname, "../cluster/go"),
  files: ["go.mod", "go.sum", "controller/aws.go", "controller/bucket.go", "controller/main.go", "pause/main.go"],
  makes: PROGRAMS,
  build: (folder, module) => goBuild(`${folder}${path.sep}`, {
    module, packages: PROGRAMS.map((name) => `./${name}`), isStatic: true,
  }),
};

/** Returns the programs in the folder of POD_PROGRAMS. */
export function podProgramsIn(folder: string): PodPrograms {
  return { controller: path.join(folder, "controller"), pause: path.join(folder, "pause") };
}
