import { get } from "../../test/loopback-request.ts";
import type { Cluster } from "../../test/real/apiserver/cluster.ts";
import { processorTimes, type Server } from "../programs.ts";
import { samples } from "./metric-samples.ts";

/** A webhook, and the API server that it reads and that calls it. */
export interface Installed {
  readonly cluster: Cluster;
  readonly webhook: Server;
}

/** What an API server has done since its start. */
export interface Readings {
  readonly atMs: number;
  /** The requests of service accounts, how long priority and fairness delayed them, and how many it rejected. */
  readonly requests: number;
  readonly queuedMs: number;
  readonly rejected: number;
  /** The processor time of the API server and etcd. */
  readonly processorMs: number;
}

/** The default flow schema of service accounts: the webhook's, those of ACK's controllers, and a tenant's. */
const FLOW = ['flow_schema="service-accounts"', 'priority_level="workload-low"'];

export async function readings(cluster: Cluster): Promise<Readings> {
  const text = String((await cluster.request("GET", "/metrics")).body);
  const sum = (name: string, ...labels: readonly string[]): number =>
    samples(text, `apiserver_flowcontrol_${name}`, [...FLOW, ...labels]);
  const [etcdMs = 0, apiServerMs = 0] = await Promise.all(cluster.pids.map(processorMs));
  return {
    atMs: performance.now(), processorMs: etcdMs + apiServerMs, requests: sum("dispatched_requests_total"),
    rejected: sum("rejected_requests_total"),
    queuedMs: sum("request_wait_duration_seconds_sum", 'execute="true"') * 1_000,
  };
}

/** Returns what an API server has done between two readings. */
export function difference(before: Readings, after: Readings): Readings {
  return {
    atMs: after.atMs - before.atMs, requests: after.requests - before.requests,
    queuedMs: after.queuedMs - before.queuedMs, rejected: after.rejected - before.rejected,
    processorMs: after.processorMs - before.processorMs,
  };
}

/** Returns the processor time that a process has used, in ms. */
export async function processorMs(pid: number | undefined): Promise<number> {
  const { userMs, systemMs } = await processorTimes(pid);
  return userMs + systemMs;
}

export interface ReconcilerState {
  /** The annotations that have been updated since the start. */
  readonly written: number;
  /** The stale resources in the last scan, and its end in seconds since 1970; 0 before the first scan. */
  readonly stale: number;
  readonly lastScan: number;
}

export async function reconcilerState({ webhook: { health } }: Installed): Promise<ReconcilerState> {
  const { body } = await get(`${health}/metrics`);
  const value = (name: string, labels: readonly string[] = []): number =>
    samples(body, `ack_role_resolver_webhook_${name}`, labels);
  return {
    written: value("refreshes_total", ['outcome="ok"']), stale: value("stale_resources"),
    lastScan: value("last_scan_timestamp_seconds"),
  };
}
