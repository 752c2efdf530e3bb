import jsonPatch, { type Operation } from "fast-json-patch";
import { Registry } from "prom-client";
import { decisionSettings } from "../../../shared/core/context.ts";
import type { SteadyClock } from "../../../shared/core/clock.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { Drain } from "../../../shared/server/stopping.ts";
import { buildWebhook, type WebhookApp } from "../../../webhook/app.ts";
import { createWebhookMetrics } from "../../../webhook/metrics.ts";
import { FakeSource } from "../../webhook/webhook-under-test.ts";
import { at, hashOf, isObject, type Json, withValue } from "../generate/json.ts";
import { fetchedNamespace } from "../generate/requests.ts";
import type { Review } from "../generate/reviews.ts";
import type { Environment } from "../generate/settings.ts";

/** What the webhook shows of one review: its HTTP response, its log line, and the findings that it counted. */
export interface WebhookAnswer {
  readonly status: number;
  readonly body: string;
  readonly log: Json;
  /** The number of findings by `CODE SEVERITY`. */
  readonly findings: ReadonlyMap<string, number>;
}

const FINDINGS = "ack_role_resolver_webhook_findings_total";
/** Later than the end of each pending change. */
const PAUSE_MS = 3_600_000;

/** A clock whose timers fire in the next turn of the event loop. */
class ImpatientClock implements SteadyClock {
  steadyMs = 0;

  steady(): number {
    return this.steadyMs;
  }

  now(): number {
    return 0;
  }

  schedule(_delayMs: number, run: () => void): () => void {
    const timer = setImmediate(run);
    return () => clearImmediate(timer);
  }
}

/** The webhook with an inventory. Its only edges are HTTP, the log, the metrics, and the requests to the API server. */
export class WebhookProgram {
  readonly #app: WebhookApp;
  readonly #source: FakeSource;
  readonly #registry = new Registry();
  readonly #lines: string[] = [];
  readonly #clock = new ImpatientClock();
  #patch: readonly Operation[] = [];

  constructor(objects: readonly Json[], environment: Environment) {
    const settings = readSettings("webhook", { cluster: true, tlsDir: "unused" }, environment);
    this.#source = new FakeSource(objects, settings.runtime);
    const namespaces = new Map(objects.filter((one) => at(one, "kind") === "Namespace")
      .map((one) => [at(one, "metadata", "name"), one]));
    this.#app = buildWebhook({
      decisions: decisionSettings(settings), tls: { cert: "", key: "" },
    }, {
      source: this.#source, clock: this.#clock, drain: new Drain(),
      log: createLogger(
        { name: "webhook", level: "info", destination: { write: (line) => void this.#lines.push(line) } }
      ),
      metrics: createWebhookMetrics(this.#registry),
      fetcherOf: ({ kind }) => async (name) => (
        kind === "Namespace" ? namespaces.get(name) ?? fetchedNamespace(name) : "absent"
      ),
      reviewAccess: async ({ username }, { name, namespace }) => accessOf(`${username} ${name} ${namespace}`),
    });
  }

  async send({ path, body, contentType, isLoaded, follows }: Omit<Review, "name">): Promise<WebhookAnswer> {
    if (follows !== "simultaneous") this.#clock.steadyMs += PAUSE_MS;
    const payload = follows === "patched" ? patchedBody(body, this.#patch) : body;
    const { status } = this.#source;
    if (!isLoaded) this.#source.unload();
    const headers = { "content-type": contentType };
    const response = await this.#app.inject({ method: "POST", url: path, headers, payload });
    this.#source.status = status;
    const [line = "{}"] = this.#lines.splice(0);
    const log: unknown = JSON.parse(line);
    this.#patch = patchIn(response.body);
    return {
      status: response.statusCode, body: response.body, log: isObject(log) ? log : {},
      findings: await this.#countFindings(),
    };
  }

  async close(): Promise<void> {
    await this.#app.close();
  }

  async #countFindings(): Promise<ReadonlyMap<string, number>> {
    const metric = this.#registry.getSingleMetric(FINDINGS);
    const counted = (await metric?.get())?.values ?? [];
    metric?.reset();
    return new Map(counted.map(({ labels, value }) => [`${labels["code"]} ${labels["severity"]}`, value]));
  }
}

/** Returns the JSON patch in the body of an AdmissionReview; [] if it has none. */
export function patchIn(body: string): readonly Operation[] {
  const patch = body.includes('"patch"') ? at(JSON.parse(body), "response", "patch") : undefined;
  return typeof patch === "string" ? JSON.parse(Buffer.from(patch, "base64").toString()) : [];
}

function patchedBody(body: string, patch: readonly Operation[]): string {
  const review: unknown = JSON.parse(body);
  const { newDocument } = jsonPatch.applyPatch(at(review, "request", "object"), patch);
  return JSON.stringify(withValue(review, ["request", "object"], newDocument));
}

/** Most users may use most objects. A few access reviews fail. */
function accessOf(use: string): "allowed" | "denied" | "unknown" {
  const share = Number.parseInt(hashOf(use), 16) / 2 ** 32;
  return share < 0.6 ? "allowed" : share < 0.95 ? "denied" : "unknown";
}
