import { once } from "node:events";
import {
  createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";
import { httpKubernetesAPI, type KubernetesAPI } from "../../../../shared/inventory/cluster/api.ts";

/** A request that waits for the test to answer it. */
export class HeldRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly #response: ServerResponse;
  /** Resolves when the client has hung up, or the answer is over. */
  readonly closed: Promise<unknown>;

  constructor(parts: { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }, response: ServerResponse) {
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

  /** Begins a watch: headers now, lines by `write`. */
  open(): void {
    this.#response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  }

  /** Resolves when the bytes have been handed to the system, so that two writes are two chunks. */
  async write(bytes: string | Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.write(bytes, () => resolve());
    await promise;
  }

  end(): void {
    this.#response.end();
  }

  /** Breaks the connection with a RST. */
  reset(): void {
    this.#response.socket?.resetAndDestroy();
  }
}

/** An API server on loopback that answers as the test says, request by request. */
export class FakeAPIServer {
  readonly #server: Server;
  readonly #held: HeldRequest[] = [];
  readonly #waiting: ((request: HeldRequest) => void)[] = [];

  constructor() {
    this.#server = createServer((request, response) => void this.#hold(request, response));
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

  /** The next request, now or when it comes. */
  async next(): Promise<HeldRequest> {
    const held = this.#held.shift();
    if (held !== undefined) return held;
    const { promise, resolve } = Promise.withResolvers<HeldRequest>();
    this.#waiting.push(resolve);
    return await promise;
  }

  async #hold(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { method = "", url = "", headers } = request;
    const held = new HeldRequest({ method, url, headers, body }, response);
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#held.push(held);
    else waiting(held);
  }
}
