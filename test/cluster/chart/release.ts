import type { Test } from "tap";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import {
  CAPA_VERSION, IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP, REFERRER_KINDS, SERVICE_ACCOUNT_IDENTITY,
} from "../../../shared/core/capa-kinds.ts";
import { knownGroups } from "../../../shared/core/ack-groups.ts";
import { ACK_CRDS, ackCRD } from "../../fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import type { InstalledCRD } from "../../real/apiserver/cluster.ts";
import { until } from "../../real/apiserver/until.ts";
import { CHART, type Helm, objectsIn, RELEASE } from "../../real/chart/helm.ts";
import type { PodCluster } from "../cluster.ts";
import { PROJECT_IMAGE } from "../project-image.ts";
import { NAMESPACE } from "../webhook/installed.ts";

/** The time limit of the Pods of a release. */
const TIMEOUT = ["--timeout", "110s"];
const WAIT = ["--wait", ...TIMEOUT];
const [REPOSITORY = "", TAG = ""] = PROJECT_IMAGE.split(/:(?=[^:]*$)/u);
const IMAGE_VALUES = [`image.repository=${REPOSITORY}`, `image.tag=${TAG}`, "image.pullPolicy=Never"];

/** A release of the chart on a cluster with Pods. Each method rejects with the output of helm if helm fails. */
export class Release {
  readonly cluster: PodCluster;
  readonly #helm: Helm;
  readonly #chart: readonly string[];

  /** The chart is that of the checkout, or the arguments with which helm finds another one. */
  constructor(cluster: PodCluster, helm: Helm, ...chart: readonly string[]) {
    this.cluster = cluster;
    this.#helm = helm;
    this.#chart = chart.length > 0 ? chart : [CHART];
  }

  /** Installs the release as the README of the chart describes. Resolves to the notes when all Pods are ready. */
  async install(values: readonly string[]): Promise<string> {
    const flags = setFlags([...IMAGE_VALUES, ...values]);
    return await this.#run("install", RELEASE, ...this.#chart, "--create-namespace", ...WAIT, ...flags);
  }

  /** Upgrades the release with more values. Resolves to the notes when all Pods are ready. */
  async upgrade(values: readonly string[]): Promise<string> {
    const flags = ["--reset-then-reuse-values", ...WAIT, ...setFlags(values)];
    return await this.#run("upgrade", RELEASE, ...this.#chart, ...flags);
  }

  async rollback(revision: number): Promise<void> {
    await this.#run("rollback", RELEASE, String(revision), ...WAIT);
  }

  async uninstall(): Promise<void> {
    await this.#run("uninstall", RELEASE, ...WAIT);
  }

  /** Runs `helm test`. */
  async test(): Promise<string> {
    return await this.#run("test", RELEASE, ...TIMEOUT);
  }

  /** Returns the objects of the release as YAML, without those that only `helm test` creates. */
  async manifest(): Promise<string> {
    return await this.#run("get", "manifest", RELEASE);
  }

  /** Returns the objects of the release, and the objects that only `helm test` creates. */
  async objects(): Promise<readonly JsonObject[]> {
    return [...objectsIn(await this.manifest()), ...objectsIn(await this.#run("get", "hooks", RELEASE))];
  }

  async #run(...args: readonly string[]): Promise<string> {
    const all = [...args, "--namespace", NAMESPACE];
    const { code, stdout, stderr } = await this.#helm(all, this.cluster.api.kubeconfig);
    if (code !== 0) throw new Error(`helm ${all.join(" ")} exited with ${code}: ${stdout}${stderr}`);
    return stdout;
  }
}

function setFlags(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => ["--set", value]);
}

/**
 * Creates what a cluster with CAPA and all ACK controllers contains: a kind in each API group, with an object that has
 * no annotations of the webhook, and the namespace of the controllers.
 */
export async function prepareCluster(cluster: PodCluster, namespace: string): Promise<void> {
  const ofGroups = knownGroups([]).map((group) => ackCRD(group, "Example", "examples"));
  await cluster.api.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS, ...ofGroups, ...CAPA_CRDS]);
  await cluster.kubectl(["create", "namespace", "ack-system"]);
  await cluster.kubectl(["create", "namespace", namespace]);
  const unselected = { ...BUCKET, metadata: { name: "unselected", namespace: "default" } };
  const metadata = { name: "stale", namespace };
  await cluster.apply([
    unselected,
    ...ofGroups.map(({ spec: { group } }) => (
      { apiVersion: `${group}/v1alpha1`, kind: "Example", metadata, spec: {} }
    )),
    ...REFERRER_KINDS.map(({ group, kind }) => ({ apiVersion: `${group}/${CAPA_VERSION}`, kind, metadata, spec: {} })),
  ]);
}

const BUCKET = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", spec: {} };
const CAPA_CRDS: readonly InstalledCRD[] = [
  ...IDENTITY_KINDS.map((kind) => {
    const { spec, ...crd } = ackCRD(INFRASTRUCTURE_GROUP, kind, identityPlural(kind), [CAPA_VERSION]);
    return { ...crd, spec: { ...spec, scope: kind === SERVICE_ACCOUNT_IDENTITY ? "Namespaced" : "Cluster" } };
  }),
  ...REFERRER_KINDS.map(({ group, kind, plural }) => ackCRD(group, kind, plural, [CAPA_VERSION])),
];

/**
 * Tests that the certificates exist, that the webhook mounts no key of a CA, and that both webhook configurations trust
 * the certificate.
 */
export async function hasCertificates(t: Test, { api }: PodCluster): Promise<void> {
  const mounted = Object.keys((await secretData(api, "ack-role-resolver-webhook-tls")) ?? {});
  t.same(mounted.toSorted(), ["ca.crt", "tls.crt", "tls.key"]);
  const certificates = await secretData(api);
  t.match(certificates, { "tls.crt": /./, "tls.key": /./, "ca.crt": /./, "ca.key": /./ });
  const bundles = async (): Promise<string[]> => (
    (await webhooks(api)).map((one) => stringAt(field(one, "clientConfig"), "caBundle") ?? "")
  );
  const trusted = stringAt(certificates, "ca.crt");
  const isWritten = async (): Promise<boolean> => (await bundles()).every((bundle) => bundle === trusted);
  t.ok(await until(isWritten), "each caBundle is the CA in the Secret");
  t.ok((await bundles()).length > 0);
}

/** Tests that the certificate is replaced after a request. */
export async function rotatesLeaf(t: Test, cluster: PodCluster): Promise<void> {
  const before = stringAt(await secretData(cluster.api), "tls.crt");
  const annotate = ["annotate", "secret", SECRET, "-n", NAMESPACE, "ack-role-resolver.io/rotate=leaf"];
  await cluster.kubectl(annotate);
  const isReplaced = async (): Promise<boolean> => stringAt(await secretData(cluster.api), "tls.crt") !== before;
  t.ok(await until(isReplaced), "the certificate is replaced");
}

/** Tests that deleted Secrets of the certificates and deleted Leases are created again. */
export async function restoresDeleted(t: Test, { cluster }: Release): Promise<void> {
  const leases = [`lease/${SECRET}`, "lease/ack-role-resolver-webhook"];
  const objects = [`secret/${SECRET}`, "secret/ack-role-resolver-webhook-tls", ...leases];
  await cluster.kubectl(["delete", "-n", NAMESPACE, ...objects]);
  const isRestored = async (): Promise<boolean> => {
    const found = await cluster.kubectl(["get", "-n", NAMESPACE, "-o", "name", "--ignore-not-found", ...objects]);
    return found.trim().split("\n").length === objects.length;
  };
  t.ok(await until(isRestored, 60_000), "the Secrets and the Leases are created again");
  await hasCertificates(t, cluster);
}

const SECRET = "ack-role-resolver-certificates";

async function secretData(api: PodCluster["api"], name = SECRET): Promise<unknown> {
  return field((await api.request("GET", `/api/v1/namespaces/${NAMESPACE}/secrets/${name}`)).body, "data");
}

/** Waits until the webhook has written an Event about the resource that no selector selects. */
export async function reportsProblem(t: Test, cluster: PodCluster): Promise<void> {
  const filter = ["-n", "default", "--field-selector", "reason=DefaultRole", "-o", "name"];
  const isReported = async (): Promise<boolean> => (
    (await cluster.kubectl(["get", "events.events.k8s.io", ...filter])) !== ""
  );
  t.ok(await until(isReported), "the webhook writes an Event about a resource without a selector");
}

/** Returns the different failure policies in both webhook configurations, sorted. */
export async function failurePolicies({ api }: PodCluster): Promise<string[]> {
  return [...new Set((await webhooks(api)).map((one) => stringAt(one, "failurePolicy") ?? ""))].toSorted();
}

async function webhooks(api: PodCluster["api"]): Promise<readonly JsonObject[]> {
  const paths = ["mutating", "validating"].map((kind) => (
    `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/ack-role-resolver`
  ));
  const bodies = await Promise.all(paths.map(async (path) => (await api.request("GET", path)).body));
  return bodies.flatMap((body) => {
    const all = field(body, "webhooks");
    return Array.isArray(all) ? all.filter(isJsonObject) : [];
  });
}
