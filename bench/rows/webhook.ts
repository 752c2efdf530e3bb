import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../shared/formats/json.ts";
import { objectAt, reviewOf } from "../../test/webhook/reviews.ts";
import { atLeast, atMost, type Figure, type Goal, single } from "../figure.ts";
import { startFakeCluster } from "../inventory/fake-cluster.ts";
import { httpRequest, loadFigures, loadServer } from "../load.ts";
import { builtCommand, type Program, residentMB, SOURCE_COMMAND, startServer } from "../programs.ts";
import type { Row } from "../row.ts";
import { certificates, isRoundOver, loadPair, outputOf, profile, startFloor } from "../servers.ts";
import { type Stage, shared } from "../stage.ts";

const CONNECTIONS = 25;
const REVIEW_BYTES = 2_048;
/** The number of different reviews of resources, which are sent in turn. */
const REVIEWS = 1_000;
/**
 * The number of different selectors that are reviewed, in turn. Each admitted change is pending until the watch
 * delivers it. The files deliver none, and in a cluster, the watch delivers within milliseconds.
 */
const REVIEWED_SELECTORS = 16;
/** The time after the load in which V8 frees garbage, in ms. */
const SETTLE_MS = 7_000;
const SELECTORS_OF_FILE = 500;

function selectorOf(i: number): JsonObject {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector",
    metadata: { name: `s-${i}`, uid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`, resourceVersion: "1" },
    spec: { arn: `arn:aws:iam::111122223333:role/team-${i}`, namespaceSelector: { names: [`team-${i}`] } },
  };
}

/** Returns the review of a creation of a bucket, 2 KB as JSON. */
export function bucketOf(i: number): JsonObject {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket",
    metadata: { name: `bucket-${i}`, namespace: `team-${i}`, labels: { "app.kubernetes.io/name": "shop" } },
    spec: {
      name: `bucket-${i}`,
      encryption: { rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "aws:kms" } }] },
      tagging: { tagSet: Array.from({ length: 8 }, (_, tag) => ({ key: `key-${tag}`, value: `value-${tag}` })) },
    },
  };
}

function resourceReview(i: number): JsonObject {
  const bucket = bucketOf(i);
  const review = reviewOf(bucket, { uid: randomUUID() });
  const missing = REVIEW_BYTES - JSON.stringify(review).length - ',"policy":""'.length;
  const spec = { ...objectAt(bucket, "spec"), policy: "p".repeat(Math.max(0, missing)) };
  return { ...review, request: { ...objectAt(review, "request"), object: { ...bucket, spec } } };
}

/** Returns the review of a selector that is limited to buckets. */
function selectorReview(i: number): JsonObject {
  const oldObject = selectorOf(i);
  const resourceTypeSelector = [{ group: "s3.services.k8s.aws", kind: "Bucket" }];
  const spec = { ...objectAt(oldObject, "spec"), resourceTypeSelector };
  return reviewOf({ ...oldObject, spec }, { uid: randomUUID(), operation: "UPDATE", oldObject, namespace: "" });
}

export function reviewRequests(path: string): readonly Buffer[] {
  const isOfSelectors = path.endsWith("/iamroleselectors");
  const reviewAt = isOfSelectors ? selectorReview : resourceReview;
  const headers = { host: "127.0.0.1", "content-type": "application/json" };
  const request = (i: number): Buffer =>
    httpRequest("POST", `${path}?timeout=10s`, headers, JSON.stringify(reviewAt(i)));
  return Array.from({ length: isOfSelectors ? REVIEWED_SELECTORS : REVIEWS }, (_, i) => request(i));
}

/** The limits of the Deployment (manifests/chart/templates/deployment.yaml) and of the image (Containerfile). */
export const ENVIRONMENT = {
  NODE_OPTIONS: "--max-old-space-size=192 --max-semi-space-size=4", MALLOC_ARENA_MAX: "2",
};

/** Starts the webhook with selectors and namespaces from a folder. One file of 10,000 exceeds the heap. */
async function startWebhook(stage: Stage, count: number, command: readonly string[]): Promise<Program> {
  const folder = stage.file(`selectors-${count}`);
  await mkdir(folder, { recursive: true });
  for (let start = 0; start < count; start += SELECTORS_OF_FILE) {
    const items = Array.from({ length: Math.min(SELECTORS_OF_FILE, count - start) }, (_, i) => [
      selectorOf(start + i), { apiVersion: "v1", kind: "Namespace", metadata: { name: `team-${start + i}` } },
    ]).flat();
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    // oxlint-disable-next-line no-await-in-loop -- a few files
    await writeFile(join(folder, `${start}.json`), list);
  }
  const flags = ["--from", folder, "--tls-dir", (await certificates(stage)).dir, "--region", "eu-west-1"];
  return await startServer(stage, "webhook", { command, flags, environment: ENVIRONMENT });
}

const WEBHOOKS = new Map([1_000, 10_000].map((count) => [
  count, shared(async (stage: Stage) => startWebhook(stage, count, [await builtCommand(stage)])),
]));

interface ReviewRow {
  readonly name: string;
  readonly title: string;
  readonly selectors: number;
  readonly path: string;
  /** A text in each response. */
  readonly expected: string;
  readonly goals: { readonly perSecond: Goal; readonly p99Ms?: Goal };
}

function reviewRow({ name, title, selectors, path, expected, goals }: ReviewRow): Row {
  const options = (): { requests: readonly Buffer[]; connections: number; isTLS: true } =>
    ({ requests: reviewRequests(path), connections: CONNECTIONS, isTLS: true });
  return {
    name, title,
    measure: async (stage) => {
      const webhook = await WEBHOOKS.get(selectors)?.(stage);
      if (webhook === undefined) throw new Error(`no webhook has ${selectors} selectors`);
      const load = options();
      const output = await outputOf(webhook, load, expected);
      const floor = await startFloor(stage, { ...output, tlsDir: (await certificates(stage)).dir });
      const samples = await loadPair(stage, [webhook, floor], load);
      // Throws if the webhook denies the reviews after the load, for example because too many changes are pending.
      await outputOf(webhook, load, expected);
      return loadFigures(samples, goals);
    },
    profile: (stage) => profile(
      stage, (flags) => startWebhook(stage, selectors, [...flags, SOURCE_COMMAND]),
      ({ port, ...program }) => loadServer({ port, ...program }, { ...options(), port, isDone: isRoundOver(stage) }),
    ),
  };
}

/** Measures the memory of a webhook that reads a cluster, after some seconds of reviews. */
function memoryRow(count: number, goalMB: number): Row {
  return {
    name: `webhook-memory-${count}`, title: `memory of the webhook, ${count} selectors and namespaces from a cluster`,
    measure: async (stage): Promise<readonly Figure[]> => {
      const { kubeconfig, close } = await startFakeCluster(stage, { selectors: count, namespaces: count });
      const { dir } = await certificates(stage);
      const flags = ["--cluster", "--kubeconfig", kubeconfig, "--tls-dir", dir, "--region", "eu-west-1"];
      const command = [await builtCommand(stage)];
      const webhook = await startServer(stage, "webhook", { command, flags, environment: ENVIRONMENT });
      const floor = await startFloor(stage, { tlsDir: dir, bytes: 500, logBytes: 0 });
      await sleep(stage.size(SETTLE_MS, 0));
      const [idle, bareIdle] = [await residentMB(webhook), await residentMB(floor)];
      const load = { requests: reviewRequests("/mutate/resources"), connections: CONNECTIONS, isTLS: true };
      for (const server of [webhook, floor]) {
        // oxlint-disable-next-line no-await-in-loop -- one at a time
        await loadServer(server, { ...load, port: server.port, isDone: (sent) => sent >= stage.size(50_000, 100) });
      }
      await sleep(stage.size(SETTLE_MS, 0));
      const [loaded, bareLoaded] = [await residentMB(webhook), await residentMB(floor)];
      await close();
      return [
        {
          name: "after 50,000 reviews", unit: "MB", ours: [loaded], floor: [bareLoaded],
          goal: atMost(goalMB, "value"),
        },
        { name: "idle", unit: "MB", ours: [idle], floor: [bareIdle] },
        single("start until ready", webhook.readyMs, "ms"),
      ];
    },
  };
}

const RESOURCES = { selectors: 1_000 };
const SELECTORS = { path: "/validate/iamroleselectors", expected: '"allowed":true' };

export const WEBHOOK_ROWS: readonly Row[] = [
  reviewRow({
    ...RESOURCES, name: "admission-mutate", path: "/mutate/resources", expected: '"patch":',
    title: "admission of a resource of 2 KB over TLS, mutate, 1,000 selectors",
    goals: { perSecond: atLeast(0.8, "ratio"), p99Ms: atMost(1.5, "ratio") },
  }),
  reviewRow({
    ...RESOURCES, name: "admission-validate", path: "/validate/resources", expected: '"allowed":true',
    title: "admission of a resource of 2 KB over TLS, validate, 1,000 selectors",
    goals: { perSecond: atLeast(0.75, "ratio"), p99Ms: atMost(1.5, "ratio") },
  }),
  ...[1_000, 10_000].map((selectors) => reviewRow({
    ...SELECTORS, selectors, name: `selector-review-${selectors}`, title: `review of a selector among ${selectors}`,
    goals: { perSecond: atLeast(0.5, "ratio") },
  })),
  memoryRow(1_000, 120),
  memoryRow(10_000, 170),
];
