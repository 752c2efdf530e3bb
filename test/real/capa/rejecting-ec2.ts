import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { Test } from "tap";

/** The public parts of the credentials that signed a request. */
export interface Signer {
  readonly accessKeyID: string;
  readonly sessionToken: string;
}

/** An EC2 that rejects every request, so that no cluster is created. */
interface RejectingEC2 {
  readonly url: string;
  /** Who signed the last request for the VPC of each Cluster, by the name of the Cluster. */
  readonly signers: ReadonlyMap<string, Signer>;
}

const REJECTION = "<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>";

/** Starts the server on a free loopback port until the test ends. */
export async function startRejectingEC2(t: Test): Promise<RejectingEC2> {
  const signers = new Map<string, Signer>();
  const server = createServer((request, response) => {
    void recorded(request, signers).then(() => response.writeHead(403).end(REJECTION));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return { url: `http://127.0.0.1:${address.port}`, signers };
}

async function recorded(request: IncomingMessage, signers: Map<string, Signer>): Promise<void> {
  const form = new URLSearchParams((await request.setEncoding("utf8").toArray()).join(""));
  // CAPA finds the VPC of a cluster by this name.
  const [, cluster] = [...form.values()].map((value) => /^(.+)-vpc$/.exec(value)).find((one) => one !== null) ?? [];
  const [, accessKeyID] = /Credential=([^/]+)\//.exec(request.headers.authorization ?? "") ?? [];
  if (cluster === undefined || accessKeyID === undefined) return;
  signers.set(cluster, { accessKeyID, sessionToken: String(request.headers["x-amz-security-token"] ?? "") });
}
