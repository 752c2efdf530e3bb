import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { LIMITS } from "../core/limits.ts";
import { type SteadyClock, systemClock } from "../core/clock.ts";
import { limitConnections } from "./connection-limit.ts";
import { boundAddress, formatListenAddress, parseListenAddress, startListening } from "./listen-address.ts";

/** Whether a server is ready. If the server is unready, `reasons` lists why. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** Faults that do not make the server unready, one line for each fault. */
  readonly warnings: readonly string[];
}

interface HealthServerOptions {
  /** The value of --health-listen, in the form `HOST:PORT`. Port 0 selects a free port. */
  readonly listen: string;
  readonly ready: () => Readiness;
  /** Returns whether startup is complete. The function is not called again after it has returned true. */
  readonly started: () => boolean;
  readonly registry: Registry;
  /** Default: the system clock. */
  readonly clock?: SteadyClock;
}

export interface HealthServer {
  /** The listen address in the form `HOST:PORT`, with the actual port. */
  readonly address: string;
  close(): Promise<void>;
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

interface Probes extends Pick<HealthServerOptions, "ready" | "started"> {
  /** Returns the response of `/metrics`. */
  readonly metrics: () => Promise<Page>;
}

const CONNECTIONS = {
  served: LIMITS.healthConnections.value,
  accepted: LIMITS.healthAccepted.value,
  responseMs: LIMITS.healthResponse.value,
  replacesIncomplete: true,
} as const;
const SERVER_OPTIONS = {
  maxHeaderSize: 8 * 1024, headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000,
} as const;
/** How long the metrics are cached, in ms. The cache limits the CPU time of frequent scrapes by many clients. */
const METRICS_LIFETIME_MS = 1_000;

const FLAG = "--health-listen";

/**
 * Starts the server of health probes and metrics, over plain HTTP on a separate port. The paths are `/healthz` (200),
 * `/startupz` (503 until startup is complete, then 200), `/readyz` (200 with one warning per line, or 503 with one
 * reason per line) and `/metrics` (Prometheus text, at most 1 s old). Rejects with ERR_CONFIG_ADDRESS or
 * ERR_CONFIG_PORT_IN_USE.
 *
 * Any client that can reach the port can send requests. Therefore the server limits the connections, answers one
 * request per connection, and closes a connection whose client does not read the response.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { ready, registry, clock = systemClock } = options;
  const address = parseListenAddress(options.listen, FLAG);
  const metrics = cached(clock, METRICS_LIFETIME_MS, () => metricsPage(registry));
  const probes = { ready, started: latched(options.started), metrics };
  const server = createServer(SERVER_OPTIONS, ({ method, url, socket }, response) => {
    if (socket.destroyed) return;
    void (isExcess(socket) ? send(response, TOO_MANY) : respond({ method, url }, response, probes));
  });
  const isExcess = limitConnections(server, CONNECTIONS, clock);
  await startListening(FLAG, address, async () => {
    server.listen(address.port, address.host);
    await once(server, "listening");
  });
  return { address: formatListenAddress(boundAddress(server)), close: () => closeServer(server) };
}

type ProbeRequest = Pick<IncomingMessage, "method" | "url">;

async function respond(request: ProbeRequest, response: ServerResponse, probes: Probes): Promise<void> {
  send(response, await pageFor(request, probes), request.method === "HEAD");
}

function send(response: ServerResponse, { status, type, body }: Page, isHead = false): void {
  response.writeHead(status, {
    "content-type": type, "content-length": body.length, "cache-control": "no-store", "connection": "close",
    ...(status === 503 && { "retry-after": "1" }),
  });
  response.end(isHead ? undefined : body);
}

async function pageFor({ method, url = "" }: ProbeRequest, probes: Probes): Promise<Page> {
  if (method !== "GET" && method !== "HEAD") return text(405, "only GET and HEAD are supported");
  // Ignores the query of the URL, because some probes send a query, such as `/readyz?verbose`.
  const [path = ""] = url.split("?", 1);
  return await (PAGES[path] ?? notFound)(probes);
}

const PAGES: Readonly<Record<string, (probes: Probes) => Page | Promise<Page>>> = {
  "/healthz": () => text(200, "ok"),
  "/startupz": ({ started }) => (started() ? text(200, "ok") : text(503, "not started yet")),
  "/readyz": (probes) => {
    const { ready, reasons, warnings } = probes.ready();
    return ready ? text(200, ["ok", ...warnings].join("\n")) : text(503, reasons.join("\n"));
  },
  "/metrics": ({ metrics }) => metrics(),
};

const TOO_MANY = text(503, `the server serves ${CONNECTIONS.served} connections, which is the limit`);

async function metricsPage(registry: Registry): Promise<Page> {
  try {
    return { status: 200, type: registry.contentType, body: Buffer.from(await registry.metrics()) };
  } catch {
    return text(500, "metrics collection failed");
  }
}

/**
 * Returns a function that caches the result of `read`. The function calls `read` again after the cached result has
 * expired.
 */
function cached<T>(clock: SteadyClock, lifetimeMs: number, read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | null = null;
  let expiresMs = 0;
  return () => {
    if (result === null || clock.steady() >= expiresMs) {
      result = read();
      expiresMs = clock.steady() + lifetimeMs;
    }
    return result;
  };
}

function notFound(): Page {
  return text(404, `not found; the valid paths are ${Object.keys(PAGES).join(", ")}`);
}

/**
 * Returns a function that calls `check` and returns its result. After `check` has returned true once, the function
 * returns true without calling `check`.
 */
function latched(check: () => boolean): () => boolean {
  let passed = false;
  return () => (passed ||= check());
}

function text(status: number, body: string): Page {
  return { status, type: "text/plain; charset=utf-8", body: Buffer.from(`${body}\n`) };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  // Without this call, idle keep-alive connections of scrapers would delay the close.
  server.closeAllConnections();
  await closed;
}
