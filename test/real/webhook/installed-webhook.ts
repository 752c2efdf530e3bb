import { needsAccessReviews } from "../../../shared/judges.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { makeCertificates } from "../../../certs/make.ts";
import { storeCertificates } from "../../../certs/certificate-files.ts";
import { DEFAULT_POLICY_SETTINGS } from "../../../manifests/policies.ts";
import { manifestObjects } from "../../../manifests/render.ts";
import { checkSeveritiesOf } from "../../../shared/core/context.ts";
import { ACK_CRDS } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { until } from "../apiserver/until.ts";
import { type ServerProcess, startServer } from "../server-process.ts";

const SECRETS_FLAG = "--identity-secret-namespace";

/** The options of the manifests of a webhook outside of the cluster. */
export const MANIFEST_OPTIONS = {
  namespace: "ack-role-resolver", runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  extraGroups: [], accessReviews: false,
} as const;

/** A test, or another owner of what it starts. */
interface Owner {
  /** Calls the function at the end of the owner. */
  teardown(close: () => unknown): void;
}

/** The source of the CRD of IAMRoleSelector: ACK's charts, or this project. */
export type SelectorCRD = "ACK" | "own";

/**
 * Applies the output of `manifests all --url`, the CRD of IAMRoleSelector and the ACK CRDs of the tests, and starts
 * `webhook --cluster` as the service account of the manifests. Resolves when the API server calls the webhook.
 */
export async function installWebhook(
  t: Owner, cluster: Cluster, flags: readonly string[] = [], crd: SelectorCRD = "ACK",
): Promise<ServerProcess> {
  const { start, register } = await installObjects(t, cluster, flags, crd);
  const webhook = await start();
  await register(webhook.address);
  return webhook;
}

/** The installed objects, without a webhook. */
interface Installation {
  /** The folder of the certificate of the webhooks. */
  readonly certificates: string;
  /** The CA of this certificate, as PEM. */
  readonly ca: string;
  /** Starts `webhook --cluster`. Default: with the kubeconfig of the cluster. */
  readonly start: (client?: Pick<Cluster, "kubeconfig">) => Promise<ServerProcess>;
  /** Applies the webhook configurations. Resolves when the API server calls the address. */
  readonly register: (address: string) => Promise<void>;
}

export async function installObjects(
  t: Owner, cluster: Cluster, flags: readonly string[] = [], crd: SelectorCRD = "ACK",
): Promise<Installation> {
  const { dir, ca } = await certificateFolder(t);

  const checkSeverities = checkSeveritiesOf(flags.filter((_, index) => flags[index - 1] === "--check"));
  const policies = { ...DEFAULT_POLICY_SETTINGS, checkSeverities };
  const options = {
    ...MANIFEST_OPTIONS, caBundle: ca, inject: flags.includes("--sidecar-image"),
    accessReviews: needsAccessReviews(policies), policies,
    identitySecretNamespace: flags.includes(SECRETS_FLAG) ? (flags[flags.indexOf(SECRETS_FLAG) + 1] ?? null) : null,
  } as const;
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: options.ackSystemNamespace } });
  if (crd === "ACK") await cluster.installCRDs([ACK_SELECTOR_CRD]);
  const crds = crd === "own" ? manifestObjects("crds", options) : [];
  await apply(cluster, [...manifestObjects("rbac", options), ...crds]);
  await cluster.installCRDs(ACK_CRDS);
  const start: Installation["start"] = ({ kubeconfig } = cluster) => startWebhook(t, { kubeconfig }, dir, flags);
  const register = async (address: string): Promise<void> => {
    await apply(cluster, manifestObjects("webhooks", { ...options, url: `https://${address}` }));
    await untilCalled(cluster);
  };
  return { certificates: dir, ca, start, register };
}

/** Starts `webhook --cluster` with the certificate in the folder, as the service account of the manifests. */
export async function startWebhook(
  t: Owner, cluster: Pick<Cluster, "kubeconfig">, dir: string, flags: readonly string[] = [],
): Promise<ServerProcess> {
  const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "webhook"];
  const webhook = await startServer("webhook", [...access, "--tls-dir", dir, ...flags]);
  t.teardown(() => webhook.stop("SIGKILL"));
  return webhook;
}

/** Creates a folder with a certificate for 127.0.0.1. Returns the folder and the CA of the certificate. */
export async function certificateFolder(t: Owner): Promise<{ readonly dir: string; readonly ca: string }> {
  const dir = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-tls-"));
  t.teardown(() => rm(dir, { recursive: true }));
  const certificates = await makeCertificates({ hosts: ["127.0.0.1"], now: new Date() });
  await storeCertificates(dir, certificates);
  return { dir, ca: certificates.ca };
}

/** Applies the objects as admin. */
export async function apply(
  cluster: Cluster, objects: readonly object[], flags: readonly string[] = ["--server-side"],
): Promise<void> {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const { code, stderr } = await cluster.kubectl(["apply", ...flags, "-f", "-"], { input });
  if (code !== 0) throw new Error(`the API server rejected the manifests: ${stderr}`);
}

/**
 * Waits until the webhook denies a selector that no policy denies. The API server applies new webhook configurations a
 * moment after it stores them.
 */
export async function untilCalled(cluster: Cluster): Promise<void> {
  const faulty = misappliedSelector("probe");
  const called = async (): Promise<boolean> => (
    (await cluster.request("POST", `${SELECTORS}?dryRun=All`, faulty)).status === 422
  );
  if (!(await until(called))) throw new Error("the API server does not call the webhook");
}

/** Returns a selector that the webhook denies (IRS-16), and that the policies admit. */
export function misappliedSelector(name: string): object {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"unknownField":true}}' };
  const selector = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector" };
  const spec = { arn: "arn:aws:iam::111122223333:role/probe", namespaceSelector: { names: [name] } };
  return { ...selector, metadata: { name, annotations }, spec };
}

export const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
