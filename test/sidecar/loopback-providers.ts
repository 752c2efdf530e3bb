import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Test } from "tap";
import { sessionARN } from "../../shared/formats/arn.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";

/** A request that a fake server received. */
interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface Fake {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Returns the number of connections that clients have opened. */
  readonly sockets: () => number;
}

interface FakeResponse {
  readonly status: number;
  readonly body: string;
  /** Default: the connection is closed. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns the response to the nth request, counted from 1. */
type Answer = (request: ReceivedRequest, n: number) => FakeResponse;

const XMLNS = "https://sts.amazonaws.com/doc/2011-06-15/";

/** Returns an error response of STS. */
export function stsError(code: string, message: string): string {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
  return `<ErrorResponse xmlns="${XMLNS}">${error}</ErrorResponse>`;
}

/** Returns a response of STS that contains the result of the action. */
export function stsResult(action: string, result: string): string {
  return `<${action}Response xmlns="${XMLNS}"><${action}Result>${result}</${action}Result></${action}Response>`;
}

/** Starts a server on a free port of 127.0.0.1. The server stops when the test ends. */
export async function startFake(t: Test, answer: Answer): Promise<Fake> {
  const requests: ReceivedRequest[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts = await request.setEncoding("utf8").toArray();
    requests.push({
      method: request.method ?? "",
      path: request.url ?? "",
      body: parts.join(""),
      headers: request.headers,
    });
    const { status, body, headers = CLOSED } = answer(requests[requests.length - 1] ?? NO_REQUEST, requests.length);
    response.writeHead(status, headers).end(body);
  };
  const server = createServer((request, response) => void serve(request, response));
  let sockets = 0;
  server.on("connection", () => void (sockets += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${boundAddress(server).port}`, requests, sockets: () => sockets };
}

const CLOSED = { connection: "close", "x-aws-ec2-metadata-token-ttl-seconds": "21600" };
const NO_REQUEST: ReceivedRequest = { method: "", path: "", body: "", headers: {} };
export const EXPIRES = "2099-01-01T00:00:00Z";

/**
 * Responds like the container credentials endpoint. The access key ID contains `n`.
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
 */
export const containerAnswer: Answer = (_, n) => ({
  status: 200,
  body: JSON.stringify({ AccessKeyId: `ASIACONTAINER${n}`, SecretAccessKey: "s", Token: "t", Expiration: EXPIRES }),
});

/**
 * Responds like IMDSv2 with a session token (PUT), the name of the role, or the credentials of the role.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
 */
export const metadataAnswer: Answer = ({ method, path, headers }, n) => {
  if (method === "PUT" && path === "/latest/api/token") return { status: 200, body: "imds-token" };
  if (headers["x-aws-ec2-metadata-token"] !== "imds-token") return { status: 401, body: "" };
  if (path.endsWith("/security-credentials/")) return { status: 200, body: "node-role" };
  const session = {
    Code: "Success",
    Type: "AWS-HMAC",
    LastUpdated: "2026-01-01T00:00:00Z",
    AccessKeyId: `ASIAIMDS${n}`,
    SecretAccessKey: "s",
    Token: "t",
  };
  return path.endsWith("/node-role")
    ? { status: 200, body: JSON.stringify({ ...session, Expiration: EXPIRES }) }
    : { status: 404, body: "" };
};

/** Responds like STS to AssumeRole and AssumeRoleWithWebIdentity, for any caller. */
export const stsAnswer: Answer = ({ body }, n) => {
  const form = new URLSearchParams(body);
  const [action = "", role = "", name = ""] = [form.get("Action"), form.get("RoleArn"), form.get("RoleSessionName")]
    .map(String);
  const keys = `<AccessKeyId>ASIASTS${n}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>`;
  const token = `<SessionToken>t</SessionToken><Expiration>${EXPIRES}</Expiration>`;
  const user = `<Arn>${sessionARN(role, name)}</Arn><AssumedRoleId>AROA:${name}</AssumedRoleId>`;
  const session = `<Credentials>${keys}${token}</Credentials><AssumedRoleUser>${user}</AssumedRoleUser>`;
  return { status: 200, body: stsResult(action, session) };
};
