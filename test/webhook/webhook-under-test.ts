import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { Registry } from "prom-client";
import { type DecisionSettings, decisionSettings, type Runtime } from "../../shared/core/context.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import { ALWAYS_CURRENT, type InventorySource, type SourceStatus } from "../../shared/sources/source.ts";
import { createLogger } from "../../shared/server/logger.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { Drain } from "../../shared/server/stopping.ts";
import type { AccessReviewer } from "../../webhook/access-review.ts";
import { buildWebhook, type WebhookApp } from "../../webhook/app.ts";
import { createWebhookMetrics } from "../../webhook/metrics.ts";
import type { ObjectFetcher } from "../../webhook/object-fetch.ts";

/** A source whose objects and status a test sets directly. */
export class FakeSource implements InventorySource {
  readonly inventory: Inventory;
  readonly #listeners = new Set<() => void>();
  status: SourceStatus = { loaded: true, lastSyncMs: 0, fault: null };
  positionOf: (kind: string) => string | null = () => null;
  /** Default: every kind is current. */
  prove: InventorySource["prove"] = async () => ALWAYS_CURRENT;

  constructor(objects: readonly JsonObject[] = [], runtime: Runtime = "ack") {
    this.inventory = new Inventory({ runtime, origin: "cluster" }, INVENTORY_KINDS);
    this.put(...objects);
  }

  put(...objects: readonly JsonObject[]): void {
    this.inventory.apply(objects.map((object) => ({ type: "put", object })));
    this.notify();
  }

  /** Stores each object, as if it were newer than what the inventory has. */
  accept(object: JsonObject): boolean {
    this.put(object);
    return true;
  }

  unload(): void {
    this.status = { loaded: false, lastSyncMs: null, fault: null };
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}
}

/** Resolves when a request waits for a change of the inventory. */
export async function untilWaiting(source: FakeSource): Promise<void> {
  while (source.listeners === 0) await new Promise((done) => setImmediate(done));
}

/** A clock whose time the test sets. `scheduled` records the requested delays. */
class FakeClock implements SteadyClock {
  /** The test sets it. */
  steady = (): number => 0;
  readonly scheduled: number[] = [];
  readonly #pending = new Set<() => void>();

  now(): number {
    return 0;
  }

  schedule(delayMs: number, run: () => void): () => void {
    this.scheduled.push(delayMs);
    this.#pending.add(run);
    return () => void this.#pending.delete(run);
  }

  get pending(): number {
    return this.#pending.size;
  }

  /** Fires every timer. */
  fireAll(): void {
    for (const run of this.#pending) run();
    this.#pending.clear();
  }
}

const SELECTOR = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector" };
const NAMESPACE = { apiVersion: "v1", kind: "Namespace" };

/**
 * Selector team-a selects by namespace name. Selector shared selects resources labeled `tier: shared` in namespaces
 * labeled `env: prod`. No selector selects resources in the namespace sandbox.
 */
export const COMPANY: readonly JsonObject[] = [
  {
    ...NAMESPACE,
    metadata: {
      name: "team-a",
      labels: { env: "prod" },
      annotations: { "services.k8s.aws/default-region": "eu-west-1" },
    },
  },
  { ...NAMESPACE, metadata: { name: "sandbox" } },
  {
    ...SELECTOR,
    metadata: { name: "team-a", resourceVersion: "41" },
    spec: { arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: { names: ["team-a"] } },
  },
  {
    ...SELECTOR,
    metadata: { name: "shared", resourceVersion: "42" },
    spec: {
      arn: "arn:aws:iam::444455556666:role/shared",
      namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } },
      resourceLabelSelector: { matchLabels: { tier: "shared" } },
    },
  },
];

export interface WebhookUnderTest {
  readonly app: WebhookApp;
  readonly source: FakeSource;
  readonly clock: FakeClock;
  readonly drain: Drain;
  readonly registry: Registry;
  /** The elapsed time of each request, in ms. */
  requestMs: number;
  /** The parsed log lines. */
  readonly lines: Record<string, unknown>[];
  /** The codes with which `enforce` would have denied. */
  readonly observed: string[];
  post(path: string, body: unknown): Promise<WebhookResponse>;
}

interface WebhookResponse {
  readonly status: number;
  readonly type: unknown;
  readonly text: string;
  readonly json: unknown;
}

/** What fetches objects from the API server, by kind. */
type Fetchers = Readonly<Record<string, ObjectFetcher>>;

const DEFAULTS = readSettings("webhook", { cluster: true, tlsDir: "unused", controllerAccount: "777788889999" }, {});

export function webhookUnderTest(
  source = new FakeSource(COMPANY),
  decisions: Partial<DecisionSettings> = {},
  reviewAccess?: AccessReviewer,
  fetchers: Fetchers = {},
): WebhookUnderTest {
  const registry = new Registry();
  const lines: Record<string, unknown>[] = [];
  const observed: string[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLogger({ name: "webhook", level: "debug", destination });
  const clock = new FakeClock();
  const drain = new Drain();
  let readings = 0;
  // The first reading of the clock in a request is the start time of the request.
  clock.steady = () => (readings++ === 0 ? 0 : webhook.requestMs);
  const webhook: WebhookUnderTest = {
    app: buildWebhook({
      decisions: { ...decisionSettings(DEFAULTS), ...decisions }, tls: { cert: "", key: "" },
    }, {
      source, clock, log, drain, metrics: createWebhookMetrics(registry),
      observed: { add: (_, { code }) => void observed.push(code) },
      ...(reviewAccess !== undefined && { reviewAccess }),
      fetcherOf: ({ kind }) => fetchers[kind] ?? null,
    }),
    source, clock, drain, registry, lines, observed,
    requestMs: 0,
    async post(path, body) {
      readings = 0;
      const payload = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      const headers = { "content-type": "application/json" };
      const response = await webhook.app.inject({ method: "POST", url: path, headers, payload });
      const json: unknown = response.body === "" ? null : JSON.parse(response.body);
      return { status: response.statusCode, type: response.headers["content-type"], text: response.body, json };
    },
  };
  return webhook;
}
