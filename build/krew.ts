import { stringify } from "yaml";
import { PLUGIN_FILE } from "../cli/plugin.ts";

/** The tarball of the npm package, which runs with the Node.js of the user. */
interface KrewArchive {
  readonly uri: string;
  readonly sha256: string;
}

/** The fields of package.json that the manifest contains. */
interface Package {
  readonly version: string;
  readonly homepage?: string;
}

/** Windows cannot start the program in the tarball. */
const SYSTEMS = ["linux", "darwin"];

const DESCRIPTION = `Explains which IAM role each resource of AWS Controllers for Kubernetes (ACK)
and each cluster of Cluster API for AWS uses, why, and how to fix it. It reads
the cluster of the current context, or manifests.
`;

const CAVEATS = `Needs Node.js 22.19 or later.
Say why a resource has its role: kubectl ack-role why bucket/NAME -n NAMESPACE
krew links only the plugin. kubectl completes its command lines after
  kubectl ack-role completion kubectl > kubectl_complete-ack_role
once this file is executable and in the PATH.
`;

/**
 * Returns the manifest with which krew installs the plugin:
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export function krewManifest({ version, homepage }: Package, archive: KrewArchive): string {
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: PLUGIN_FILE.replace("kubectl-", "").replaceAll("_", "-") },
    spec: {
      version: `v${version}`,
      ...(homepage !== undefined && { homepage }),
      shortDescription: "Explain the IAM roles of ACK resources",
      description: DESCRIPTION,
      caveats: CAVEATS,
      platforms: [{
        selector: { matchExpressions: [{ key: "os", operator: "In", values: SYSTEMS }] },
        ...archive, bin: `package/dist/${PLUGIN_FILE}.js`,
      }],
    },
  });
}
