import { once } from "node:events";
import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { buffer } from "node:stream/consumers";
import type { Test } from "tap";
import { makeCertificates } from "../../../certs/make.ts";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import type { InstalledWheels } from "../../programs/wheels.ts";
import { startMoto } from "../../real/sdks/moto.ts";

/** STS for Pods. */
export interface AWS {
  /** The HTTPS URL, on an address that Pods can connect to. */
  readonly url: string;
  /** The PEM certificate of the CA that signed the certificate of the URL. */
  readonly ca: string;
}

/**
 * Starts moto with TLS, because the sidecar rejects an STS endpoint without TLS unless it is on loopback. Moto does not
 * verify signatures and tokens.
 */
export async function startAWS(t: Test, wheels: InstalledWheels, hostAddress: string): Promise<AWS> {
  return await startTLS(t, await startMoto(t, wheels), hostAddress);
}

/** The STS of `startTLS` rejects roles with this name. */
export const REJECTED_ROLE = "rejected";
const REJECTION = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>`
  + "<Code>AccessDenied</Code><Message>not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>";

/**
 * Starts an HTTPS server on an address that forwards all requests to the URL of an HTTP server, except AssumeRole of
 * REJECTED_ROLE.
 */
export async function startTLS(t: Pick<Test, "teardown">, target: string, address: string): Promise<AWS> {
  const { ca, cert, key } = await makeCertificates({ hosts: [address], now: new Date() });
  const server = createServer({ cert, key }, (request, response) => {
    forward(request, response, target).catch(() => response.destroy());
  });
  server.listen(0, address);
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://${address}:${boundAddress(server).port}`, ca };
}

async function forward(request: IncomingMessage, response: ServerResponse, target: string): Promise<void> {
  const { method, headers } = request;
  const body = await buffer(request);
  if (body.includes(`%3Arole%2F${REJECTED_ROLE}`)) {
    response.writeHead(403, { "content-type": "text/xml" }).end(REJECTION);
    return;
  }
  const forwarded = httpRequest(new URL(request.url ?? "/", target), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  forwarded.once("error", () => response.destroy()).end(body);
}
