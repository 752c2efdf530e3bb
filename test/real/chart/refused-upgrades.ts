import type { Test } from "tap";
import type { ProgramResult } from "../../programs/run-program.ts";
import type { Cluster } from "../apiserver/cluster.ts";
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

/** Tests that the notes say which settings are missing, with commands that need an answer. */
export async function warnsOfMissing(t: Test, { run }: Target): Promise<void> {
  const { stdout } = await run(...DRY_UPGRADE, "profile=observe");
  for (const setting of ["controllerUsers={ack-system/ACCOUNT}", "allowedAccounts={ACCOUNT,ACCOUNT}"]) {
    t.match(stdout, `'settings.${setting}'`);
    const pasted = await run(...DRY_UPGRADE.slice(0, -1), "--set-string", `settings.${setting}`);
    t.equal(pasted.code, setting.startsWith("allowed") ? 1 : 0, "nothing is allowed by mistake");
  }
  t.match(stdout, "settings.controllerAccount=ACCOUNT");
  t.match(stdout, "ack-role-resolver audit --cluster --profile enforce");
  const accounts = "settings.controllerAccount=111122223333,settings.allowedAccounts={111122223333}";
  const stated = await run(...DRY_UPGRADE.slice(0, -1), "--set-string", `settings.controllerUsers={a/b},${accounts}`);
  t.notMatch(stated.stdout, /^Warning: (the webhook does not know|selectors may use)|=ACCOUNT/m);
}

const POD = "/api/v1/namespaces/ack-system/pods/old";

/** A Pod of the namespace of the controllers, with a sidecar that was injected with these flags. */
function podWith(flags: readonly string[]): object {
  const image = "unused";
  return {
    apiVersion: "v1", kind: "Pod", metadata: { name: "old", namespace: "ack-system" },
    spec: {
      containers: [{ name: "controller", image }],
      initContainers: [{ name: "ack-role-resolver", image, restartPolicy: "Always", args: ["sidecar", ...flags] }],
    },
  };
}

/** Tests that the notes of an upgrade to strict say what it denies, what still runs, and what has to be restarted. */
export async function describesStrict(
  t: Test, { cluster, run }: Target & { readonly cluster: Cluster },
): Promise<void> {
  const account = { metadata: { name: "default" } };
  await cluster.request("POST", "/api/v1/namespaces/ack-system/serviceaccounts", account);
  const notes = async (flags: readonly string[], values: string): Promise<string> => {
    const created = await cluster.request("POST", "/api/v1/namespaces/ack-system/pods", podWith(flags));
    t.equal(created.status, 201);
    const { code, stdout } = await run(...DRY_UPGRADE, `injection.enabled=true,${values}`);
    t.equal(code, 0);
    await cluster.request("DELETE", `${POD}?gracePeriodSeconds=0`);
    return stdout;
  };
  const strict = await notes([], "profile=strict");
  t.match(strict, "So are changes of ACK resources, Namespaces and clusters of Cluster API (profile: strict).");
  t.match(strict, /Replicas of the previous revision still review changes with the profile enforce for up to 15 s/);
  t.match(strict, /do not follow the profile, and still hand out the\ncontrollers' own role: old\.\nRestart them\./);
  t.match(strict, "kubectl --namespace ack-system rollout restart deployment");
  t.match(strict, 'name: ack-role-resolver-profile');
  t.match(strict, 'data: {"profile":"strict"}');
  t.match(strict, "--sidecar-args=--profile-namespace=ack-role-resolver");
  const following = await notes(["--profile-namespace=ack-role-resolver"], "profile=strict");
  t.match(following, "Running sidecars that follow the profile hand out no credentials");
  t.notMatch(following, "do not follow the profile");
  const enforce = await notes([], "injection.args={--unmatched=base}");
  t.match(enforce, 'data: {"profile":"enforce","unmatched":"base"}');
  t.notMatch(enforce, /previous revision|follow the profile|So are changes/);
}
