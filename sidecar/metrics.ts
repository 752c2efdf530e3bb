import { Counter, Gauge, type Registry } from "prom-client";
import { METRIC_PREFIX } from "../shared/server/metrics.ts";

/** The sidecar's metrics. Every label has a bounded set of values. */
export interface SidecarMetrics {
  /** `path` is the route's pattern, never the path that was asked. */
  request(path: string, status: number): void;
  lookup(result: "hit" | "miss"): void;
  /** `code` is `ok`, or STS's own code where it is a documented one. */
  stsCall(action: string, code: string): void;
  accountRefused(): void;
}

export interface MetricPorts {
  readonly registry: Registry;
  readonly now: () => number;
  /** The sessions that are kept, at most as many as the cache holds. */
  readonly expirations: () => Iterable<{ readonly role: string; readonly expirationMs: number | null }>;
}

const PREFIX = `${METRIC_PREFIX}sidecar_`;

export function createSidecarMetrics({ registry, now, expirations }: MetricPorts): SidecarMetrics {
  const registers = [registry];
  const requests = new Counter({ name: `${PREFIX}requests_total`, help: "Answers by path and HTTP status.", labelNames: ["path", "code"], registers });
  const lookups = new Counter({ name: `${PREFIX}cache_lookups_total`, help: "Lookups of role sessions by result: hit or miss.", labelNames: ["result"], registers });
  const calls = new Counter({ name: `${PREFIX}sts_calls_total`, help: "Calls of STS by action and outcome.", labelNames: ["action", "code"], registers });
  const accounts = new Counter({ name: `${PREFIX}account_refusals_total`, help: "Roles refused for being in another account than the first answer's.", registers });
  registry.registerMetric(new Gauge({
    name: `${PREFIX}credentials_expiry_seconds`,
    help: "Seconds until the credentials that are kept expire, by role.",
    labelNames: ["role"],
    registers: [],
    collect(): void {
      this.reset();
      for (const { role, expirationMs } of expirations()) {
        if (expirationMs !== null) this.set({ role }, Math.round((expirationMs - now()) / 1000));
      }
    },
  }));
  return {
    request: (path, status) => requests.inc({ path, code: status }),
    lookup: (result) => lookups.inc({ result }),
    stsCall: (action, code) => calls.inc({ action, code }),
    accountRefused: () => accounts.inc(),
  };
}
