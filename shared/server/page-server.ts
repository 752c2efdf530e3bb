import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type SteadyClock, systemClock } from "../core/clock.ts";
import { ResolverError } from "../formats/errors.ts";
import {
  boundAddress, formatListenAddress, isLoopbackHost, parseListenAddress, startListening,
} from "./listen-address.ts";

export interface PageServerOptions {
  readonly flag: string;
  /** A loopback address in the form `HOST:PORT`. Port 0 selects a free port. */
  readonly listen: string;
  /** Returns the document. */
  readonly page: () => Promise<string>;
  /** Returns the data of the document as JSON. */
  readonly data: () => Promise<string>;
  /** The minimum time between two notifications of the pages, in ms. Default: a second. */
  readonly notifyMs?: number;
  /** Default: the system clock. */
  readonly clock?: SteadyClock;
}

export interface PageServer {
  /** The listen address in the form `HOST:PORT`, with the actual port. */
  readonly address: string;
  /** Tells the open pages that the data has changed. */
  notify(): void;
  close(): Promise<void>;
}

const SERVER_OPTIONS = {
  maxHeaderSize: 8 * 1024, headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000,
} as const;
/** A browser tab uses two connections. */
const MAX_CONNECTIONS = 64;
/** Proxies end a connection that is silent for long, and a page notices that its server is gone. */
const HEARTBEAT_MS = 15_000;
/** A change of a cluster often consists of many events. */
const NOTIFY_MS = 1_000;

/**
 * Serves a page that only reads, on loopback: `/`, `/data.json`, and `/events`, which are server-sent events. Rejects
 * requests with another host than loopback: otherwise, a website whose name resolves to 127.0.0.1 could read the data.
 * Rejects with ERR_CONFIG_ADDRESS or ERR_CONFIG_PORT_IN_USE.
 */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { flag, clock = systemClock, notifyMs = NOTIFY_MS } = options;
  const address = parseListenAddress(options.listen, flag);
  if (!isLoopbackHost(address.host)) {
    const message = `${flag}: ${options.listen} is not a loopback address; the page has no login, so use `
      + "127.0.0.1:PORT and kubectl port-forward";
    throw new ResolverError("ERR_CONFIG_ADDRESS", message);
  }
  const events = new EventStreams(clock, notifyMs);
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    void respond(request, response, { ...options, events });
  });
  server.maxConnections = MAX_CONNECTIONS;
  await startListening(flag, address, async () => {
    server.listen(address.port, address.host);
    await once(server, "listening");
  });
  return {
    address: formatListenAddress(boundAddress(server)), notify: () => events.notify(),
    close: () => closeServer(server, events),
  };
}

interface Routes extends Pick<PageServerOptions, "page" | "data"> {
  readonly events: EventStreams;
}

async function respond(
  { method, url = "", headers }: IncomingMessage, response: ServerResponse, { page, data, events }: Routes,
): Promise<void> {
  const [path] = url.split("?", 1);
  if (!isLoopback(headers.host)) send(response, 403, "text/plain", "the host is not a loopback address\n");
  else if (method !== "GET") send(response, 405, "text/plain", "only GET is supported\n");
  else if (path === "/events") events.add(response);
  else if (path === "/") await sendResult(response, "text/html", page);
  else if (path === "/data.json") await sendResult(response, "application/json", data);
  else send(response, 404, "text/plain", "not found; the valid paths are /, /data.json and /events\n");
}

function isLoopback(host = ""): boolean {
  const [, name = ""] = /^\[?(.*?)\]?(?::\d+)?$/.exec(host) ?? [];
  return isLoopbackHost(name);
}

async function sendResult(response: ServerResponse, type: string, read: () => Promise<string>): Promise<void> {
  try {
    send(response, 200, type, await read());
  } catch {
    send(response, 503, "text/plain", "the data is not available; the log of the server has the reason\n");
  }
}

/** The document has a policy of its own, which is stricter but cannot forbid frames. */
const HEADERS = {
  "cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
  "content-security-policy": "frame-ancestors 'none'", "cross-origin-resource-policy": "same-origin",
} as const;

function send(response: ServerResponse, status: number, type: string, body: string): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...HEADERS, "content-type": `${type}; charset=utf-8`, "content-length": bytes.length });
  response.end(bytes);
}

/** The open responses of `/events`. */
class EventStreams {
  readonly #open = new Set<ServerResponse>();
  readonly #clock: SteadyClock;
  readonly #notifyMs: number;
  #heartbeat: (() => void) | null = null;
  #notification: (() => void) | null = null;

  constructor(clock: SteadyClock, notifyMs: number) {
    this.#clock = clock;
    this.#notifyMs = notifyMs;
  }

  add(response: ServerResponse): void {
    response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
    response.write(": open\n\n");
    this.#open.add(response);
    response.once("close", () => void this.#open.delete(response));
    this.#heartbeat ??= this.#clock.schedule(HEARTBEAT_MS, () => this.#beat());
  }

  notify(): void {
    this.#notification ??= this.#clock.schedule(this.#notifyMs, () => {
      this.#notification = null;
      for (const response of this.#open) response.write("data: changed\n\n");
    });
  }

  #beat(): void {
    this.#heartbeat = null;
    if (this.#open.size === 0) return;
    for (const response of this.#open) response.write(": alive\n\n");
    this.#heartbeat = this.#clock.schedule(HEARTBEAT_MS, () => this.#beat());
  }

  close(): void {
    this.#heartbeat?.();
    this.#notification?.();
  }
}

async function closeServer(server: Server, events: EventStreams): Promise<void> {
  events.close();
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
