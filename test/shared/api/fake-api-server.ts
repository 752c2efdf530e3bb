import { once } from "node:events";
import {
  createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import { httpKubernetesAPI, type KubernetesAPI } from "../../../shared/api/api.ts";

interface RequestParts {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request that the test has not answered yet. */
export class PendingRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly #response: ServerResponse;
  /** Resolves when the connection is closed or the response ends. */
  readonly closed: Promise<unknown>;

  constructor(parts: RequestParts, response: ServerResponse) {
    const url = new URL(parts.url, "http://localhost");
    this.method = parts.method;
    this.path = url.pathname;
    this.query = Object.fromEntries(url.searchParams);
    this.headers = parts.headers;
    this.body = parts.body;
    this.#response = response;
    this.closed = once(response, "close");
  }

  answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  }

  /** Starts the response of a watch by sending the headers. `write` then sends the lines. */
  open(): void {
    this.#response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  }

  /** Writes the bytes. Resolves when the operating system has accepted them, so that two writes are two chunks. */
  async write(bytes: string | Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.write(bytes, () => resolve());
    await promise;
  }

  end(): void {
    this.#response.end();
  }

  /** Resets the connection (RST). */
  reset(): void {
    this.#response.socket?.resetAndDestroy();
  }
}

/** A fake API server on loopback. The test answers each request. */
export class FakeAPIServer {
  readonly #server: Server;
  readonly #pending: PendingRequest[] = [];
  readonly #waiting: ((request: PendingRequest) => void)[] = [];

  constructor() {
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  async start(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the server does not listen on a port");
    return `http://127.0.0.1:${address.port}`;
  }

  get api(): KubernetesAPI {
    return httpKubernetesAPI(() => Promise.resolve({ server: this.url, options: {} }));
  }

  /** Resolves with the next request. */
  async next(): Promise<PendingRequest> {
    const pending = this.#pending.shift();
    if (pending !== undefined) return pending;
    const { promise, resolve } = Promise.withResolvers<PendingRequest>();
    this.#waiting.push(resolve);
    return await promise;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { method = "", url = "", headers } = request;
    const pending = new PendingRequest({ method, url, headers, body }, response);
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#pending.push(pending);
    else waiting(pending);
  }
}
