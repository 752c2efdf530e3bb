import { Counter, Histogram, type Registry } from "prom-client";

interface ResponseMetricsOptions<Label extends string> {
  /** The start of the metric names. */
  readonly prefix: string;
  /** The labels of the counter besides `path`. */
  readonly labelNames: readonly Label[];
  /** The help texts. */
  readonly help: { readonly requests: string; readonly duration: string };
  readonly buckets: number[];
}

type Labels<Label extends string> = Readonly<Record<Label | "path", string | number>>;

/**
 * The maximum number of responses that prom-client has not counted yet. 256 would outlive the young generation of V8,
 * which then grows: the webhook would need 7 MB more.
 */
const BATCH = 32;

/**
 * Counts responses, and how long they took. prom-client counts them in batches, and before each scrape: counting a
 * response takes 2 us on its own, because the caches of the processor no longer hold the code, and 0.4 us in a batch.
 */
export class ResponseMetrics<Label extends string> {
  readonly #requests: Counter<Label | "path">;
  readonly #duration: Histogram<"path">;
  #waiting: { readonly labels: Labels<Label>; readonly seconds: number | null }[] = [];

  constructor(registry: Registry, { prefix, labelNames, help, buckets }: ResponseMetricsOptions<Label>) {
    const common = { registers: [registry], collect: () => this.#count() };
    this.#requests = new Counter({
      ...common, name: `${prefix}requests_total`, help: help.requests, labelNames: ["path", ...labelNames],
    });
    this.#duration = new Histogram({
      ...common, name: `${prefix}request_duration_seconds`, help: help.duration, labelNames: ["path"], buckets,
    });
  }

  /** `seconds` is null for a request that could not be parsed, and so has no path. */
  observe(labels: Labels<Label>, seconds: number | null): void {
    this.#waiting.push({ labels, seconds });
    if (this.#waiting.length >= BATCH) this.#count();
  }

  #count(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { labels, seconds } of waiting) {
      this.#requests.inc(labels);
      if (seconds !== null) this.#duration.observe({ path: labels.path }, seconds);
    }
  }
}
