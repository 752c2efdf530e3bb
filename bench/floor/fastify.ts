/**
 * A floor: a fastify server that does the same input and output as a server of this project, and nothing else. The
 * argument is a Floor as JSON. The program prints its port.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import fastify, { type FastifyInstance } from "fastify";
import { destination } from "pino";
import { stringAt } from "../../shared/formats/json.ts";
import { systemClock } from "../../shared/core/clock.ts";
import { TokenCheck } from "../../sidecar/http/request-check.ts";
import { readSignedHeaders, tokenDigest, verifySignature } from "../../sidecar/sts/signature.ts";

export interface Floor {
  /** The folder of the certificate. Default: without TLS. */
  readonly tlsDir?: string;
  /** The token of requests for credentials. */
  readonly token?: string;
  /** The key that signs the requests to /sts. */
  readonly signer?: { readonly accessKeyID: string; readonly secretAccessKey: string; readonly sessionToken: string };
  /** The body of responses, or of the start of the responses to reviews, which a space fills up to `bytes`. */
  readonly body?: string;
  readonly bytes: number;
  /** The bytes of the log for each request. */
  readonly logBytes: number;
}

const [argument = "{}"] = process.argv.slice(2);
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the benchmark passes a Floor
const floor = JSON.parse(argument) as Floor;
const { tlsDir, token, signer, logBytes } = floor;
const body = Buffer.from((floor.body ?? "").padEnd(floor.bytes));
/** Writes in batches, which is the cheapest way to write the same bytes. */
const log = destination({ dest: 2, sync: false, minLength: 4_096 });
const line = `${"x".repeat(Math.max(0, logBytes - 1))}\n`;

function tls(dir: string): { readonly cert: Buffer; readonly key: Buffer } {
  return { cert: readFileSync(path.join(dir, "tls.crt")), key: readFileSync(path.join(dir, "tls.key")) };
}

const app = (tlsDir === undefined ? fastify() : fastify({ https: tls(tlsDir) })) as FastifyInstance;
if (logBytes > 0) app.addHook("onResponse", (_request, _reply, done) => { log.write(line); done(); });
if (token !== undefined) {
  const check = new TokenCheck(token, systemClock);
  app.get("/v1/credentials/selectors/:name", (request, reply) => {
    if (!check.accepts(request.headers.authorization ?? "")) return reply.code(401).send();
    return reply.header("content-type", "application/json").header("cache-control", "no-store").send(body);
  });
} else if (signer !== undefined) {
  const { secretAccessKey, sessionToken } = signer;
  const known = { secretAccessKey, tokenDigest: tokenDigest(sessionToken), expirationMs: null };
  const find = (id: string): typeof known | undefined => (id === signer.accessKeyID ? known : undefined);
  const type = "application/x-www-form-urlencoded";
  app.addContentTypeParser(type, { parseAs: "buffer" }, (_request, form, done) => done(null, form));
  app.post<{ Body: Buffer }>("/sts", async (request, reply) => {
    const signed = readSignedHeaders(request.raw, find);
    await verifySignature(request.raw, request.body, signed, { nowMs: Date.now(), skewMs: 300_000 });
    return reply.header("content-type", "text/xml").send(body);
  });
} else {
  for (const route of ["/mutate/resources", "/validate/resources", "/validate/iamroleselectors"]) {
    app.post(route, (request, reply) => {
      const uid = stringAt(request.body, "request", "uid");
      const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: true } };
      const answer = Buffer.from(JSON.stringify(review).padEnd(floor.bytes));
      return reply.header("content-type", "application/json").send(answer);
    });
  }
}
await app.listen({ host: "127.0.0.1", port: 0 });
const address = app.server.address();
if (typeof address === "object" && address !== null) process.stdout.write(`${address.port}\n`);
