import { METRIC_PREFIX } from "../../shared/server/metrics.ts";

/** Returns the PromQL selector of a metric. `name` excludes the prefix of all metrics. */
export function metric(name: string, labels = ""): string {
  return `${METRIC_PREFIX}${name}${labels === "" ? "" : `{${labels}}`}`;
}

export function rate(name: string): string {
  return `rate(${metric(name)}[5m])`;
}

/** Returns the expression of a quantile, such as 0.99, of all series of a histogram. */
export function quantile(share: number, histogram: string): string {
  return `histogram_quantile(${share}, sum by (le) (${rate(`${histogram}_bucket`)}))`;
}
