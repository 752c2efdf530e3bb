import { stringify } from "yaml";
import { PLUGIN_FILE } from "../cli/plugin.ts";

/** An archive with the program, and where it runs. */
export interface KrewArchive {
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
  readonly uri: string;
  readonly sha256: string;
  /** The program in the archive. krew links it as `kubectl-ack_role`. */
  readonly bin: string;
}

const DESCRIPTION = `Explains which IAM role each resource of AWS Controllers for Kubernetes (ACK)
and each cluster of Cluster API for AWS uses, why, and how to fix it. It reads
the cluster of the current context, or manifests.
`;

const CAVEATS = `Say why a resource has its role: kubectl ack-role why bucket/NAME -n NAMESPACE
krew links only the plugin. kubectl completes its command lines after
  kubectl ack-role completion kubectl > kubectl_complete-ack_role
once this file is executable and in the PATH.
`;

/**
 * Returns the manifest with which krew installs the plugin:
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export function krewManifest(version: string, archives: readonly KrewArchive[]): string {
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: PLUGIN_FILE.replace("kubectl-", "").replaceAll("_", "-") },
    spec: {
      version: `v${version}`,
      shortDescription: "Explain the IAM roles of ACK resources",
      description: DESCRIPTION,
      caveats: CAVEATS,
      platforms: archives.map(({ os, arch, ...archive }) => ({ selector: { matchLabels: { os, arch } }, ...archive })),
    },
  });
}
