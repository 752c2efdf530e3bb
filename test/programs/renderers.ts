import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

/** helm and kustomize, in one folder. */
export const RENDERERS: Recipe = {
  name: "helm-kustomize",
  group: "ci",
  needs: "Go >= 1.25, once, about 3 minutes",
  sources: path.join(import.meta.dirname, "../real/ci/go"),
  files: ["go.mod", "go.sum"],
  makes: ["helm", "kustomize"],
  build: (folder, module) => goBuild(`${folder}${path.sep}`, {
    module, packages: ["helm.sh/helm/v3/cmd/helm", "sigs.k8s.io/kustomize/kustomize/v5"],
  }),
};
