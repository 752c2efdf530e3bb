import type { KubernetesAPI, KubernetesRequest } from "../../../shared/api/api.ts";
import type { FakeClock } from "../fake-clock.ts";

export const SECRET_NAMESPACE = "capa-system";
const COLLECTION = `/api/v1/namespaces/${SECRET_NAMESPACE}/secrets`;

/** The `data` of a Secret, with the values in base64. */
export type SecretData = Readonly<Record<string, unknown>>;

/** Returns the data of a Secret that contains these values. */
export function secretData(values: Readonly<Record<string, string>>): SecretData {
  return Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}

interface StoredSecret {
  readonly name: string;
  readonly data: SecretData;
  readonly version: number;
}

/** A fake API server that has Secrets in one namespace. A watch reports the changes of their metadata. */
export class SecretServer {
  readonly requests: KubernetesRequest[] = [];
  /** The status of each response. */
  status = 200;
  /** If set, the body of each response to a read of a Secret. */
  content: Buffer | null = null;
  /** If set, responses to a read of a Secret wait for it. */
  delay: Promise<unknown> = Promise.resolve();
  readonly api: KubernetesAPI = { request: (request) => this.#answer(request) };
  readonly #clock: FakeClock;
  readonly #secrets = new Map<string, StoredSecret>();
  readonly #events: string[] = [];
  #wake: (() => void) | null = null;
  #version = 0;

  constructor(clock: FakeClock, secrets: Readonly<Record<string, SecretData>> = {}) {
    this.#clock = clock;
    for (const [name, data] of Object.entries(secrets)) this.#put(name, data);
  }

  /** The names of the Secrets whose content was read, in order. */
  get reads(): readonly string[] {
    const reads = this.requests.filter(({ path }) => path.startsWith(`${COLLECTION}/`));
    return reads.map(({ path }) => path.slice(COLLECTION.length + 1));
  }

  /** Changes, creates or deletes a Secret, and reports the change to the watch. */
  async change(name: string, data: SecretData | null): Promise<void> {
    const before = this.#secrets.get(name);
    if (data === null) this.#secrets.delete(name);
    const type = data === null ? "DELETED" : "MODIFIED";
    const secret = data === null ? { name, version: ++this.#version } : this.#put(name, data);
    if (before !== undefined || data !== null) {
      this.#events.push(`${JSON.stringify({ type, object: metadataOf(secret) })}\n`);
    }
    this.#wake?.();
    await this.#clock.advance(0);
  }

  #put(name: string, data: SecretData): StoredSecret {
    const secret = { name, data, version: ++this.#version };
    this.#secrets.set(name, secret);
    return secret;
  }

  async #answer(request: KubernetesRequest): ReturnType<KubernetesAPI["request"]> {
    this.requests.push(request);
    const { path } = request;
    const { status } = this;
    if (status !== 200) return response(status, {});
    if (path.includes("watch=true")) return { status, headers: {}, body: this.#watch(request) };
    if (path.startsWith(`${COLLECTION}?`)) {
      const items = Array.from(this.#secrets.values(), metadataOf);
      return response(status, { metadata: { resourceVersion: String(this.#version) }, items });
    }
    const secret = this.#secrets.get(path.slice(COLLECTION.length + 1));
    await Promise.race([this.delay, aborted(request.signal)]);
    if (this.content !== null) return { status, headers: {}, body: oneChunk(this.content) };
    return secret === undefined ? response(404, {}) : response(status, { ...metadataOf(secret), data: secret.data });
  }

  /** Ends after the requested time. */
  async *#watch({ path, signal }: KubernetesRequest): AsyncGenerator<Buffer> {
    const over = new AbortController();
    const cancel = this.#clock.schedule(Number(/timeoutSeconds=(\d+)/.exec(path)?.[1]) * 1000, () => {
      over.abort();
      this.#wake?.();
    });
    signal.addEventListener("abort", cancel);
    while (!over.signal.aborted) {
      const [event] = this.#events.splice(0, 1);
      if (event === undefined) await this.#nextEvent(signal);
      else yield Buffer.from(event);
    }
  }

  async #nextEvent(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await Promise.race([promise, aborted(signal)]);
  }
}

function metadataOf({ name, version }: Pick<StoredSecret, "name" | "version">): object {
  const uid = `uid-${name}`;
  return { metadata: { namespace: SECRET_NAMESPACE, name, uid, resourceVersion: String(version) } };
}

function response(status: number, object: object): Awaited<ReturnType<KubernetesAPI["request"]>> {
  return { status, headers: {}, body: oneChunk(Buffer.from(JSON.stringify(object))) };
}

/** Rejects when the signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(new Error("aborted")));
  return promise;
}

async function* oneChunk(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
