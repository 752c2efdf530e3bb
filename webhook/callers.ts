import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerOptions } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ResolverError } from "../shared/formats/errors.ts";
import { LIMITS } from "../shared/core/limits.ts";
import type { SteadyClock } from "../shared/core/clock.ts";
import { limitConnections } from "../shared/server/connection-limit.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { respondError } from "./respond.ts";
import { sendJSON } from "./route.ts";

/** The client that may send reviews: the API server. */
export interface AllowedClient {
  /** The path of --client-ca-file. */
  readonly file: string;
  /** The PEM certificates that the file contained when the webhook started. */
  readonly ca: string;
  /** The common name of --client-name. */
  readonly name: string;
}

interface ClientSettings {
  readonly clientCaFile: string | null;
  readonly clientName: string | null;
}

/**
 * Returns the client of --client-ca-file and --client-name, or null if the flags are not set. Rejects with
 * ERR_CONFIG_TLS_MISSING or ERR_CONFIG_TLS_INVALID.
 */
export async function readAllowedClient({ clientCaFile, clientName }: ClientSettings): Promise<AllowedClient | null> {
  if (clientCaFile === null || clientName === null) return null;
  return { file: clientCaFile, ca: await readClientCA(clientCaFile), name: clientName };
}

/** Returns the PEM certificates in the file. Rejects with ERR_CONFIG_TLS_MISSING or ERR_CONFIG_TLS_INVALID. */
export async function readClientCA(file: string): Promise<string> {
  const prefix = `--client-ca-file: ${file}`;
  let ca: string;
  try {
    ca = await readFile(file, "utf8");
  } catch (cause) {
    throw new ResolverError("ERR_CONFIG_TLS_MISSING", `${prefix} cannot be read`, { cause });
  }
  try {
    if (!new X509Certificate(ca).ca) throw new Error("not a CA certificate");
  } catch (cause) {
    throw new ResolverError("ERR_CONFIG_TLS_INVALID", `${prefix} is not the PEM certificate of a CA`, { cause });
  }
  return ca;
}

/** Returns the TLS options with which the handshake fails if the client has no certificate of the CA. */
export function clientOptions(client: AllowedClient | null): Pick<ServerOptions, "ca" | "requestCert"> {
  return client === null ? {} : { ca: client.ca, requestCert: true };
}

interface CallerPorts {
  readonly client: AllowedClient | null;
  readonly clock: Pick<SteadyClock, "schedule" | "steady">;
  readonly metrics: WebhookMetrics;
}

const CONNECTIONS = {
  served: LIMITS.webhookConnections.value,
  accepted: LIMITS.webhookAccepted.value,
  responseMs: LIMITS.webhookResponse.value,
  replacesIncomplete: true,
} as const;

type Rejection = "client" | "connections";

/**
 * Accepts reviews only from the allowed client, and limits the number of connections. Rejects a request before its body
 * is read. At the limit, first closes connections that have not sent their whole body yet, and then rejects requests.
 */
export function limitCallers(app: FastifyInstance, { client, clock, metrics }: CallerPorts): void {
  const isExcess = limitConnections(app.server, CONNECTIONS, clock);
  app.addHook("onRequest", (request, reply, done) => {
    const { socket } = request.raw;
    if (isExcess(socket)) return reject(reply, "connections", metrics);
    if (client !== null && !hasName(socket, client.name)) return reject(reply, "client", metrics);
    done();
  });
}

/** Whether the client certificate has the common name. The TLS handshake has already verified the certificate. */
function hasName(socket: Socket, name: string): boolean {
  return socket instanceof TLSSocket && socket.authorized && socket.getPeerCertificate().subject?.CN === name;
}

function reject(reply: FastifyReply, reason: Rejection, metrics: WebhookMetrics): void {
  metrics.rejectedCalls.inc({ reason });
  const error = reason === "client"
    ? new ResolverError("ERR_REQUEST_CLIENT", "The common name of the client certificate is not --client-name.")
    : new ResolverError("ERR_REQUEST_CONNECTIONS", "The webhook has reached its limit of requests in flight.");
  if (reason !== "client") reply.header("retry-after", "1");
  sendJSON(reply.code(error.status).header("connection", "close"), respondError(error, error.status));
}
