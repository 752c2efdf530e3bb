import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { boundAddress, formatListenAddress, parseListenAddress, startListening } from "./listen-address.ts";

/** Whether a server is ready. If the server is unready, `reasons` has one entry for each reason. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

interface HealthServerOptions {
  /** The value of --health-listen, in the form `HOST:PORT`. Port 0 selects a free port. */
  readonly listen: string;
  readonly ready: () => Readiness;
  /** Returns whether startup is complete. Not called again after the first true. */
  readonly started: () => boolean;
  readonly registry: Registry;
}

export interface HealthServer {
  /** The listen address in the form `HOST:PORT`, with the actual port. */
  readonly address: string;
  close(): Promise<void>;
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const FLAG = "--health-listen";

/**
 * Starts the server of health probes and metrics, over plain HTTP on a separate port. The paths are `/healthz` (200),
 * `/startupz` (503 until startup is complete, then 200), `/readyz` (200, or 503 with one reason per line) and
 * `/metrics` (Prometheus text). Rejects with ERR_CONFIG_ADDRESS or ERR_CONFIG_PORT_IN_USE.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const address = parseListenAddress(options.listen, FLAG);
  const probes = { ...options, started: latched(options.started) };
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 15_000 }, (request, response) => {
    void respond(request, response, probes);
  });
  await startListening(FLAG, address, async () => {
    server.listen(address.port, address.host);
    await once(server, "listening");
  });
  return { address: formatListenAddress(boundAddress(server)), close: () => closeServer(server) };
}

async function respond(
  request: IncomingMessage, response: ServerResponse, options: HealthServerOptions,
): Promise<void> {
  const page = await pageFor(request, options);
  const body = Buffer.from(page.body);
  response.writeHead(page.status, {
    "content-type": page.type, "content-length": body.length, "cache-control": "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

async function pageFor(request: IncomingMessage, options: HealthServerOptions): Promise<Page> {
  if (request.method !== "GET" && request.method !== "HEAD") return text(405, "only GET and HEAD are supported");
  // Ignores the query of the URL, which a probe can send (`/readyz?verbose`).
  const [path = ""] = (request.url ?? "").split("?", 1);
  return await (PAGES[path] ?? notFound)(options);
}

const PAGES: Readonly<Record<string, (options: HealthServerOptions) => Page | Promise<Page>>> = {
  "/healthz": () => text(200, "ok"),
  "/startupz": ({ started }) => (started() ? text(200, "ok") : text(503, "not started yet")),
  "/readyz": (options) => {
    const { ready, reasons } = options.ready();
    return ready ? text(200, "ok") : text(503, reasons.join("\n"));
  },
  "/metrics": async ({ registry }) => {
    try {
      return { status: 200, type: registry.contentType, body: await registry.metrics() };
    } catch {
      return text(500, "metrics collection failed");
    }
  },
};

function notFound(): Page {
  return text(404, `not found; the valid paths are ${Object.keys(PAGES).join(", ")}`);
}

/** Returns a function that returns the result of `check`. After the first true, the function always returns true. */
function latched(check: () => boolean): () => boolean {
  let passed = false;
  return () => (passed ||= check());
}

function text(status: number, body: string): Page {
  return { status, type: "text/plain; charset=utf-8", body: `${body}\n` };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  // Without this call, idle keep-alive connections of scrapers would delay the close.
  server.closeAllConnections();
  await closed;
}
