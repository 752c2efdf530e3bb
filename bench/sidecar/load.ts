import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface LoadOptions {
  readonly port: number;
  readonly token: string;
  /** Requested in turn. */
  readonly paths: readonly string[];
  readonly connections: number;
  readonly requests: number;
  /**
   * The number of requests per second. If the number is null, each connection sends the next request as soon as a
   * response arrives.
   */
  readonly ratePerSecond: number | null;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Ascending. */
  readonly latenciesMs: Float64Array;
  /** The number of responses by HTTP status. */
  readonly statuses: ReadonlyMap<number, number>;
}

/**
 * Sends requests over persistent connections. Uses bare sockets, because a node:http client would need as much
 * processor time as the measured server. At a fixed rate, a late response delays the next request of the connection.
 * Each latency is therefore measured from the scheduled time of the request.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const { port, token, paths, connections, requests, ratePerSecond } = options;
  const latenciesMs = new Float64Array(requests);
  const statuses = new Map<number, number>();
  const startMs = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    const connection = await Connection.open(port);
    for (let i = next++; i < requests; i = next++) {
      const dueMs = ratePerSecond === null ? null : startMs + (i * 1000) / ratePerSecond;
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      const fromMs = await awaitDue(dueMs);
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      const status = await connection.request(paths[i % paths.length] ?? "", token, port);
      latenciesMs[i] = performance.now() - fromMs;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, client));
  const perSecond = (requests * 1000) / (performance.now() - startMs);
  return { perSecond, latenciesMs: latenciesMs.toSorted(), statuses };
}

/**
 * Returns the time from which the latency is measured. The latency includes the delay that a late previous response
 * causes, but not the delay that a late timer causes.
 */
async function awaitDue(dueMs: number | null): Promise<number> {
  if (dueMs !== null && dueMs <= performance.now()) return dueMs;
  if (dueMs !== null) await sleep(dueMs - performance.now());
  return performance.now();
}

/** A persistent connection that sends one request at a time. */
class Connection {
  readonly #socket: Socket;
  #received = "";
  #response: PromiseWithResolvers<number> | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true).setEncoding("latin1");
    socket.on("data", (text: string) => this.#receive(text));
    socket.on("close", () => this.#response?.reject(new Error("the server closed the connection")));
    socket.on("error", (error) => this.#response?.reject(error));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** Sends a request. Resolves to the HTTP status when the response is complete. */
  request(path: string, token: string, port: number): Promise<number> {
    this.#response = Promise.withResolvers<number>();
    const headers = `Host: 127.0.0.1:${port}\r\nAuthorization: ${token}\r\nAccept: application/json\r\n`;
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n`);
    return this.#response.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    const head = this.#received.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1] ?? 0);
    if (this.#received.length < head + 4 + length) return;
    const status = Number(this.#received.slice(9, 12));
    this.#received = "";
    this.#response?.resolve(status);
  }
}

export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
