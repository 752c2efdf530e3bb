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

/** Counts responses, and how long they took. */
export class ResponseMetrics<Label extends string> {
  readonly #requests: Counter<Label | "path">;
  readonly #duration: Histogram<"path">;

  constructor(registry: Registry, { prefix, labelNames, help, buckets }: ResponseMetricsOptions<Label>) {
    const registers = [registry];
    this.#requests = new Counter({
      registers, name: `${prefix}requests_total`, help: help.requests, labelNames: ["path", ...labelNames],
    });
    this.#duration = new Histogram({
      registers, name: `${prefix}request_duration_seconds`, help: help.duration, labelNames: ["path"], buckets,
    });
  }

  /** `seconds` is null for a request that could not be parsed, and so has no path. */
  observe(labels: Labels<Label>, seconds: number | null): void {
    this.#requests.inc(labels);
    if (seconds !== null) this.#duration.observe({ path: labels.path }, seconds);
  }
}
