import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

/** krew, the package manager for plugins of kubectl. */
export const KREW: Recipe = {
  name: "krew",
  group: "ci",
  needs: "Go >= 1.25, once, about a minute",
  sources: path.join(import.meta.dirname, "../real/kubectl/go"),
  files: ["go.mod", "go.sum"],
  makes: ["krew"],
  build: (folder, module) => goBuild(`${folder}${path.sep}`, { module, packages: ["sigs.k8s.io/krew/cmd/krew"] }),
};
