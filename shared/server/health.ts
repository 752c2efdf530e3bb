import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { boundAddress, formatListenAddress, listening, parseListenAddress } from "./listen-address.ts";

/** Whether a program can do its work now, and if not, why: one sentence a reason. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export interface HealthServerOptions {
  /** `HOST:PORT`, the value of --health-listen; port 0 takes any free one. */
  readonly listen: string;
  readonly ready: () => Readiness;
  /** Whether what is needed once has been had; from then on it is not asked any more. */
  readonly started: () => boolean;
  readonly registry: Registry;
}

export interface HealthServer {
  /** `HOST:PORT` as it listens. */
  readonly address: string;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const FLAG = "--health-listen";

/**
 * Serves plain HTTP apart from the program's own port: `/healthz` (alive: never tied to what the program waits for), `/startupz` (503
 * until the program has started, 200 ever after), `/readyz` (200, or 503 with a reason a line) and `/metrics` (Prometheus text).
 * Rejects with ERR_CONFIG_ADDRESS or ERR_CONFIG_PORT_IN_USE.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const address = parseListenAddress(options.listen, FLAG);
  const probes = { ...options, started: latched(options.started) };
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 15_000 }, (request, response) => {
    void respond(request, response, probes);
  });
  await listening(FLAG, address, async () => {
    server.listen(address.port, address.host);
    await once(server, "listening");
  });
  return { address: formatListenAddress(boundAddress(server)), close: () => closeServer(server) };
}

async function respond(request: IncomingMessage, response: ServerResponse, options: HealthServerOptions): Promise<void> {
  const answer = await answerTo(request, options);
  const body = Buffer.from(answer.body);
  response.writeHead(answer.status, { "content-type": answer.type, "content-length": body.length, "cache-control": "no-store" });
  response.end(request.method === "HEAD" ? undefined : body);
}

async function answerTo(request: IncomingMessage, options: HealthServerOptions): Promise<Answer> {
  if (request.method !== "GET" && request.method !== "HEAD") return text(405, "only GET and HEAD are served here");
  // Probes may carry a query (`/readyz?verbose`); nothing here reads one.
  const [path = ""] = (request.url ?? "").split("?", 1);
  return await (PAGES[path] ?? notFound)(options);
}

const PAGES: Readonly<Record<string, (options: HealthServerOptions) => Answer | Promise<Answer>>> = {
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
      return text(500, "the metrics could not be collected");
    }
  },
};

function notFound(): Answer {
  return text(404, `only ${Object.keys(PAGES).join(", ")} are served here`);
}

/** Asked until it holds for the first time. */
function latched(holds: () => boolean): () => boolean {
  let held = false;
  return () => (held ||= holds());
}

function text(status: number, body: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body: `${body}\n` };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  // Scrapers keep connections open; there is nothing to wait for on them.
  server.closeAllConnections();
  await closed;
}
