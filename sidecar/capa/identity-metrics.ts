import type { Counter, Registry } from "prom-client";
import { registerValue } from "../../shared/server/metrics.ts";
import { sidecarCounter } from "../metrics.ts";

interface IdentityMetrics {
  /** `result` is `ok`, `invalid` or `failed`. `invalid`: the Secret contains no valid access key. */
  readonly secretReads: Counter<"result">;
  /** `result` is `ok`, `rejected` or `failed`. `rejected`: the ServiceAccount or the Role is missing. */
  readonly tokenRequests: Counter<"result">;
}

/** Registers the metrics of CAPA identities. `refused` contains the identities whose role STS rejected. */
export function createIdentityMetrics(registry: Registry, refused: { readonly size: number }): IdentityMetrics {
  const gauge = {
    name: "sidecar_refused_identities",
    help: "CAPA identities whose role STS rejected in the last call, at most one hour ago.",
  };
  registerValue(registry, gauge, () => refused.size);
  const counter = (name: string, help: string): Counter<"result"> => (
    sidecarCounter(registry, { name, help, labelNames: ["result"] })
  );
  return {
    secretReads: counter("identity_secret_reads", "Reads of Secrets of static identities by result."),
    tokenRequests: counter("identity_token_requests", "Requests for tokens of ServiceAccounts by result."),
  };
}
