import { once } from "node:events";
import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { buffer } from "node:stream/consumers";
import type { Test } from "tap";
import { makeCertificates } from "../../../certs/make.ts";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import type { InstalledWheels } from "../../programs/wheels.ts";
import { startMoto } from "../../real/sdks/moto.ts";
import { send } from "../../loopback-request.ts";

/** STS and S3 for Pods. */
export interface AWS {
  /** The HTTPS URL of all services, on an address that Pods can connect to. */
  readonly url: string;
  /** The PEM certificate of the CA that signed the certificate of the URL. */
  readonly ca: string;
  /** Returns the names of the buckets of an account. */
  buckets(account: string): Promise<readonly string[]>;
}

/**
 * Starts moto with TLS, because the sidecar rejects an STS endpoint without TLS unless it is on loopback. Moto creates
 * a bucket in the account of the credentials. Moto does not verify signatures and tokens.
 */
export async function startAWS(t: Test, wheels: InstalledWheels, hostAddress: string): Promise<AWS> {
  const moto = await startMoto(t, wheels);
  return { ...(await startTLS(t, moto, hostAddress)), buckets: async (account) => bucketsOf(moto, account) };
}

/** The STS of `startTLS` rejects roles with this name. */
export const REJECTED_ROLE = "rejected";
const REJECTION = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>`
  + "<Code>AccessDenied</Code><Message>not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>";

/**
 * Starts an HTTPS server on an address that forwards all requests to the URL of an HTTP server, except AssumeRole of
 * REJECTED_ROLE.
 */
export async function startTLS(
  t: Pick<Test, "teardown">, target: string, address: string,
): Promise<Pick<AWS, "url" | "ca">> {
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

async function bucketsOf(moto: string, account: string): Promise<readonly string[]> {
  const role = `arn:aws:iam::${account}:role/reader`;
  const form = { Action: "AssumeRole", Version: "2011-06-15", RoleArn: role, RoleSessionName: "test" };
  const body = new URLSearchParams(form).toString();
  const session = await send(moto, { method: "POST", headers: authorization("ANY", "sts"), body });
  const [, accessKeyID = ""] = /<AccessKeyId>(\w+)</u.exec(session.body) ?? [];
  const { body: xml } = await send(`${moto}/`, { headers: authorization(accessKeyID, "s3") });
  return [...xml.matchAll(/<Bucket><Name>([^<]+)</gu)].map(([, name = ""]) => name);
}

/** The headers by which moto finds the service and the account of a request. */
function authorization(accessKeyID: string, service: string): Readonly<Record<string, string>> {
  const credential = `${accessKeyID}/20260101/eu-west-1/${service}/aws4_request`;
  return {
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=host, Signature=0`,
    "content-type": "application/x-www-form-urlencoded",
  };
}
