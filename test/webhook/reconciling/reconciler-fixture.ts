import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { Registry } from "prom-client";
import type { Test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import type { KubernetesAPI } from "../../../shared/api/api.ts";
import {
  ALWAYS_CURRENT, type InventorySource, Listeners, type Proof, type SourceStatus,
} from "../../../shared/sources/source.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { TurnQueue } from "../../../shared/sources/slices.ts";
import { createWebhookMetrics } from "../../../webhook/metrics.ts";
import { Reconciler } from "../../../webhook/reconciling/reconciler.ts";
import {
  bucketObject, kindObject, namespaceObject, put, removal, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../../shared/objects.ts";
import type { FakeClock } from "../../shared/fake-clock.ts";
import type { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";

const GROUP = "s3.services.k8s.aws";
export const BUCKETS = `/apis/${GROUP}/v1alpha1/namespaces/team-a/buckets`;
export const LEASE = "/apis/coordination.k8s.io/v1/namespaces/ack-role-resolver/leases/webhook";
export const OTHER_ROLE = "arn:aws:iam::444455556666:role/other";
const PREFIX = "ack-role-resolver.io/";

/** An inventory that contains the buckets of the fake API server after `watch`. */
class FakeSource implements InventorySource {
  readonly inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  readonly #listeners = new Listeners();
  readonly #clock: FakeClock;
  /** The number of changes of the API server that the watch has delivered. */
  delivered = 0;
  /** The time of the last sync; null for the current time. */
  lastSyncMs: number | null = null;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get status(): SourceStatus {
    return { loaded: true, lastSyncMs: this.lastSyncMs ?? this.#clock.steady(), fault: null };
  }

  positionOf(): null {
    return null;
  }

  async prove(): Promise<Proof> {
    return ALWAYS_CURRENT;
  }

  accept(): boolean {
    return false;
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  put(...objects: readonly JsonObject[]): void {
    this.inventory.apply(objects.map(put));
    this.#listeners.notify();
  }

  remove(kind: string, group: string, name: string, namespace = ""): void {
    this.inventory.apply([removal(group, kind, name, namespace)]);
    this.#listeners.notify();
  }
}

interface Patch {
  readonly path: string;
  readonly atMs: number;
}

/** A replica of the webhook, without its server. */
export interface Replica {
  readonly reconciler: Reconciler;
  readonly source: FakeSource;
  readonly lines: string[];
  /** The patches that the replica sent. */
  readonly patches: Patch[];
  /** Returns the value of a metric; undefined if it is absent. */
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number | undefined>;
}

interface ReplicaOptions {
  readonly identity?: string;
  readonly autoControllerIdentity?: readonly string[];
  readonly settings?: DecisionSettings;
}

/** Starts a replica with the namespaces of the tests, the selector team-a, and the buckets of the API server. */
export function startReplica(
  t: Test, api: FakeKubernetes, clock: FakeClock,
  { identity = "first", autoControllerIdentity = [], settings = SETTINGS_BY_DEFAULT }: ReplicaOptions = {},
): Replica {
  const source = new FakeSource(clock);
  source.put(
    kindObject("Bucket", GROUP, [{ name: "v1alpha1", served: true, storage: true }]),
    ...["team-a", "ack-role-resolver", "kube-system"].map((name) => namespaceObject(name)), selectorTo(ROLE),
  );
  const [lines, patches, registry]: [string[], Patch[], Registry] = [[], [], new Registry()];
  const recording: KubernetesAPI = {
    request(request) {
      const [path = ""] = request.path.split("?");
      if (request.method === "PATCH") patches.push({ path, atMs: clock.now() });
      return api.request(request);
    },
  };
  const reconciler = new Reconciler({
    api: recording, source, identity, random: () => 0, settings,
    flags: { autoControllerIdentity }, clock,
    log: createLogger({ name: "webhook", destination: { write: (line) => void lines.push(line) } }),
    metrics: createWebhookMetrics(registry), lease: { namespace: "ack-role-resolver", name: "webhook" },
    turns: new TurnQueue(),
  });
  watch(api, source);
  reconciler.start();
  t.teardown(() => reconciler.close());
  const metric: Replica["metric"] = async (name, labels = {}) => {
    const metrics = await registry.getMetricsAsJSON();
    const found = metrics.find((one) => one.name === `ack_role_resolver_webhook_${name}`);
    const isMatch = (own: object): boolean => Object.entries(labels).every(([key, value]) => field(own, key) === value);
    return found?.values.find((one) => isMatch(one.labels))?.value;
  };
  return { reconciler, source, lines, patches, metric };
}

/** Returns the selector team-a, which selects all buckets of the namespace team-a. */
export function selectorTo(arn: string, resourceVersion = "1"): JsonObject {
  return selectorObject("team-a", { arn, namespaceSelector: { names: ["team-a"] } }, { resourceVersion });
}

/** Stores buckets without annotations in the API server. */
export function createBuckets(api: FakeKubernetes, names: readonly string[], metadata: JsonObject = {}): void {
  for (const name of names) api.put(`${BUCKETS}/${name}`, bucketObject({ name, ...metadata }));
}

/** Applies the changes of the buckets since the last call to the inventory, as the watch does. */
function watch(api: FakeKubernetes, source: FakeSource): void {
  const changes = api.history.slice(source.delivered).filter(({ kind }) => kind === "Bucket" || kind === "AWSCluster");
  source.delivered = api.history.length;
  if (changes.length > 0) source.put(...changes);
}

/** Returns the annotation of a bucket; null if the bucket does not have it. */
export function annotationOf(api: FakeKubernetes, name: string, key: string): string | null {
  return stringAt(api.object(`${BUCKETS}/${name}`), "metadata", "annotations", PREFIX + key);
}

/** The number of turns of the event loop in which a request and its consequences finish. */
const TURNS = 20;

export async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((done) => setImmediate(done));
}

/** The steps of the clock, in ms. */
const STEP_MS = 20;

/** Advances the clock in steps. After each step, the watches of the replicas deliver all changes. */
export async function pass(
  clock: FakeClock, ms: number, api: FakeKubernetes, replicas: readonly Replica[],
): Promise<void> {
  await settle();
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    clock.advance(STEP_MS);
    await settle();
    for (const { source } of replicas) watch(api, source);
  }
}

/** Advances the clock until the replica has sent its first write. The watch delivers no change meanwhile. */
export async function untilFirstWrite(clock: FakeClock, replica: Replica): Promise<void> {
  while (replica.patches.length === 0) {
    await settle();
    clock.advance(500);
    await settle();
  }
}
