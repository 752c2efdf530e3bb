import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface LoadOptions {
  readonly port: number;
  readonly token: string;
  /** Asked for in turn. */
  readonly paths: readonly string[];
  readonly connections: number;
  readonly requests: number;
  /** Null: each connection asks again as soon as it is answered. */
  readonly ratePerSecond: number | null;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Ascending. */
  readonly latenciesMs: Float64Array;
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
}

/**
 * Asks over kept connections. Bare sockets, since a client of node:http takes as much of the machine as the server that is measured.
 * At a rate, who is answered late is late for the next as well: latencies count from when a request was due.
 */
export async function load({ port, token, paths, connections, requests, ratePerSecond }: LoadOptions): Promise<LoadResult> {
  const latenciesMs = new Float64Array(requests);
  const statuses = new Map<number, number>();
  const startMs = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    const connection = await Connection.open(port);
    for (let i = next++; i < requests; i = next++) {
      const dueMs = ratePerSecond === null ? null : startMs + (i * 1000) / ratePerSecond;
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      const fromMs = await awaitTurn(dueMs);
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      const status = await connection.ask(paths[i % paths.length] ?? "", token, port);
      latenciesMs[i] = performance.now() - fromMs;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, client));
  return { perSecond: (requests * 1000) / (performance.now() - startMs), latenciesMs: latenciesMs.toSorted(), statuses };
}

/** When the request is to count from: a timer wakes late by its own grain, which is no fault of the server; a late answer before this one is. */
async function awaitTurn(dueMs: number | null): Promise<number> {
  if (dueMs !== null && dueMs <= performance.now()) return dueMs;
  if (dueMs !== null) await sleep(dueMs - performance.now());
  return performance.now();
}

/** One kept connection, one request at a time. */
class Connection {
  readonly #socket: Socket;
  #received = "";
  #answered: PromiseWithResolvers<number> | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true).setEncoding("latin1");
    socket.on("data", (text: string) => this.#take(text));
    socket.on("close", () => this.#answered?.reject(new Error("the server closed the connection")));
    socket.on("error", (error) => this.#answered?.reject(error));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Connection(socket);
  }

  /** Resolves to the status once the whole answer has come. */
  ask(path: string, token: string, port: number): Promise<number> {
    this.#answered = Promise.withResolvers<number>();
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${token}\r\nAccept: application/json\r\n\r\n`);
    return this.#answered.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received += text;
    const head = this.#received.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1] ?? 0);
    if (this.#received.length < head + 4 + length) return;
    const status = Number(this.#received.slice(9, 12));
    this.#received = "";
    this.#answered?.resolve(status);
  }
}

export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
