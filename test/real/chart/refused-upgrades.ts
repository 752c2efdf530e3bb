import type { Test } from "tap";
import type { ProgramResult } from "../../programs/run-program.ts";
import { CHART, NAMESPACE, RELEASE } from "./helm.ts";

const RENAMED = 'fullnameOverride, nameOverride: the installed release has the Service "ack-role-resolver-webhook"';

/** Values that do not fit to a release with the default names, in a namespace with restricted Pod security. */
const UNFIT = [
  ["fullnameOverride=gate", RENAMED], ["nameOverride=gate", RENAMED],
  [
    "nameOverride=gate,fullnameOverride=ack-role-resolver",
    'nameOverride: must be "ack-role-resolver", because the installed Deployment ack-role-resolver-webhook selects',
  ],
  [
    "hostNetwork=true",
    'hostNetwork: the namespace "ack-role-resolver" has the label pod-security.kubernetes.io/enforce: restricted',
  ],
  ["monitoring.podMonitor.enabled=true", "monitoring: the cluster has no kinds of the Prometheus Operator"],
] as const;

/** Tests that helm refuses each upgrade that would fail later, or leave a webhook that the API server cannot call. */
export async function refusesUnfitValues(
  t: Test, { run }: { readonly run: (...args: readonly string[]) => Promise<ProgramResult> },
): Promise<void> {
  for (const [values, fault] of UNFIT) {
    const args = ["upgrade", RELEASE, CHART, "--namespace", NAMESPACE, "--dry-run=server", "--set", values];
    t.match(await run(...args), { code: 1, stderr: fault }, values);
  }
}
