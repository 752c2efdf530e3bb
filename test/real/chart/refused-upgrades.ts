import type { Test } from "tap";
import type { ProgramResult } from "../../programs/run-program.ts";
import { CHART, NAMESPACE, RELEASE } from "./helm.ts";

const RENAMED = 'fullnameOverride, nameOverride: the installed release has the Service "ack-role-resolver-webhook"';

/** Values that do not fit a release with the default names, in a namespace with restricted Pod security. */
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

interface Target {
  readonly run: (...args: readonly string[]) => Promise<ProgramResult>;
}

const DRY_UPGRADE = ["upgrade", RELEASE, CHART, "--namespace", NAMESPACE, "--dry-run=server", "--set"];

/** Tests that helm refuses each upgrade that would fail later, or leave a webhook that the API server cannot call. */
export async function refusesUnfitValues(t: Test, { run }: Target): Promise<void> {
  for (const [values, fault] of UNFIT) t.match(await run(...DRY_UPGRADE, values), { code: 1, stderr: fault }, values);
}

/** Tests that the notes name what an exclusion of namespaces gives up. */
export async function warnsOfExclusions(t: Test, { run }: Target): Promise<void> {
  const { code, stdout } = await run(...DRY_UPGRADE, "webhookConfigurations.excludedNamespaces={legacy,old}");
  t.equal(code, 0);
  t.match(stdout, /^Warning: .*\n.*: legacy, old\.\nOnly the policies check them: users there need no right to use/m);
}
