import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { Agent as SecureAgent, request as secureRequest, type RequestOptions } from "node:https";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { storeCertificates } from "../certs/certificate-files.ts";
import { makeCertificates } from "../certs/make.ts";
import { startSTSEmulator } from "../cli/local/sts-emulator/emulator.ts";
import { createLogger } from "../shared/server/logger.ts";
import { readSettings } from "../shared/server/read-settings.ts";
import { ManifestSource } from "../shared/sources/file-source.ts";
import { runSidecar } from "../sidecar/main.ts";
import { reviewOf } from "../test/webhook/reviews.ts";
import { runWebhook } from "../webhook/main.ts";

// Prints which source files a review of a selector and a credential request enter, after the first requests.

const ROOT = `${path.join(import.meta.dirname, "..")}/`;
/** The STS emulator runs in this process too, and counts as STS. */
const OTHER = /^(?:cli\/local|bench|test|node_modules)\//;
const WARM_UP = 20;
/** Timers run too. A file counts if each of the measured requests enters it. */
const MEASURED = 5;
const TOKEN = "bench-token-0123456789";
const BASE = {
  accessKeyID: "ASIABASE", secretAccessKey: "base-secret", sessionToken: "base-session",
  arn: "arn:aws:sts::999988887777:assumed-role/ack/base",
};
const SELECTORS = Array.from({ length: WARM_UP + MEASURED }, (_, i) => ({
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector",
  metadata: { name: `s-${i}`, uid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`, resourceVersion: "1" },
  spec: { arn: `arn:aws:iam::111122223333:role/team-${i}`, namespaceSelector: { names: [`team-${i}`] } },
}));

/** Returns the source files, below the root, whose functions ran during each of the calls. */
async function enteredFiles(send: (i: number) => Promise<void>): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const runs: ReadonlySet<string>[] = [];
  for (const [i] of SELECTORS.entries()) {
    // oxlint-disable no-await-in-loop -- requests are sequential
    await session.post("Profiler.takePreciseCoverage");
    await send(i);
    const { result } = await session.post("Profiler.takePreciseCoverage");
    // oxlint-enable no-await-in-loop
    const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)));
    runs.push(new Set(ran.map(({ url }) => (url.startsWith("file:") ? fileURLToPath(url) : url))));
  }
  session.disconnect();
  const [first = new Set<string>(), ...others] = runs.slice(WARM_UP);
  const always = [...first].filter((file) => others.every((run) => run.has(file)) && file.startsWith(ROOT));
  return always.map((file) => file.slice(ROOT.length)).filter((file) => !OTHER.test(file)).toSorted();
}

/** Sends a request, and rejects unless the response contains the text. */
async function exchange(options: RequestOptions, body: string, expected: string): Promise<void> {
  const open = options.agent instanceof SecureAgent ? secureRequest : request;
  const answer = await new Promise<string>((resolve, reject) => {
    open(options, (response) => void text(response).then(resolve, reject)).on("error", reject).end(body);
  });
  if (!answer.includes(expected)) throw new Error(`the response does not contain ${expected}: ${answer}`);
}

function print(title: string, files: readonly string[]): void {
  process.stdout.write([`${title}: ${files.length} files`, ...files.map((file) => `  ${file}`), ""].join("\n"));
}

const folder = await mkdtemp(path.join(tmpdir(), "entered-files-"));
const manifests = path.join(folder, "selectors.json");
await writeFile(manifests, JSON.stringify({ apiVersion: "v1", kind: "List", items: SELECTORS }));
await writeFile(path.join(folder, "token"), TOKEN, { mode: 0o400 });
const { ca, ...certificates } = await makeCertificates({ hosts: ["127.0.0.1"], now: new Date() });
await storeCertificates(folder, { ca, ...certificates });
const source = new ManifestSource([manifests], { runtime: "ack" });
await source.start();
const listen = { listen: "127.0.0.1:0", healthListen: "127.0.0.1:0" };
const log = createLogger({ name: "bench", destination: { write: () => undefined } });

const webhookFlags = { from: [manifests], tlsDir: folder, ...listen };
const webhook = await runWebhook(readSettings("webhook", webhookFlags, {}), { source, log });
const agent = new SecureAgent({ keepAlive: true, ca });
const secure = { agent, host: "127.0.0.1", port: webhook.address.split(":")[1] };
const post = { ...secure, method: "POST", headers: { "content-type": "application/json" } };
print("a review of a selector", await enteredFiles(async (i) => {
  const oldObject = SELECTORS[i] ?? {};
  const spec = { ...SELECTORS[i]?.spec, resourceTypeSelector: [{ group: "s3.services.k8s.aws", kind: "Bucket" }] };
  const review = reviewOf({ ...oldObject, spec }, { operation: "UPDATE", oldObject, namespace: "" });
  await exchange({ ...post, path: "/validate/iamroleselectors?timeout=10s" }, JSON.stringify(review), '"allowed":true');
}));

const sts = await startSTSEmulator({ baseCredentials: [BASE] });
const sidecarFlags = {
  from: [manifests], group: ["s3.services.k8s.aws"], tokenFile: path.join(folder, "token"), stsEndpoint: sts.url,
};
const sidecarPorts = { source, log, environment: {}, baseProvider: async () => ({ ...BASE, expirationMs: null }) };
const sidecar = await runSidecar(readSettings("sidecar", { ...sidecarFlags, ...listen }, {}), sidecarPorts);
const get = { agent: new Agent({ keepAlive: true }), host: "127.0.0.1", port: sidecar.address.split(":")[1] };
const credentials = (i: number): Promise<void> => exchange(
  { ...get, headers: { authorization: TOKEN }, path: `/v1/credentials/selectors/s-${i}` }, "", "SecretAccessKey",
);
print("a credential request that calls STS", await enteredFiles(credentials));
await enteredFiles(credentials);
print("a credential request, answered from the cache", await enteredFiles(credentials));

for (const one of [agent, get.agent]) one.destroy();
await Promise.all([webhook.close(), sidecar.close(), sts.close(), source.stop()]);
await rm(folder, { recursive: true });
