import { Agent } from "node:https";
import { setInterval as ticks, setTimeout as pause } from "node:timers/promises";
import { stringAt } from "../../../shared/formats/json.ts";
import { SELECTORS } from "../../real/webhook/installed-webhook.ts";
import type { PodCluster } from "../cluster.ts";
import { selector } from "../webhook/selector.ts";

/** The pause between two requests of a loop, in ms. */
const PAUSE_MS = 50;
const MERGE = { "content-type": "application/merge-patch+json" };
/** The namespace of the changed objects. It must exist. */
export const TRAFFIC_NAMESPACE = "traffic";

/** The requests of one kind since the start. */
export interface Tally {
  sent: number;
  /** One line for each request that the API server rejected or did not answer. */
  readonly failures: string[];
  /** One line for each request that was denied and says when to apply it again. It was, at that time. */
  readonly repeated: string[];
  slowest: { readonly request: string; readonly durationMs: number };
}

/** A client that changes objects until it is stopped, as users of the cluster do. */
export interface Traffic {
  /** The requests for objects that the webhook does not review. */
  readonly unrelated: Tally;
  /** The requests for objects that the webhook reviews. */
  readonly reviewed: Tally;
  /** Resolves when all loops have ended. */
  stop(): Promise<void>;
}

interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

/** Returns the change with an index. The changes repeat after 3 changes, with other names. */
type Changes = (index: number) => Change;

/** Returns the changes that create, label and delete one object after the other. */
function objectsIn(collection: string, object: (name: string) => object): Changes {
  return (index) => {
    const name = `traffic-${Math.floor(index / CYCLE)}`;
    const path = `${collection}/${name}`;
    if (index % CYCLE === 0) return { method: "POST", path: collection, body: object(name) };
    return index % CYCLE === 1 ? { method: "PATCH", path, body: labels("patched") } : { method: "DELETE", path };
  };
}

function labels(value: string): object {
  return { metadata: { labels: { traffic: value } } };
}

const CYCLE = 3;
const NAMED = (name: string): object => ({ metadata: { name } });
const BUCKET = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", spec: {} };
const UNRELATED: readonly Changes[] = [
  objectsIn(`/api/v1/namespaces/${TRAFFIC_NAMESPACE}/configmaps`, NAMED),
  objectsIn("/api/v1/namespaces/kube-system/configmaps", NAMED),
  objectsIn(`/apis/coordination.k8s.io/v1/namespaces/${TRAFFIC_NAMESPACE}/leases`, NAMED),
];
const REVIEWED: readonly Changes[] = [
  objectsIn(SELECTORS, (name) => selector(name, "arn:aws:iam::111122223333:role/traffic")),
  objectsIn(`/apis/s3.services.k8s.aws/v1alpha1/namespaces/${TRAFFIC_NAMESPACE}/buckets`, (name) => (
    { ...BUCKET, metadata: { name } }
  )),
  (index) => ({ method: "PATCH", path: `/api/v1/namespaces/${TRAFFIC_NAMESPACE}`, body: labels(String(index)) }),
];

export function startTraffic({ api }: PodCluster): Traffic {
  const stopping = new AbortController();
  const agent = new Agent({ keepAlive: true });
  const [unrelated, reviewed] = [newTally(), newTally()];
  const request = async ({ method, path, body }: Change): Promise<string | null> => {
    const options = method === "PATCH" ? { agent, headers: MERGE } : { agent };
    return await api.request(method, path, body, options).then(
      ({ status, body: answer }) => (status < 300 ? null : `${status} ${stringAt(answer, "message") ?? ""}`),
      (error: unknown) => String(error),
    );
  };
  const send = async (change: Change, tally: Tally): Promise<void> => {
    const { method, path } = change;
    const startMs = performance.now();
    let fault = await request(change);
    const [, seconds] = /Apply it again in (\d+) s/.exec(fault ?? "") ?? [];
    if (seconds !== undefined) {
      tally.repeated.push(`${method} ${path}: ${fault}`);
      await pause(Number(seconds) * 1_000);
      fault = await request(change);
    }
    tally.sent++;
    const durationMs = Math.round(performance.now() - startMs);
    if (durationMs > tally.slowest.durationMs) tally.slowest = { request: `${method} ${path}`, durationMs };
    if (fault !== null) tally.failures.push(`${method} ${path}: ${fault}`);
  };
  const run = async (changes: Changes, tally: Tally): Promise<void> => {
    let index = 0;
    for await (const _ of ticks(PAUSE_MS)) {
      if (index % CYCLE === 0 && stopping.signal.aborted) return;
      await send(changes(index++), tally);
    }
  };
  const loops = Promise.all([
    ...UNRELATED.map((changes) => run(changes, unrelated)), ...REVIEWED.map((changes) => run(changes, reviewed)),
  ]);
  return {
    unrelated, reviewed,
    stop: async () => {
      stopping.abort();
      await loops;
      agent.destroy();
    },
  };
}

function newTally(): Tally {
  return { sent: 0, failures: [], repeated: [], slowest: { request: "", durationMs: 0 } };
}
