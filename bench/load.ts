import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTLS } from "node:tls";
import { setTimeout as sleep } from "node:timers/promises";
import { type Figure, type Goal, quantile } from "./figure.ts";
import { type Program, processorTimes } from "./programs.ts";

export interface LoadOptions {
  readonly port: number;
  readonly isTLS?: boolean;
  /** Complete HTTP requests, sent in turn. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
  /** Whether to stop. Called before each request with the number of requests so far and the time since the start. */
  readonly isDone: (sent: number, elapsedMs: number) => boolean;
  /** Default: each connection sends the next request as soon as a response arrives. */
  readonly ratePerSecond?: number;
}

interface LoadResult {
  readonly perSecond: number;
  /** Ascending. */
  readonly latenciesMs: Float64Array;
  /** The number of responses by HTTP status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** The body of the last response. */
  readonly body: string;
}

export function httpRequest(
  method: string, path: string, headers: Readonly<Record<string, string>>, body = "",
): Buffer {
  const all = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) });
  const lines = all.map(([name, value]) => (body === "" && name === "content-length" ? "" : `${name}: ${value}\r\n`));
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
}

/**
 * Sends requests over persistent connections. Uses bare sockets, because a node:http client would need as much
 * processor time as the measured server. At a fixed rate, a late response delays the next request of the connection.
 * Each latency is therefore measured from the scheduled time of the request.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const { port, isTLS = false, requests, isDone, ratePerSecond } = options;
  const latencies: number[] = [];
  const statuses = new Map<number, number>();
  const connections = await Promise.all(Array.from({ length: options.connections }, () => open(port, isTLS)));
  const startMs = performance.now();
  let sent = 0;
  const client = async (opened: Connection): Promise<void> => {
    let connection = opened;
    while (!isDone(sent, performance.now() - startMs)) {
      const request = requests[sent % requests.length] ?? Buffer.alloc(0);
      const dueMs = ratePerSecond === undefined ? null : startMs + (sent * 1000) / ratePerSecond;
      sent += 1;
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      const fromMs = dueMs === null ? performance.now() : await awaitDue(dueMs);
      // The webhook closes old connections, and the API server then opens others.
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      if (connection.isClosed) connection = await open(port, isTLS);
      // oxlint-disable-next-line no-await-in-loop -- one request after another
      const status = await connection.request(request);
      latencies.push(performance.now() - fromMs);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    connection.close();
  };
  await Promise.all(connections.map(client));
  const perSecond = (sent * 1000) / (performance.now() - startMs);
  const body = connections.findLast((one) => one.body !== "")?.body ?? "";
  return { perSecond, latenciesMs: Float64Array.from(latencies).toSorted(), statuses, body };
}

/**
 * Returns the time from which the latency is measured. The latency includes the delay that a late previous response
 * causes, but not the delay that a late timer causes.
 */
async function awaitDue(dueMs: number): Promise<number> {
  if (dueMs <= performance.now()) return dueMs;
  await sleep(dueMs - performance.now());
  return performance.now();
}

async function open(port: number, isTLS: boolean): Promise<Connection> {
  const address = { port, host: "127.0.0.1" };
  const socket = isTLS ? connectTLS({ ...address, rejectUnauthorized: false }) : connect(address);
  await once(socket, isTLS ? "secureConnect" : "connect");
  return new Connection(socket);
}

const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "\r\n0\r\n\r\n";
/** The position of the status in `HTTP/1.1 200`. */
const STATUS_AT = 9;

/** A persistent connection that sends one request at a time. */
class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  /** The length of the last response. A response that arrives at once with this length is not parsed. */
  #length = 0;
  #response: PromiseWithResolvers<number> | null = null;
  body = "";
  /** Whether the server closes the connection after the last response. */
  isClosed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    socket.on("close", () => this.#fail(new Error("the server closed the connection")));
    socket.on("error", (error) => this.#fail(error));
  }

  /** Sends a request. Resolves to the HTTP status when the response is complete. */
  request(request: Buffer): Promise<number> {
    this.#response = Promise.withResolvers<number>();
    this.#socket.write(request);
    return this.#response.promise;
  }

  #fail(error: Error): void {
    this.isClosed = true;
    this.#response?.reject(error);
  }

  close(): void {
    this.#response = null;
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    if (this.#received.length !== this.#length && !this.#isComplete()) return;
    this.#length = this.#received.length;
    const status = Number(this.#received.toString("latin1", STATUS_AT, STATUS_AT + 3));
    this.#received = Buffer.alloc(0);
    this.#response?.resolve(status);
  }

  #isComplete(): boolean {
    const text = this.#received.toString("latin1");
    const head = text.indexOf(HEAD_END);
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    this.body = text.slice(head + HEAD_END.length);
    if (head < 0) return false;
    this.isClosed ||= /\r\nconnection: close\r\n/i.test(text.slice(0, head + 2));
    return length === undefined ? text.endsWith(LAST_CHUNK) : this.body.length >= Number(length);
  }
}

interface LoadSample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The processor time of the server for each request. */
  readonly userUs: number;
  readonly systemUs: number;
  /** The processors that the server kept busy. Below 1, the server waited for its client. */
  readonly cores: number;
}

/** Loads a server, and measures its processor time. Rejects if a response is not successful. */
export async function loadServer({ process: { pid } }: Program, options: LoadOptions): Promise<LoadSample> {
  const before = await processorTimes(pid);
  const startMs = performance.now();
  const { perSecond, latenciesMs, statuses, body } = await load(options);
  const wallMs = performance.now() - startMs;
  const after = await processorTimes(pid);
  const failed = [...statuses].filter(([status]) => status >= 300);
  if (failed.length > 0) throw new Error(`responses by status: ${JSON.stringify(failed)}; the last body: ${body}`);
  const [userMs, systemMs] = [after.userMs - before.userMs, after.systemMs - before.systemMs];
  const perRequest = (ms: number): number => (ms * 1000) / latenciesMs.length;
  return {
    perSecond, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99), userUs: perRequest(userMs),
    systemUs: perRequest(systemMs), cores: (userMs + systemMs) / wallMs,
  };
}

type LoadGoals = Readonly<Partial<Record<"perSecond" | "p99Ms" | "processorUs", Goal>>>;

/** Returns the figures of loads on our server and on the floor. */
export function loadFigures(
  [ours = [], floor = []]: readonly (readonly LoadSample[])[], goals: LoadGoals,
): readonly Figure[] {
  const figure = (name: string, unit: Figure["unit"], of: (sample: LoadSample) => number, goal?: Goal): Figure =>
    ({ name, unit, ours: ours.map(of), floor: floor.map(of), ...(goal !== undefined && { goal }) });
  return [
    figure("requests", "/s", ({ perSecond }) => perSecond, goals.perSecond),
    figure("latency, p50", "ms", ({ p50Ms }) => p50Ms),
    figure("latency, p99", "ms", ({ p99Ms }) => p99Ms, goals.p99Ms),
    figure("processor time per request", "us", ({ userUs, systemUs }) => userUs + systemUs, goals.processorUs),
    figure("processor time per request, user", "us", ({ userUs }) => userUs),
    figure("processor time per request, system", "us", ({ systemUs }) => systemUs),
    figure("busy processors of the server", "cores", ({ cores }) => cores),
  ];
}
