/**
 * A webhook that uses only node:https and admits every object. The benchmark compares the project's webhook with this
 * minimal one. The argument is the folder of the certificate. The program prints its port.
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";

const [dir = ""] = process.argv.slice(2);
const file = (name: string): string => readFileSync(path.join(dir, name), "utf8");

/** A regular expression reads the UID, because a parser would need time for the object. */
const UID = /"uid":"([^"]+)"/;

async function admit(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const uid = UID.exec(await text(request))?.[1];
  const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: true } };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(review));
}

const server = createServer({ cert: file("tls.crt"), key: file("tls.key") }, (...pair) => void admit(...pair));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null) process.stdout.write(`${address.port}\n`);
});
