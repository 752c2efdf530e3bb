import { isDeepStrictEqual } from "node:util";
import { Registry } from "prom-client";
import type { Test } from "tap";
import { mutatingWebhooks, validatingWebhooks } from "../../../manifests/webhooks.ts";
import { FAIL_WHEN_READY_ANNOTATION } from "../../../shared/core/annotation-keys.ts";
import { isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { CertificateManager } from "../../../certs/rotation/manager.ts";
import { createCertificateMetrics } from "../../../certs/rotation/reports.ts";
import { FakeClock } from "../../shared/fake-clock.ts";
import { entryOf, FakeKubernetes } from "./fake-kubernetes.ts";
import { TIMING } from "./stored.ts";

const NAMESPACE = "ack-role-resolver";
export const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/certificates`;
/** The Secret that the Pods of the webhook mount. */
export const SERVING = `/api/v1/namespaces/${NAMESPACE}/secrets/webhook-tls`;
export const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/certificates`;
export const EVENTS = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
export const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
const CONFIGURATION = "/apis/admissionregistration.k8s.io/v1";
export const MUTATING = `${CONFIGURATION}/mutatingwebhookconfigurations/ack-role-resolver`;
export const VALIDATING = `${CONFIGURATION}/validatingwebhookconfigurations/ack-role-resolver`;
const OPTIONS = {
  namespace: NAMESPACE, url: null, ackSystemNamespace: "ack-system", caBundle: null, ackGroups: [],
} as const;
const HOST = `ack-role-resolver-webhook.${NAMESPACE}.svc`;

interface Replica extends Installation {
  readonly manager: CertificateManager;
  /** The log lines. */
  readonly lines: string[];
  readonly registry: Registry;
}

interface Installation {
  readonly api: FakeKubernetes;
  readonly clock: FakeClock;
}

/** Returns an API server with the objects of the printed manifests: the empty Secrets, and the configurations. */
export function installed({ configurations = true } = {}): Installation {
  const clock = new FakeClock();
  const api = new FakeKubernetes(clock);
  for (const path of [SECRET, SERVING]) {
    const metadata = { namespace: NAMESPACE, name: path.split("/").at(-1) };
    api.put(path, { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata });
  }
  if (configurations) installConfigurations(api);
  return { api, clock };
}

/** Returns the certificates that the Pods of the webhook mounted, in order, without repetitions. */
export function served(api: FakeKubernetes): string[] {
  const texts = api.history.filter(({ metadata }) => stringAt(metadata, "name") === "webhook-tls")
    .map((secret) => entryOf(secret, "tls.crt")).filter((text) => text.startsWith("-----BEGIN CERTIFICATE"));
  return texts.filter((text, index) => text !== texts[index - 1]);
}

/** Whether the Pods of the webhook mount exactly the certificate, without a key of a CA. */
export function isServed(api: FakeKubernetes): boolean {
  const keys = ["tls.crt", "tls.key", "ca.crt"];
  const data: unknown = api.object(SERVING)["data"];
  return isJsonObject(data) && isDeepStrictEqual(Object.keys(data).toSorted(), keys.toSorted())
    && keys.every((key) => entryOf(api.object(SERVING), key) === entry(api, key) && entry(api, key) !== "");
}

/** Creates the printed webhook configurations, without a caBundle. */
export function installConfigurations(api: FakeKubernetes): void {
  const printed = [[MUTATING, mutatingWebhooks(OPTIONS)], [VALIDATING, validatingWebhooks(OPTIONS)]] as const;
  for (const [path, { kind, metadata, webhooks }] of printed) api.put(path, { kind, metadata, webhooks });
}

/** Marks the webhooks as the chart does: those of the selectors fail when the webhook is ready. */
export function markWebhooks(api: FakeKubernetes): void {
  for (const [path, verb] of [[MUTATING, "mutate"], [VALIDATING, "validate"]] as const) {
    const annotations = { [FAIL_WHEN_READY_ANNOTATION]: `iamroleselectors.${verb}.ack-role-resolver.io,other` };
    api.change(path, (one) => ({
      ...one, metadata: { ...Object(one["metadata"]), annotations },
      webhooks: webhooksOf(api, path).map((webhook) => ({ ...webhook, failurePolicy: "Ignore" })),
    }));
  }
}

function webhooksOf(api: FakeKubernetes, path: string): readonly JsonObject[] {
  const webhooks = api.object(path)["webhooks"];
  return Array.isArray(webhooks) ? webhooks.filter(isJsonObject) : [];
}

/** Returns the names of the webhooks with the failurePolicy `Fail`. */
export function failing(api: FakeKubernetes): string[] {
  return [MUTATING, VALIDATING].flatMap((path) => webhooksOf(api, path))
    .filter(({ failurePolicy }) => failurePolicy === "Fail").map(({ name }) => String(name));
}

/** Writes an EndpointSlice of a Service with one endpoint, as the endpoint slice controller does. */
export function setEndpoint(api: FakeKubernetes, ready: boolean, service = "ack-role-resolver-webhook"): void {
  const labels = { "kubernetes.io/service-name": service };
  const metadata = { namespace: NAMESPACE, name: `${service}-a1b2c`, labels };
  api.put(`${SLICES}/${metadata.name}`, { metadata, endpoints: [{ conditions: { ready } }] });
}

/** Starts a replica of `certs manage`, without its server. */
export function startReplica(
  t: Test, api: FakeKubernetes, clock: FakeClock, { identity = "first", hosts = [HOST] } = {},
): Replica {
  const [lines, registry]: [string[], Registry] = [[], new Registry()];
  const manager = new CertificateManager({
    api, clock,
    random: () => 0, metrics: createCertificateMetrics(registry),
    secret: { namespace: NAMESPACE, name: "certificates" }, serving: { namespace: NAMESPACE, name: "webhook-tls" },
    log: createLogger({ name: "certificates", destination: { write: (line) => void lines.push(line) } }),
    hosts, configuration: "ack-role-resolver", identity, timing: TIMING,
  });
  manager.start();
  t.teardown(() => manager.close());
  return { api, clock, manager, lines, registry };
}

/** Starts a replica in a new installation. Resolves when the certificate is served and its CA is published. */
export async function running(t: Test): Promise<Replica> {
  const { api, clock } = installed();
  const replica = startReplica(t, api, clock);
  await until(() => isPublished(api) && isServed(api));
  return replica;
}

/** Waits for a condition. Lets real work continue, such as the generation of keys, which takes no time of the clock. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setImmediate(done));
}

/**
 * Advances the clock in small steps until the condition is true. Returns the time that passed, in ms. The time has no
 * upper limit, because the generation of a key takes no time of the clock.
 */
export async function advanceUntil(clock: FakeClock, condition: () => boolean): Promise<number> {
  const startMs = clock.now();
  while (!condition()) {
    clock.advance(STEP_MS);
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise((done) => setImmediate(done));
  }
  return clock.now() - startMs;
}

const STEP_MS = 1_000;
/** The number of turns of the event loop in which a request and its consequences finish, apart from key generation. */
const TURNS = 50;

/** Returns the reasons of the Events, in order. */
export function eventReasons(api: FakeKubernetes): unknown[] {
  return [...api.objects].filter(([path]) => path.startsWith(EVENTS)).map(([, event]) => event["reason"]);
}

/** Returns the caBundles of all webhooks, as PEM, without duplicates. */
export function bundles(api: FakeKubernetes): string[] {
  const webhooks = [MUTATING, VALIDATING].flatMap((path) => api.object(path)["webhooks"] ?? []);
  const texts = webhooks.map((one) => JSON.parse(JSON.stringify(one)).clientConfig.caBundle ?? "");
  return [...new Set(texts.map((text: string) => Buffer.from(text, "base64").toString("utf8")))];
}

export function entry(api: FakeKubernetes, key: string): string {
  return entryOf(api.object(SECRET), key);
}

/** Requests a rotation, as a user does. */
export function annotate(api: FakeKubernetes, rotate: string): void {
  api.change(SECRET, (secret) => ({
    ...secret, metadata: { ...Object(secret["metadata"]), annotations: { "ack-role-resolver.io/rotate": rotate } },
  }));
}

/** Whether the API server trusts exactly the CA in the Secret. */
export function isPublished(api: FakeKubernetes): boolean {
  return entry(api, "ca.crt") !== "" && bundles(api).join("") === entry(api, "ca.crt");
}
