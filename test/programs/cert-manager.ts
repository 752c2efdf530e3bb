import { copyFile } from "node:fs/promises";
import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";
import { runTool } from "./run-program.ts";

const MODULE = "github.com/cert-manager/cert-manager";
const PROGRAM = "cert-manager";
const CRDS = ["certificaterequests", "certificates", "issuers"].map((name) => `cert-manager.io_${name}.yaml`);

/** The controllers of cert-manager. The folder also contains the CRDs of their release. */
export const CERT_MANAGER: Recipe = {
  name: PROGRAM,
  group: "ci",
  needs: "Go >= 1.25, once, about 3 minutes",
  sources: path.join(import.meta.dirname, "../real/cert-manager/go"),
  files: ["go.mod", "go.sum", "main.go"],
  makes: [PROGRAM],
  async build(folder, module) {
    await goBuild(certManagerIn(folder).program, { module });
    const listed = await runTool("go", ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", MODULE], module);
    const crds = path.join(listed.stdout.trim(), "deploy", "crds");
    await Promise.all(CRDS.map((name) => copyFile(path.join(crds, name), path.join(folder, name))));
  },
};

/** Returns the program and the CRDs in the folder of CERT_MANAGER. */
export function certManagerIn(folder: string): { readonly program: string; readonly crds: readonly string[] } {
  return { program: path.join(folder, PROGRAM), crds: CRDS.map((name) => path.join(folder, name)) };
}
