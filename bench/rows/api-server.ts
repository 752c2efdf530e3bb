import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { manifestObjects } from "../../manifests/render.ts";
import { field } from "../../shared/formats/json.ts";
import type { Cluster } from "../../test/real/apiserver/cluster.ts";
import { apply, installObjects, MANIFEST_OPTIONS, untilCalled } from "../../test/real/webhook/installed-webhook.ts";
import { creations, startAPIServer } from "../apiserver/api-server.ts";
import { processorMs } from "../apiserver/readings.ts";
import { atLeast, atMost, type Figure, quantile } from "../figure.ts";
import { load, loadFigures, loadServer } from "../load.ts";
import { builtCommand, processorTimes, type Program, startServer } from "../programs.ts";
import { inRounds, type Row } from "../row.ts";
import { isRoundOver, startFloor } from "../servers.ts";
import { type Stage, shared } from "../stage.ts";
import { ENVIRONMENT, reviewRequests } from "./webhook.ts";

const ATTACKER = path.join(import.meta.dirname, "../apiserver/attacker.ts");
/** The label of the namespaces whose resources the API server sends to our webhook, or to the floor. */
const LABEL = "bench";
const SUBJECTS = ["none", "floor", "ours"] as const;
const CONNECTIONS = 16;
const LARGE_OBJECTS = 20;
const VICTIMS_PER_SECOND = 40;

interface Setup {
  readonly cluster: Cluster;
  readonly ours: Program;
  readonly floor: Program;
}

/**
 * Starts an API server that calls our webhook for the resources in the namespace `ours`, and a fastify server that
 * admits everything for those in the namespace `floor`. Nothing reviews the resources in `none`.
 */
const setup = shared(async (stage): Promise<Setup> => {
  const cluster = await startAPIServer(stage);
  const { certificates: dir, ca } = await installObjects(stage, cluster);
  await apply(cluster, [...SUBJECTS.map((name) => (
    { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { [LABEL]: name } } }
  )), {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "ours" },
    spec: { arn: "arn:aws:iam::111122223333:role/ours", namespaceSelector: { names: ["ours"] } },
  }]);
  const floor = await startFloor(stage, { tlsDir: dir, bytes: 0, logBytes: 0 });
  const flags = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "webhook", "--tls-dir", dir];
  const command = [await builtCommand(stage)];
  const ours = await startServer(stage, "webhook", { command, flags, environment: ENVIRONMENT });
  await apply(cluster, configurations("floor", floor, ca));
  await apply(cluster, configurations("ours", ours, ca));
  await untilCalled(cluster);
  return { cluster, ours, floor };
});

/** Returns the webhook configurations, whose webhooks for resources apply only to the namespace of the subject. */
function configurations(subject: "ours" | "floor", { port }: Program, caBundle: string): readonly object[] {
  const options = { ...MANIFEST_OPTIONS, caBundle, url: `https://127.0.0.1:${port}` };
  return manifestObjects("webhooks", options).map((configuration) => {
    const listed = field(configuration, "webhooks");
    const webhooks = (Array.isArray(listed) ? listed : []).flatMap((webhook: object) => {
      if (!String(field(webhook, "name")).startsWith("resources.")) return subject === "ours" ? [webhook] : [];
      return [{ ...webhook, namespaceSelector: { matchLabels: { [LABEL]: subject } } }];
    });
    return { ...configuration, metadata: { name: `bench-${subject}` }, webhooks };
  });
}

const LATENCY: Row = {
  name: "api-server-latency",
  title: "latency that mutation and validation add to one creation at a time, beside a webhook that admits everything",
  measure: async (stage) => {
    const started = await setup(stage);
    const isDone = (sent: number): boolean => sent === stage.size(150, 10);
    const sides = SUBJECTS.map((subject) => async () => {
      const options = { ...creations(started.cluster, subject, { isDryRun: true }), connections: 1, isDone };
      const { latenciesMs, statuses, body } = await load(options);
      if (statuses.get(201) !== latenciesMs.length) throw new Error(`the API server rejects creations: ${body}`);
      return latenciesMs;
    });
    const [none = [], floor = [], ours = []] = await inRounds(stage.size(9, 1), sides);
    const added = (all: readonly Float64Array[], share: number): readonly number[] =>
      all.map((latencies, i) => quantile(latencies, share) - quantile(none[i] ?? [], share));
    const at = (share: number): Pick<Figure, "unit" | "ours" | "floor"> =>
      ({ unit: "ms", ours: added(ours, share), floor: added(floor, share) });
    return [
      { name: "added, p50", ...at(0.5), goal: atMost(1.3, "ratio") },
      { name: "added, p99", ...at(0.99) },
      { name: "a creation without a webhook, p50", unit: "ms", ours: none.map((one) => quantile(one, 0.5)) },
    ];
  },
};

const PARALLEL: Row = {
  name: "api-server-creations", title: "creations, 16 in parallel, beside a webhook that admits everything",
  measure: async (stage) => {
    const started = await setup(stage);
    const side = (subject: (typeof SUBJECTS)[number]) => async () => {
      // Our webhook watches the resources, also while the floor is measured.
      started.ours.process.kill(subject === "ours" ? "SIGCONT" : "SIGSTOP");
      const program = subject === "ours" ? started.ours : started.floor;
      await untilIdle(program);
      const options = { ...creations(started.cluster, subject), connections: CONNECTIONS, isDone: isRoundOver(stage) };
      return await loadServer(program, options);
    };
    const [ours = [], floor = [], none = []] = await inRounds(
      stage.size(5, 1), [side("ours"), side("floor"), side("none")],
    );
    started.ours.process.kill("SIGCONT");
    return [
      ...loadFigures([ours, floor], { perSecond: atLeast(0.85, "ratio") }),
      { name: "creations without a webhook", unit: "/s", ours: none.map(({ perSecond }) => perSecond) },
    ];
  },
};

const IDLE_MS = 300;
const IDLE_LIMIT = 20;

/** Waits until the program has processed the events that it missed while it was stopped. */
async function untilIdle({ process: { pid } }: Program): Promise<void> {
  for (let i = 0; i < IDLE_LIMIT; i++) {
    // oxlint-disable-next-line no-await-in-loop -- polls until it is idle
    const before = await processorTimes(pid);
    // oxlint-disable-next-line no-await-in-loop -- polls until it is idle
    await sleep(IDLE_MS);
    // oxlint-disable-next-line no-await-in-loop -- polls until it is idle
    if ((await processorTimes(pid)).userMs - before.userMs <= 20) return;
  }
}

/** Shows how long others wait while a tenant sends large objects, and which part of the time is the webhook's. */
const LARGE: Row = {
  name: "large-objects",
  title: "a small creation while a tenant sends large objects, beside a webhook that admits everything",
  measure: async (stage) => {
    const started = await setup(stage);
    const sides = SUBJECTS.map((subject) => () => attacked(stage, started, subject));
    const [none = [], floor = [], ours = []] = await inRounds(1, sides);
    const figure = (name: string, of: (one: Attacked) => number): Figure =>
      ({ name, unit: "ms", ours: ours.map(of), floor: floor.map(of) });
    return [
      figure("small creation, p50", p50), figure("small creation, p99", p99),
      figure("processor time of the API server per large object", ({ serverMs }) => serverMs),
      figure("processor time of the webhook per large object", ({ webhookMs }) => webhookMs),
      figure("small review straight to the webhook, p99", ({ directMs }) => quantile(directMs, 0.99)),
      { name: "small creation without a webhook, p50", unit: "ms", ours: none.map(p50) },
      { name: "small creation without a webhook, p99", unit: "ms", ours: none.map(p99) },
    ];
  },
};

interface Attacked {
  readonly latenciesMs: Float64Array;
  readonly directMs: Float64Array;
  /** The processor time of a large object. */
  readonly serverMs: number;
  readonly webhookMs: number;
}

function p50({ latenciesMs }: Attacked): number {
  return quantile(latenciesMs, 0.5);
}

function p99({ latenciesMs }: Attacked): number {
  return quantile(latenciesMs, 0.99);
}

async function attacked(stage: Stage, started: Setup, subject: (typeof SUBJECTS)[number]): Promise<Attacked> {
  const { cluster } = started;
  const webhook = started[subject === "ours" ? "ours" : "floor"];
  const pids = [cluster.pids[1], webhook.process.pid];
  const before = await Promise.all(pids.map(processorMs));
  const args = [ATTACKER, cluster.url, cluster.caFile, cluster.tokens.admin, subject];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let answered = 0;
  child.stdout.on("data", (lines: Buffer) => (answered += lines.length));
  const paced = {
    connections: 1, ratePerSecond: VICTIMS_PER_SECOND, isDone: () => answered >= stage.size(LARGE_OBJECTS, 4),
  };
  const [through, direct] = await Promise.all([
    load({ ...creations(started.cluster, subject, { isDryRun: true }), ...paced }),
    load({ port: webhook.port, isTLS: true, requests: reviewRequests("/mutate/resources").slice(0, 1), ...paced }),
  ]);
  const after = await Promise.all(pids.map(processorMs));
  child.kill("SIGKILL");
  const [serverMs = 0, webhookMs = 0] = after.map((ms, i) => (ms - (before[i] ?? 0)) / answered);
  return { latenciesMs: through.latenciesMs, directMs: direct.latenciesMs, serverMs, webhookMs };
}

export const API_SERVER_ROWS: readonly Row[] = [LATENCY, PARALLEL, LARGE];
