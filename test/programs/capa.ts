import { copyFile } from "node:fs/promises";
import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";
import { runTool } from "./run-program.ts";

const MODULE = "sigs.k8s.io/cluster-api-provider-aws/v2";
const PROGRAM = "capa";
/** The ClusterRole and the webhook configurations of the manager. */
const MANIFESTS = { rights: "rbac/role.yaml", webhooks: "webhook/manifests.yaml" } as const;
/**
 * The kinds that the manager watches if it has only the controllers of unmanaged clusters. The manager exits after two
 * minutes if one is missing.
 */
const CRDS: Readonly<Record<string, readonly string[]>> = {
  [MODULE]: [
    "awsclusters", "awsmachines", "awsmachinetemplates", "awsclustercontrolleridentities", "awsclusterroleidentities",
    "awsclusterstaticidentities",
  ].map((name) => `infrastructure.cluster.x-k8s.io_${name}.yaml`),
  "sigs.k8s.io/cluster-api": ["clusters", "machines", "machinesets", "machinedeployments"].map((name) => (
    `cluster.x-k8s.io_${name}.yaml`
  )),
};

/** The manager of Cluster API Provider AWS. The folder also contains the manifests of its release. */
export const CAPA: Recipe = {
  name: PROGRAM,
  group: "ci",
  needs: "Go >= 1.25, once, about 3 minutes",
  sources: path.join(import.meta.dirname, "../real/capa/go"),
  files: ["go.mod", "go.sum"],
  makes: [PROGRAM],
  async build(folder, module) {
    await goBuild(capaIn(folder).program, { module, packages: [MODULE] });
    const copy = async (dependency: string, files: readonly string[]): Promise<void> => {
      const listed = await runTool("go", ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", dependency], module);
      const config = path.join(listed.stdout.trim(), "config");
      await Promise.all(files.map((file) => copyFile(path.join(config, file), path.join(folder, path.basename(file)))));
    };
    await copy(MODULE, Object.values(MANIFESTS));
    for (const [dependency, names] of Object.entries(CRDS)) {
      await copy(dependency, names.map((name) => `crd/bases/${name}`));
    }
  },
};

interface InstalledCAPA extends Readonly<Record<keyof typeof MANIFESTS, string>> {
  readonly program: string;
  readonly crds: readonly string[];
}

/** Returns the files in the folder of CAPA. */
export function capaIn(folder: string): InstalledCAPA {
  const file = (name: string): string => path.join(folder, path.basename(name));
  return {
    program: file(PROGRAM), crds: Object.values(CRDS).flat().map(file),
    rights: file(MANIFESTS.rights), webhooks: file(MANIFESTS.webhooks),
  };
}
