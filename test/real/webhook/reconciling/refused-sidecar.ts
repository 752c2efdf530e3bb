import type { Test } from "tap";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/faults.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { BASE, ENVIRONMENT } from "../../planted-sidecar.ts";
import { startServer } from "../../server-process.ts";
import { fileWith } from "../../../token-file.ts";

export const TOKEN = "a-token-of-a-controller";

/**
 * Starts a sidecar as the service account of the controller. STS rejects each role, or only the role of `refused`.
 * Returns the address.
 */
export async function startRefusedSidecar(
  t: Test, cluster: Cluster, flags: readonly string[], refused: string | null = null,
): Promise<string> {
  const sts = await startSTSEmulator({
    baseCredentials: [BASE],
    faults: ({ action, roleARN }) => (
      action === "AssumeRole" && (refused === null || roleARN === refused)
        ? { do: "reject", code: "AccessDenied", status: 403, message: "not authorized" } : null
    ),
  });
  t.teardown(() => sts.close());
  const sidecar = await startServer("sidecar", [
    "--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "controller", ...flags,
    "--token-file", fileWith(TOKEN), "--sts-endpoint", sts.url,
  ], ENVIRONMENT);
  t.teardown(() => sidecar.stop("SIGKILL"));
  return sidecar.address;
}
