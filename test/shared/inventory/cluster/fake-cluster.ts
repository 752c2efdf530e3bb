import type { Test } from "tap";
import { ClusterSource, type ClusterSourceOptions } from "../../../../shared/inventory/cluster/source.ts";
import type { InventorySource } from "../../../../shared/inventory/source.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeAPIServer, type HeldRequest } from "./fake-api-server.ts";

export const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
export const NAMESPACES = "/api/v1/namespaces";
export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/buckets";

interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An API server that lists what it is given, in pages, and keeps every watch open to be written to. */
export class FakeCluster {
  readonly server = new FakeAPIServer();
  readonly clock = new FakeClock();
  /** By the path of the collection. */
  readonly objects = new Map<string, readonly object[]>();
  /** What a list is answered with instead. */
  readonly refusals = new Map<string, Refusal>();
  /** Paths whose lists wait for `release`. */
  readonly held = new Map<string, HeldRequest[]>();
  /** Path and query of every list, in order. */
  readonly lists: string[] = [];
  readonly watches = new Map<string, HeldRequest>();
  #heard = Promise.withResolvers<void>();
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
    const requests = this.held.get(path) ?? [];
    this.held.delete(path);
    for (const request of requests) this.#list(request);
  }

  /** Resolves once `holds` does, which is looked at after each request. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#heard.promise;
  }

  async #serve(): Promise<never> {
    for (;;) {
      const request = await this.server.next();
      this.#answer(request);
      this.#heard.resolve();
      this.#heard = Promise.withResolvers<void>();
    }
  }

  #answer(request: HeldRequest): void {
    const { path, query } = request;
    const refusal = this.refusals.get(path);
    if (query["watch"] !== undefined) {
      request.open();
      this.watches.set(path, request);
      return;
    }
    this.lists.push(`${path}?${new URLSearchParams(query).toString()}`);
    if (refusal !== undefined) request.answer(refusal.status, { message: "refused" }, refusal.headers);
    else if (this.held.has(path)) this.held.get(path)?.push(request);
    else this.#list(request);
  }

  #list(request: HeldRequest): void {
    const { path, query } = request;
    const all = this.objects.get(path) ?? [];
    const from = Number(query["continue"] ?? 0);
    const to = from + Number(query["limit"]);
    const more = to < all.length ? { continue: String(to) } : {};
    request.answer(200, { metadata: { resourceVersion: String(this.#version++), ...more }, items: all.slice(from, to) });
  }
}

/** A fake cluster of the definitions, and a source of it that also holds resources. */
export async function fakeCluster(t: Test, definitions: readonly object[], options: Partial<ClusterSourceOptions> = {}): Promise<{ cluster: FakeCluster; source: ClusterSource }> {
  const cluster = new FakeCluster();
  await cluster.start();
  cluster.objects.set(DEFINITIONS, definitions);
  const held = { resources: { extraGroups: [] }, ...options };
  const source = new ClusterSource({ runtime: "ack", api: cluster.server.api, clock: cluster.clock, random: () => 0, ...held });
  t.teardown(async () => {
    await source.stop();
    await cluster.server.stop();
  });
  return { cluster, source };
}

export async function becomes(source: InventorySource, holds: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = source.onChange(() => (holds() ? resolve() : undefined));
  if (!holds()) await promise;
  end();
}

interface DefinitionParts {
  readonly scope?: string;
  readonly established?: boolean;
  /** Served, the first stored. */
  readonly versions?: readonly string[];
  readonly served?: boolean;
}

/** A CustomResourceDefinition as the API server has it. */
export function definition(group: string, kind: string, parts: DefinitionParts = {}): object {
  const { scope = "Namespaced", established = true, versions = ["v1alpha1"], served = true } = parts;
  const plural = `${kind.toLowerCase()}s`;
  return {
    metadata: { name: `${plural}.${group}`, resourceVersion: versions.join("") },
    spec: { group, scope, names: { kind, plural }, versions: versions.map((name, i) => ({ name, served, storage: i === 0, schema: {} })) },
    status: { conditions: [{ type: "Established", status: established ? "True" : "False" }] },
  };
}

export function resource(name: string, parts: { readonly namespace?: string; readonly status?: object; readonly labels?: object } = {}): object {
  const { namespace = "team-a", status = {}, labels = {} } = parts;
  return { metadata: { name, namespace, resourceVersion: "7", labels }, spec: { name }, status };
}
