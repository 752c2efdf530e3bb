import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Test } from "tap";
import { startSTSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { iamRoleSelectorCRD } from "../../../manifests/crds.ts";
import { ackCRD } from "../../fixtures/ack-crds.ts";
import { freePorts } from "../../free-ports.ts";
import { get } from "../../loopback-request.ts";
import { namespaceObject, selectorObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { enduranceMinutes } from "../../programs/environment.ts";
import { BASE, ENVIRONMENT } from "../planted-sidecar.ts";
import { type ServerProcess, startServer } from "../server-process.ts";
import { setTimeLimit } from "../time-limit.ts";
import { inspectorEnvironment, ProcessHeap } from "./heap.ts";

const S3 = "s3.services.k8s.aws";
const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
/** The selectors and namespaces that change all the time. */
const SLOTS = 50;
/** The number of times that the heap is measured. The first measurement follows the warm-up. */
const MEASUREMENTS = 4;
const SHORT_STEPS = 150;
/** The pause between two steps of a long test, so that the machine is not busy. */
const PAUSE_MS = 250;
const MAX_GROWTH = 0.02;
const LIMIT_MS = 5 * 60_000;

interface Churn {
  readonly cluster: Cluster;
  readonly sidecar: ServerProcess;
  readonly token: string;
  /** The number of responses of the sidecar, by path and status. */
  readonly responses: Map<string, number>;
}

onCluster("the memory of a sidecar does not grow while selectors and sessions change", async (t, cluster) => {
  const minutes = enduranceMinutes();
  setTimeLimit(t, LIMIT_MS + 2 * (minutes ?? 0) * 60_000);
  await cluster.installCRDs([iamRoleSelectorCRD("ack"), ackCRD(S3, "Bucket", "buckets")]);
  const [port = 0] = await freePorts(1);
  const churn = await startChurn(t, cluster, inspectorEnvironment(port));
  const heap = await ProcessHeap.connect(port);
  t.teardown(() => heap.close());
  let step = 0;
  const sizes: number[] = [];
  for (let part = 0; part <= MEASUREMENTS; part++) {
    const end = performance.now() + ((minutes ?? 0) * 60_000) / (MEASUREMENTS + 1);
    const first = step;
    while (minutes === null ? step < first + SHORT_STEPS : performance.now() < end) {
      await change(churn, step++);
      if (minutes !== null) await pause(PAUSE_MS);
    }
    await removeChanged(t, churn);
    sizes.push(await heap.liveBytes());
  }
  report(t, churn, { sizes, steps: step });
});

function report(t: Test, { responses }: Churn, { sizes, steps }: { sizes: readonly number[]; steps: number }): void {
  const [warm = 0] = sizes.slice(1);
  const growth = (sizes.at(-1) ?? Infinity) / warm - 1;
  t.comment(`${steps} steps; live heap in KiB: ${sizes.map((size) => Math.round(size / 1024)).join(", ")}`);
  t.comment(`growth after the warm-up: ${(100 * growth).toFixed(2)} %`);
  t.comment(JSON.stringify(Object.fromEntries(responses)));
  t.ok(growth < MAX_GROWTH);
  t.same([...responses.keys()].toSorted(), [
    "changing 200", "changing 404", "stable 200", "unauthorized 401", "unknown 404",
  ]);
  t.equal(responses.get("stable 200"), steps, "the sidecar serves the stable selector all the time");
}

async function startChurn(
  t: Test, cluster: Cluster, inspector: Readonly<Record<string, string>>,
): Promise<Churn> {
  for (let slot = 0; slot < SLOTS; slot++) {
    await cluster.request("POST", "/api/v1/namespaces", namespaceObject(nameOf(slot)));
  }
  await cluster.request("POST", "/api/v1/namespaces", namespaceObject("stable"));
  await cluster.request("POST", SELECTORS, selectorObject("stable", {
    arn: "arn:aws:iam::111111111111:role/stable", namespaceSelector: { names: ["stable"] },
  }));
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const tokenFile = join(t.testdir({}), "token");
  const source = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "admin"];
  const flags = [...source, "--group", S3, "--sts-endpoint", sts.url, "--token-file", tokenFile];
  const sidecar = await startServer("sidecar", flags, { ...ENVIRONMENT, ...inspector });
  t.teardown(() => sidecar.stop());
  return { cluster, sidecar, token: await readFile(tokenFile, "utf8"), responses: new Map() };
}

function nameOf(slot: number): string {
  return `changing-${slot}`;
}

/** Creates, changes or deletes a selector, relabels its namespace, and requests valid and invalid credentials. */
async function change(churn: Churn, step: number): Promise<void> {
  const name = nameOf(step % SLOTS);
  const path = `${SELECTORS}/${name}`;
  const labels = { step: String(step) };
  // Each selector has one of two different sessions, because the cache keeps unused sessions until they are refreshed.
  const round = Math.floor(step / SLOTS);
  const annotations = { "ack-role-resolver.io/session-tags": `variant=${Math.floor(round / 3) % 2}` };
  const changes = [
    () => churn.cluster.request("POST", SELECTORS, selectorObject(name, {
      arn: `arn:aws:iam::111111111111:role/${name}`, namespaceSelector: { names: [name] },
    })),
    () => churn.cluster.request("PATCH", path, { metadata: { annotations } }, MERGE),
    () => churn.cluster.request("DELETE", path),
  ];
  await changes[round % changes.length]?.();
  await churn.cluster.request("PATCH", `/api/v1/namespaces/${name}`, { metadata: { labels } }, MERGE);
  const { token } = churn;
  await request(churn, "changing", `/v1/credentials/selectors/${name}`, token);
  await request(churn, "stable", "/v1/credentials/selectors/stable", token);
  await request(churn, "unknown", `/v1/credentials/selectors/unknown-${step}`, token);
  await request(churn, "unauthorized", "/v1/credentials/selectors/stable", `wrong-${step}`);
}

async function request(
  { sidecar, responses }: Churn, kind: string, path: string, authorization: string,
): Promise<void> {
  const { status } = await get(`http://${sidecar.address}${path}`, { authorization });
  responses.set(`${kind} ${status}`, (responses.get(`${kind} ${status}`) ?? 0) + 1);
}

/** Deletes all changing selectors, and waits until the sidecar applies this, so that all sizes are comparable. */
async function removeChanged(t: Test, { cluster, sidecar, token }: Churn): Promise<void> {
  const names = Array.from({ length: SLOTS }, (_, slot) => nameOf(slot));
  for (const name of names) await cluster.request("DELETE", `${SELECTORS}/${name}`);
  const isGone = async (name: string): Promise<boolean> => (
    (await get(`http://${sidecar.address}/v1/credentials/selectors/${name}`, { authorization: token })).status === 404
  );
  const areGone = async (): Promise<boolean> => (await Promise.all(names.map(isGone))).every(Boolean);
  t.ok(await until(areGone), "the sidecar applies the deletions");
}
