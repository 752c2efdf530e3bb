import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { labelsOf, WEBHOOK } from "../../../shared/core/installation.ts";
import { runCommand } from "../../cli/run-command.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { findHelm, template } from "../../real/chart/helm.ts";
import { untilCalled } from "../../real/webhook/installed-webhook.ts";
import type { PodCluster } from "../cluster.ts";
import { PROJECT_IMAGE } from "../project-image.ts";

export const NAMESPACE = "ack-role-resolver";
export const DEPLOYMENT = WEBHOOK.deployment;
export const REPLICAS = 2;
/** The label selector of the webhook's Pods. */
export const POD_LABELS = Object.entries(labelsOf("webhook")).filter(([key]) => !key.endsWith("/version"))
  .map(([key, value]) => `${key}=${value}`).join(",");

/**
 * Installs the webhook with the commands that users run: `certs make`, a Secret, and `helm template` with values.
 * Resolves when all replicas are ready and the API server calls them, to a function that applies more values.
 */
export async function installWebhook(
  t: Test, cluster: PodCluster, values: readonly string[] = [], image: string = PROJECT_IMAGE,
): Promise<(...more: readonly string[]) => Promise<void>> {
  const helm = await findHelm(t);
  if (helm === null) throw new Error("helm is missing: run `npm run setup:cluster`");
  const folder = t.testdir();
  const service = `${WEBHOOK.service.name}.${NAMESPACE}.svc`;
  await command(["certs", "make", "--dir", folder, "--host", service]);
  await cluster.api.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS]);
  await cluster.kubectl(["create", "namespace", "ack-system"]);
  await cluster.kubectl(["create", "namespace", NAMESPACE]);
  await cluster.apply([await tlsSecret(folder)]);
  const [repository = "", tag = ""] = image.split(/:(?=[^:]*$)/u);
  const ca = (await readFile(path.join(folder, "ca.crt"), "utf8")).replaceAll(",", String.raw`\,`);
  const apply = async (...more: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await template(helm, [
      `image.repository=${repository}`, `image.tag=${tag}`, "certificates.mode=files", `certificates.caBundle=${ca}`,
      ...values, ...more,
    ]);
    if (code !== 0) throw new Error(`helm template exited with ${code}: ${stderr}`);
    await cluster.kubectl(["apply", "--server-side", "-f", "-"], stdout);
    await cluster.untilRolledOut(NAMESPACE, DEPLOYMENT);
  };
  await apply();
  await untilCalled(cluster.api);
  return apply;
}

async function tlsSecret(folder: string): Promise<object> {
  const file = async (name: string): Promise<string> => readFile(path.join(folder, name), "base64");
  return {
    apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls",
    metadata: { name: WEBHOOK.certificate, namespace: NAMESPACE },
    data: { "tls.crt": await file("tls.crt"), "tls.key": await file("tls.key") },
  };
}

async function command(args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runCommand(args);
  if (status !== 0) throw new Error(`ack-role-resolver ${args.join(" ")} exited with ${status}: ${stderr}`);
  return stdout;
}
