import { setTimeout as sleep } from "node:timers/promises";
import { manifestObjects } from "../../manifests/render.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import type { Cluster } from "../../test/real/apiserver/cluster.ts";
import { buckets, patch } from "../../test/real/webhook/buckets.ts";
import { apply, installObjects, MANIFEST_OPTIONS } from "../../test/real/webhook/installed-webhook.ts";
import { grant, RBAC } from "../../test/real/webhook/requests.ts";
import { namespaceObject, selectorObject } from "../../test/shared/objects.ts";
import { creations, startAPIServer } from "../apiserver/api-server.ts";
import {
  difference, type Installed, processorMs, type Readings, readings, type ReconcilerState, reconcilerState,
} from "../apiserver/readings.ts";
import { load } from "../load.ts";
import { builtCommand, residentMB, type Server, startServer, stop } from "../programs.ts";
import { ENVIRONMENT } from "../rows/webhook.ts";
import type { Stage } from "../stage.ts";

// Simulates a mass change with a real API server: the label of a namespace changes, which gives all resources of the
// namespace another role. The webhook limits how fast it writes, so the simulation waits for the first annotations
// only. Then the label changes back, and the webhook has to correct what it has written.

export interface MassChange {
  /** The number of resources that get another role. */
  readonly resources: number;
  /** The number of annotations that the webhook writes before the label changes back. */
  readonly writes: number;
  /** The time for which the cluster is measured before the change, in ms. */
  readonly calmMs: number;
}

/** What happened in a part of the simulation. */
export interface Phase {
  /** What the API server did. The requests are those of the webhook. */
  readonly spent: Readings;
  /** The processor time of the webhook. */
  readonly webhookMs: number;
  /** The latencies of a service account that creates resources at a constant rate, ascending. */
  readonly latenciesMs: Float64Array;
  readonly webhookMB: number;
}

/** A part of the simulation that starts with a change of the label. */
export interface Change extends Phase {
  /** The time until the API server had stored the change, which the webhook reviews. */
  readonly responseMs: number;
  /** When the webhook had written something for the first and for the last time. */
  readonly first: Progress;
  readonly last: Progress;
  /** The time from a change that makes one resource of another namespace stale until it is corrected, in s. */
  readonly otherSeconds: number;
}

interface Progress {
  /** The annotations that the webhook has written. */
  readonly written: number;
  /** The time since the change, in s. */
  readonly seconds: number;
}

export interface Simulated {
  /** The creations per second while the namespace was filled, on 16 connections. */
  readonly filledPerSecond: number;
  readonly calm: Phase;
  readonly change: Change;
  readonly changeBack: Change;
}

const LABEL = "tier";
const [MOVED, OTHER, BYSTANDER] = ["moved", "other", "bystander"];
/** The values of the label of the namespaces `moved` and `other`. A selector matches each. */
const [OLD, NEW] = ["old", "new"];
const FILL_CONNECTIONS = 16;
const BYSTANDER_PER_SECOND = 20;
const POLL_MS = 250;
/** Only a webhook that stops writing reaches these limits: it starts within 12 s and writes 20 per second. */
const START_LIMIT_MS = 60_000;
const WRITE_LIMIT_MS = 1_000;
/** The number of resources that one request reads. */
const PAGE = 500;

/** Runs the simulation, which takes 0.1 s for each write, and about 2 minutes besides. Stops what it has started. */
export async function simulate(stage: Stage, { resources, writes, calmMs }: MassChange): Promise<Simulated> {
  const cluster = await startAPIServer(stage);
  const installed = { cluster, webhook: await install(stage, cluster) };
  const filledPerSecond = await fill(installed, resources);
  const calmUntilMs = performance.now() + calmMs;
  // Reads the state of the webhook as often as after a change, because that also takes time.
  const calm = await observe(installed, () => until(START_LIMIT_MS + calmMs, async () => {
    await reconcilerState(installed);
    return performance.now() >= calmUntilMs;
  }));
  const limitMs = START_LIMIT_MS + writes * WRITE_LIMIT_MS;
  const change = await changed(installed, NEW, limitMs, ({ written }) => written >= writes);
  const changeBack = await changed(installed, OLD, limitMs, ({ stale }) => stale === 0);
  await verify(cluster, resources);
  await stop(installed.webhook);
  await cluster.stop();
  return { filledPerSecond, calm, change, changeBack };
}

function roleOf(tier: string): string {
  return `arn:aws:iam::111122223333:role/${tier}`;
}

/** Applies what the manifests contain, two namespaces and three selectors, and starts the webhook. */
async function install(stage: Stage, cluster: Cluster): Promise<Server> {
  const { certificates, register } = await installObjects(stage, cluster);
  const creator = { apiGroups: ["s3.services.k8s.aws"], resources: ["buckets"], verbs: ["create"] };
  const controller = { apiGroup: RBAC, kind: "User", name: "system:serviceaccount:ack-system:ack-s3-controller" };
  await apply(cluster, [
    ...manifestObjects("policies", MANIFEST_OPTIONS), ...grant("bystander", [creator], [controller]),
    ...[MOVED, OTHER].map((name) => namespaceObject(name, { [LABEL]: OLD })),
    namespaceObject(BYSTANDER, { [LABEL]: BYSTANDER }),
    ...[OLD, NEW, BYSTANDER].map((tier) => selectorObject(tier, {
      arn: roleOf(tier), namespaceSelector: { names: [], labelSelector: { matchLabels: { [LABEL]: tier } } },
    })),
  ]);
  const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "webhook"];
  const flags = [...access, "--tls-dir", certificates, "--namespace", MANIFEST_OPTIONS.namespace];
  const command = [await builtCommand(stage)];
  const webhook = await startServer(stage, "webhook", { command, flags, environment: ENVIRONMENT });
  await register(`127.0.0.1:${webhook.port}`);
  return webhook;
}

/** Creates the resources, and waits until the webhook has seen that no annotation is stale. Returns the rate. */
async function fill(installed: Installed, count: number): Promise<number> {
  const isDone = (sent: number): boolean => sent === count;
  const options = { ...creations(installed.cluster, MOVED), connections: FILL_CONNECTIONS, isDone };
  const { perSecond, statuses, body } = await load(options);
  if (statuses.get(201) !== count) throw new Error(`the API server rejects creations: ${body}`);
  await load({ ...creations(installed.cluster, OTHER), connections: 1, isDone: (sent) => sent === 1 });
  const atMs = Date.now();
  await until(START_LIMIT_MS, async () => (await stateSince(installed, atMs)).stale === 0);
  return perSecond;
}

/** Returns the state of the reconciler, with an unknown number of stale resources if no scan has ended since. */
async function stateSince(installed: Installed, atMs: number): Promise<ReconcilerState> {
  const state = await reconcilerState(installed);
  return state.lastScan * 1_000 > atMs ? state : { ...state, stale: Number.NaN };
}

/** Changes the label, and follows the writes of the webhook since then until `isOver`. */
async function changed(
  installed: Installed, tier: string, limitMs: number, isOver: (state: ReconcilerState) => boolean,
): Promise<Change> {
  let responseMs = 0;
  const corrections: Promise<number>[] = [];
  const progress: Progress[] = [];
  const phase = await observe(installed, async () => {
    const [startMs, atMs] = [performance.now(), Date.now()];
    await label(installed, MOVED, tier);
    responseMs = performance.now() - startMs;
    const before = await reconcilerState(installed);
    await until(limitMs, async () => {
      const state = await stateSince(installed, atMs);
      const written = state.written - before.written;
      const seconds = (performance.now() - startMs) / 1_000;
      if (written > (progress.at(-1)?.written ?? 0)) progress.push({ written, seconds });
      if (progress.length > 0 && corrections.length === 0) corrections.push(correction(installed, tier));
      return isOver({ ...state, written });
    });
  });
  const nothing = { written: 0, seconds: Number.NaN };
  const [first = nothing, last = first] = [progress[0], progress.at(-1)];
  const [otherSeconds = Number.NaN] = await Promise.all(corrections);
  return { ...phase, responseMs, first, last, otherSeconds };
}

async function label({ cluster }: Installed, namespace: string, tier: string): Promise<void> {
  const to = { metadata: { labels: { [LABEL]: tier } } };
  const { status, body } = await patch(cluster, `/api/v1/namespaces/${namespace}`, to);
  if (status !== 200) throw new Error(`the label cannot be changed: ${stringAt(body, "message")}`);
}

/** Labels the namespace `other`. Resolves to the time until its resource has the annotation of the new role, in s. */
async function correction(installed: Installed, tier: string): Promise<number> {
  const startMs = performance.now();
  await label(installed, OTHER, tier);
  await until(START_LIMIT_MS, async () => {
    const { body } = await installed.cluster.request("GET", buckets(OTHER));
    const items = field(body, "items");
    return Array.isArray(items) && items.filter(isJsonObject).every((one) => annotatedRole(one) === roleOf(tier));
  });
  return (performance.now() - startMs) / 1_000;
}

/** Measures the cluster until `work` resolves, while a bystander creates resources. */
async function observe({ cluster, webhook }: Installed, work: () => Promise<void>): Promise<Phase> {
  const [before, beforeMs] = [await readings(cluster), await processorMs(webhook.process.pid)];
  let isDone = false;
  const bystander = creations(cluster, BYSTANDER, { user: "controller" });
  const paced = { connections: 1, ratePerSecond: BYSTANDER_PER_SECOND, isDone: () => isDone };
  const working = work().finally(() => (isDone = true));
  const [{ latenciesMs, statuses, body }] = await Promise.all([load({ ...bystander, ...paced }), working]);
  if (statuses.get(201) !== latenciesMs.length) throw new Error(`the bystander's creations are rejected: ${body}`);
  const spent = difference(before, await readings(cluster));
  return {
    spent: { ...spent, requests: spent.requests - latenciesMs.length }, latenciesMs,
    webhookMs: (await processorMs(webhook.process.pid)) - beforeMs, webhookMB: await residentMB(webhook),
  };
}

async function until(limitMs: number, condition: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + limitMs;
  // oxlint-disable-next-line no-await-in-loop -- polls until it is true
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`annotations are stale after ${limitMs / 1_000} s`);
    // oxlint-disable-next-line no-await-in-loop -- polls until it is true
    await sleep(POLL_MS);
  }
}

/** Reads all resources of the namespace. Rejects unless each has the annotation of the first role. */
async function verify(cluster: Cluster, count: number): Promise<void> {
  let [read, right, token] = [0, 0, ""];
  do {
    const path = `${buckets(MOVED)}?limit=${PAGE}&continue=${encodeURIComponent(token)}`;
    // oxlint-disable-next-line no-await-in-loop -- one page after another
    const { body } = await cluster.request("GET", path);
    const items = field(body, "items");
    const page: readonly JsonObject[] = Array.isArray(items) ? items.filter(isJsonObject) : [];
    read += page.length;
    right += page.filter((one) => annotatedRole(one) === roleOf(OLD)).length;
    token = stringAt(body, "metadata", "continue") ?? "";
  } while (token !== "");
  if (read !== count || right !== count) throw new Error(`${right} of ${read} annotations are true`);
}

function annotatedRole(resource: JsonObject): string | null {
  return stringAt(resource, "metadata", "annotations", "ack-role-resolver.io/role-arn");
}
