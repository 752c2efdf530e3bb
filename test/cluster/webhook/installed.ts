import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { WEBHOOK } from "../../../manifests/rbac.ts";
import { runCommand } from "../../cli/run-command.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { untilCalled } from "../../real/webhook/installed-webhook.ts";
import type { PodCluster } from "../cluster.ts";
import { DEPLOYMENT, NAMESPACE, workload } from "./deployment.ts";

/**
 * Installs the webhook with the commands that users run: `certs make`, `manifests rbac` and `manifests webhooks`.
 * Resolves when all replicas are ready and the API server calls them.
 */
export async function installWebhook(t: Test, cluster: PodCluster): Promise<void> {
  const folder = t.testdir();
  const service = `${WEBHOOK.service.name}.${NAMESPACE}.svc`;
  await command(["certs", "make", "--dir", folder, "--host", service]);
  await cluster.api.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS]);
  await cluster.kubectl(["create", "namespace", "ack-system"]);
  await cluster.kubectl(["apply", "-f", "-"], await command(["manifests", "rbac"]));
  const file = async (name: string): Promise<string> => readFile(path.join(folder, name), "base64");
  const certificates = {
    "tls.crt": await file("tls.crt"), "tls.key": await file("tls.key"), "ca.crt": await file("ca.crt"),
  };
  await cluster.apply(workload(certificates));
  await cluster.untilRolledOut(NAMESPACE, DEPLOYMENT);
  // Applies the configurations last: the API server calls the webhook as soon as they exist.
  const all = await command(["manifests", "all", "--ca-file", path.join(folder, "ca.crt")]);
  await cluster.kubectl(["apply", "-f", "-"], all);
  await untilCalled(cluster.api);
}

async function command(args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runCommand(args);
  if (status !== 0) throw new Error(`ack-role-resolver ${args.join(" ")} exited with ${status}: ${stderr}`);
  return stdout;
}
