import type { Test } from "tap";
import { ClusterSource, type ClusterSourceOptions } from "../../../shared/sources/cluster-source.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeAPIServer, type PendingRequest } from "./fake-api-server.ts";

export const SELECTORS_PATH = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
export const NAMESPACES_PATH = "/api/v1/namespaces";
export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/buckets";

export interface ErrorAnswer {
  readonly status: number;
  /** Default: `simulated`. */
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A fake API server that serves lists in pages from `objects`. The server leaves every watch open, so that `emit` can
 * send events.
 */
export class FakeCluster {
  readonly server = new FakeAPIServer();
  readonly clock = new FakeClock();
  /** Maps a collection path to its objects. */
  readonly objects = new Map<string, readonly object[]>();
  /** Maps the path of an object to it, for a request that reads one. */
  readonly named = new Map<string, object>();
  /** Maps a collection path to the error response for its lists. */
  readonly errors = new Map<string, ErrorAnswer>();
  /** Maps each blocked collection path to its list requests, which wait until `release`. */
  readonly blocked = new Map<string, PendingRequest[]>();
  /** The path and query of every list, in order. */
  readonly lists: string[] = [];
  readonly watches = new Map<string, PendingRequest>();
  #served = Promise.withResolvers<void>();
  #version = 100;

  async start(): Promise<void> {
    await this.server.start();
    void this.#serve();
  }

  async emit(path: string, type: string, object: object): Promise<void> {
    await this.until(() => this.watches.has(path));
    await this.watches.get(path)?.write(`${JSON.stringify({ type, object })}\n`);
  }

  release(path: string): void {
    const requests = this.blocked.get(path) ?? [];
    this.blocked.delete(path);
    for (const request of requests) this.#list(request);
  }

  /** Resolves when `condition()` is true. Checks the condition after each request. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.#served.promise;
  }

  async #serve(): Promise<never> {
    for (;;) {
      const request = await this.server.next();
      this.#answer(request);
      this.#served.resolve();
      this.#served = Promise.withResolvers<void>();
    }
  }

  #answer(request: PendingRequest): void {
    const { path, query } = request;
    const error = this.errors.get(path);
    if (query["watch"] !== undefined) {
      request.open();
      this.watches.set(path, request);
      return;
    }
    this.lists.push(`${path}?${new URLSearchParams(query).toString()}`);
    if (error !== undefined) request.answer(error.status, { message: error.message ?? "simulated" }, error.headers);
    else if (this.named.has(path)) request.answer(200, this.named.get(path));
    else if (this.blocked.has(path)) this.blocked.get(path)?.push(request);
    else this.#list(request);
  }

  #list(request: PendingRequest): void {
    const { path, query } = request;
    const all = this.objects.get(path) ?? [];
    const from = Number(query["continue"] ?? 0);
    const to = from + Number(query["limit"]);
    const more = to < all.length ? { continue: String(to) } : {};
    request.answer(200, {
      metadata: { resourceVersion: String(this.#version++), ...more },
      items: all.slice(from, to),
    });
  }
}

/** Starts a fake cluster with the definitions, and creates a source that also loads resources. */
export async function fakeCluster(
  t: Test, definitions: readonly object[], options: Partial<ClusterSourceOptions> = {},
): Promise<{ readonly cluster: FakeCluster; readonly source: ClusterSource }> {
  const cluster = new FakeCluster();
  await cluster.start();
  cluster.objects.set(DEFINITIONS, definitions);
  const source = new ClusterSource({
    runtime: "ack", api: cluster.server.api, clock: cluster.clock, random: () => 0,
    resources: { extraGroups: [] }, ...options,
  });
  t.teardown(async () => {
    await source.stop();
    await cluster.server.stop();
  });
  return { cluster, source };
}

/** The time in ms within which the API server must accept a watch, and end one of a second. */
const WATCH_LIMITS_MS: ReadonlySet<number> = new Set([3_500, 10_000]);

/** Returns whether a delay is the delay between two attempts of a reflector. */
export function isBackoff(delayMs: number): boolean {
  return delayMs >= 800 && delayMs < 60_000 && !WATCH_LIMITS_MS.has(delayMs);
}

interface DefinitionParts {
  readonly scope?: string;
  readonly established?: boolean;
  /** The versions of the kind. The first version is the stored version. */
  readonly versions?: readonly string[];
  readonly served?: boolean;
}

/** A CustomResourceDefinition as the API server returns it. */
export function definition(group: string, kind: string, parts: DefinitionParts = {}): object {
  const { scope = "Namespaced", established = true, versions = ["v1alpha1"], served = true } = parts;
  const plural = `${kind.toLowerCase()}s`;
  return {
    metadata: { name: `${plural}.${group}`, resourceVersion: versions.join("") },
    spec: {
      group, scope, names: { kind, plural },
      versions: versions.map((name, i) => ({ name, served, storage: i === 0, schema: {} })),
    },
    status: { conditions: [{ type: "Established", status: established ? "True" : "False" }] },
  };
}

interface ResourceParts {
  readonly namespace?: string;
  readonly status?: object;
  readonly labels?: object;
}

export function resource(name: string, parts: ResourceParts = {}): object {
  const { namespace = "team-a", status = {}, labels = {} } = parts;
  return { metadata: { name, namespace, resourceVersion: "7", labels }, spec: { name }, status };
}
