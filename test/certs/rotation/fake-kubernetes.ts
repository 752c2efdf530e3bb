import fastJSONPatch, { type Operation } from "fast-json-patch";
import { Readable } from "node:stream";
import type { Clock } from "../../../shared/core/clock.ts";
import {
  field, isJsonObject, type JsonObject, parseJSON, stringAt,
} from "../../../shared/formats/json.ts";
import { REACHED } from "../../../shared/core/installation.ts";
import type { KubernetesAPI, KubernetesRequest, KubernetesResponse } from "../../../shared/api/api.ts";

interface Watcher {
  readonly collection: string;
  readonly name: string | null;
  readonly stream: Readable;
}

/** An API server in memory, with resource versions, watches and JSON patches. The paths of objects are the keys. */
export class FakeKubernetes implements KubernetesAPI {
  readonly objects = new Map<string, JsonObject>();
  /** Every stored version of every object, in order. */
  readonly history: JsonObject[] = [];
  /** `METHOD path` of each request, without the query. */
  readonly requests: string[] = [];
  /** The status with which the server rejects requests whose `METHOD path` starts with the key. */
  readonly rejected = new Map<string, number>();
  /** The server answers a request whose `METHOD path` starts with the key only after the promise is resolved. */
  readonly held = new Map<string, Promise<void>>();
  /** Whether the API server reaches the webhook. */
  isReached = true;
  readonly #watchers = new Set<Watcher>();
  readonly #clock: Pick<Clock, "schedule"> | null;
  #version = 0;

  /** With a clock, the server ends each watch after the requested time. */
  constructor(clock: Pick<Clock, "schedule"> | null = null) {
    this.#clock = clock;
  }

  /** Stores an object as another client does. */
  put(path: string, object: JsonObject): void {
    this.#version += 1;
    const metadata = { ...asObject(object["metadata"]), resourceVersion: String(this.#version) };
    const isNew = !this.objects.has(path);
    const stored = { ...object, metadata };
    this.objects.set(path, stored);
    this.history.push(stored);
    this.#notify(path, isNew ? "ADDED" : "MODIFIED", stored);
  }

  /** Changes an object as another client does. */
  change(path: string, change: (object: JsonObject) => JsonObject): void {
    this.put(path, change(this.object(path)));
  }

  remove(path: string): void {
    const object = this.object(path);
    this.objects.delete(path);
    this.#version += 1;
    const metadata = { ...asObject(object["metadata"]), resourceVersion: String(this.#version) };
    this.#notify(path, "DELETED", { ...object, metadata });
  }

  object(path: string): JsonObject {
    return this.objects.get(path) ?? {};
  }

  async request(request: KubernetesRequest): Promise<KubernetesResponse> {
    const { path, method = "GET", body = "null" } = request;
    const { pathname } = new URL(path, "http://localhost");
    const key = `${method} ${pathname}`;
    this.requests.push(key);
    for (const [prefix, released] of this.held) if (key.startsWith(prefix)) await released;
    for (const [prefix, status] of this.rejected) {
      if (key.startsWith(prefix)) return respond(status, { reason: "Fake", message: body });
    }
    return this.#answer(request, pathname);
  }

  #answer(request: KubernetesRequest, pathname: string): KubernetesResponse {
    const { method, body = "null", contentType, path } = request;
    if (path.endsWith("?dryRun=All")) return this.#dryRun(pathname);
    const sent = parseJSON(body);
    if (method === "POST") return this.#create(pathname, asObject(sent));
    if (method === "PUT") return this.#update(pathname, asObject(sent));
    if (contentType === "application/merge-patch+json") return this.#merge(pathname, asObject(sent));
    if (method === "PATCH") return this.#patch(pathname, Array.isArray(sent) ? sent : []);
    return this.#read(request);
  }

  /** The webhook answers a dry run with a warning. */
  #dryRun(path: string): KubernetesResponse {
    const headers = this.isReached ? { warning: `299 - "${REACHED.warning}"` } : {};
    return { ...this.#get(path), headers };
  }

  #read({ path, signal }: KubernetesRequest): KubernetesResponse {
    const { pathname, searchParams } = new URL(path, "http://localhost");
    const isWatch = searchParams.has("watch");
    if (!isWatch && !searchParams.has("limit") && !searchParams.has("fieldSelector")) return this.#get(pathname);
    const name = searchParams.get("fieldSelector")?.split("=")[1] ?? null;
    if (!isWatch) return this.#list(pathname, name);
    const watch = this.#watch(pathname, name, signal);
    const cancel = this.#clock?.schedule(Number(searchParams.get("timeoutSeconds")) * 1000, () => this.#end(watch));
    signal.addEventListener("abort", () => cancel?.());
    return { status: 200, headers: {}, body: watch.stream };
  }

  #get(path: string): KubernetesResponse {
    const object = this.objects.get(path);
    return object === undefined ? respond(404, { reason: "NotFound" }) : respond(200, object);
  }

  #list(collection: string, name: string | null): KubernetesResponse {
    const items = [...this.objects].filter(([path]) => isSelected(path, collection, name)).map(([, object]) => object);
    return respond(200, { metadata: { resourceVersion: String(this.#version) }, items });
  }

  #watch(collection: string, name: string | null, signal: AbortSignal): Watcher {
    const stream = new Readable({ read: () => undefined });
    const watcher = { collection, name, stream };
    this.#watchers.add(watcher);
    signal.addEventListener("abort", () => {
      this.#watchers.delete(watcher);
      stream.destroy();
    });
    return watcher;
  }

  #end(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    watcher.stream.push(null);
  }

  #create(collection: string, object: JsonObject): KubernetesResponse {
    const path = `${collection}/${stringAt(object, "metadata", "name") ?? ""}`;
    if (this.objects.has(path)) return respond(409, { reason: "AlreadyExists" });
    this.put(path, object);
    return respond(201, this.object(path));
  }

  #update(path: string, object: JsonObject): KubernetesResponse {
    const stored = this.objects.get(path);
    if (stored === undefined) return respond(404, { reason: "NotFound" });
    const isCurrent = versionOf(stored) === versionOf(object);
    if (!isCurrent) return respond(409, { reason: "Conflict" });
    this.put(path, object);
    return respond(200, this.object(path));
  }

  #patch(path: string, operations: Operation[]): KubernetesResponse {
    const stored = this.objects.get(path);
    if (stored === undefined) return respond(404, { reason: "NotFound" });
    try {
      this.put(path, fastJSONPatch.applyPatch(stored, operations, true, false).newDocument);
    } catch {
      return respond(422, { reason: "Invalid" });
    }
    return respond(200, this.object(path));
  }

  /** Merges annotations, and replaces other fields. A resource version in the patch is a precondition. */
  #merge(path: string, patch: JsonObject): KubernetesResponse {
    const stored = this.objects.get(path);
    if (stored === undefined) return respond(404, { reason: "NotFound" });
    const expected = versionOf(patch);
    if (expected !== null && expected !== versionOf(stored)) return respond(409, { reason: "Conflict" });
    const metadata = asObject(stored["metadata"]);
    const merged = { ...asObject(metadata["annotations"]), ...asObject(field(patch["metadata"], "annotations")) };
    const annotations = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
    const changed = patch["metadata"] === undefined ? metadata : { ...metadata, annotations };
    this.put(path, { ...stored, ...patch, metadata: changed });
    return respond(200, this.object(path));
  }

  #notify(path: string, type: string, object: JsonObject): void {
    for (const { collection, name, stream } of this.#watchers) {
      if (isSelected(path, collection, name)) stream.push(`${JSON.stringify({ type, object })}\n`);
    }
  }
}

function isSelected(path: string, collection: string, name: string | null): boolean {
  return name === null ? path.startsWith(`${collection}/`) : path === `${collection}/${name}`;
}

function versionOf(object: JsonObject): string | null {
  return stringAt(object, "metadata", "resourceVersion");
}

function respond(status: number, body: object): KubernetesResponse {
  return { status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(body))]) };
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns an entry of a Secret as text; "" if the entry is missing. */
export function entryOf(secret: JsonObject, key: string): string {
  return Buffer.from(stringAt(field(secret, "data"), key) ?? "", "base64").toString("utf8");
}
