/**
 * A tenant that sends large objects to the API server, 4 at once, until it is killed. The arguments are the URL of the
 * API server, the file of its CA, a token and a namespace. The program prints a line for each response. It has its own
 * process, so that its work does not delay the measured requests.
 */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import process from "node:process";

const AT_ONCE = 4;
const [server = "", caFile = "", token = "", namespace = ""] = process.argv.slice(2);
const url = new URL(`/apis/s3.services.k8s.aws/v1alpha1/namespaces/${namespace}/buckets?dryRun=All`, server);
const agent = new Agent({ keepAlive: true, ca: readFileSync(caFile) });
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

/** 1.3 MB of a character that the API server sends to webhooks as 6 bytes, and 20,000 fields. */
const BODIES = [
  { policy: "<".repeat(1_300_000) },
  Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i])),
].map((spec) => Buffer.from(JSON.stringify({
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "large" }, spec,
})));

function send(i: number): void {
  const next = (): void => {
    process.stdout.write("\n");
    send(i + 1);
  };
  const sent = request(url, { method: "POST", agent, headers }, (response) => response.resume().once("end", next));
  sent.once("error", next).end(BODIES[i % BODIES.length]);
}

for (let worker = 0; worker < AT_ONCE; worker++) send(worker);
