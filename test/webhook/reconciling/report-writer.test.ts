import { Readable } from "node:stream";
import { Registry } from "prom-client";
import { type Test, test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import type { KubernetesAPI, KubernetesRequest, KubernetesResponse } from "../../../shared/inventory/cluster/api.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { createWebhookMetrics } from "../../../webhook/metrics.ts";
import { ReportWriter } from "../../../webhook/reconciling/report-writer.ts";
import { FakeClock } from "../../shared/inventory/fake-clock.ts";

const GROUP = "/apis/openreports.io/v1alpha1";
const REPORT = `${GROUP}/namespaces/team-a/reports/ack-role-resolver`;
const CLUSTER_REPORT = `${GROUP}/clusterreports/ack-role-resolver`;

/** An API server that stores reports. */
class FakeReports implements KubernetesAPI {
  readonly objects = new Map<string, JsonObject>();
  /** `METHOD path` of each write. */
  readonly writes: string[] = [];
  /** The status of all responses, for an outage. */
  status: number | null = null;

  async request({ path, method = "GET", body = "null" }: KubernetesRequest): Promise<KubernetesResponse> {
    const { pathname, searchParams } = new URL(path, "http://localhost");
    if (method !== "GET") this.writes.push(`${method} ${pathname}`);
    if (this.status !== null) return respond(this.status, { reason: "Fake" });
    if (method === "DELETE") return respond(this.objects.delete(pathname) ? 200 : 404, {});
    if (method === "PATCH") {
      this.objects.set(pathname, JSON.parse(body));
      return respond(200, {});
    }
    // Each page contains one report.
    const plural = pathname.slice(GROUP.length + 1);
    const found = [...this.objects].filter(([key]) => key.includes(`/${plural}/`)).map(([, object]) => object);
    const start = Number(searchParams.get("continue"));
    const next = start + 1 < found.length ? String(start + 1) : "";
    return respond(200, { metadata: { continue: next }, items: found.slice(start, start + 1) });
  }
}

function respond(status: number, object: object): KubernetesResponse {
  return { status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(object))]) };
}

interface Fixture {
  readonly api: FakeReports;
  readonly writer: ReportWriter;
  readonly lines: string[];
  readonly registry: Registry;
  /** Advances the clock in steps of 100 ms. */
  readonly pass: (ms: number) => Promise<void>;
}

function fixture(t: Test, { mayWrite = (): boolean => true } = {}): Fixture {
  const [api, fake, registry, lines] = [new FakeReports(), new FakeClock(), new Registry(), [] as string[]];
  const writer = new ReportWriter({
    api, mayWrite, metrics: createWebhookMetrics(registry),
    clock: { now: () => fake.now(), steady: () => fake.now(), schedule: (ms, run) => fake.schedule(ms, run) },
    log: createLogger({ name: "webhook", destination: { write: (line) => void lines.push(line) } }),
  });
  const stopping = new AbortController();
  const running = writer.run(stopping.signal);
  t.teardown(async () => {
    stopping.abort();
    await running;
  });
  const pass = async (ms: number): Promise<void> => {
    for (let elapsed = 0; elapsed <= ms; elapsed += 100) {
      fake.advance(100);
      for (let turn = 0; turn < 20; turn += 1) await new Promise((done) => setImmediate(done));
    }
  };
  return { api, writer, lines, registry, pass };
}

function report(namespace: string, fail = 1): JsonObject {
  return { metadata: { name: "ack-role-resolver", ...(namespace !== "" && { namespace }) }, summary: { fail } };
}

test("applies a report once, and again only if it has changed", async (t) => {
  const { api, writer, pass } = fixture(t);
  for (const fail of [1, 1, 2]) {
    writer.publish(new Map([["team-a", report("team-a", fail)]]), { isCluster: false });
    await pass(2_000);
  }
  t.same(api.writes, [`PATCH ${REPORT}`, `PATCH ${REPORT}`]);
  t.same(field(api.objects.get(REPORT), "summary"), { fail: 2 });
});

test("does not retry the report of a namespace that has no problems anymore, for example a deleted one", async (t) => {
  const { api, writer, pass } = fixture(t);
  writer.publish(new Map(), { isCluster: false });
  await pass(1_000);
  api.status = 404;
  writer.publish(new Map([["team-a", report("team-a")]]), { isCluster: false });
  await pass(500);
  writer.publish(new Map(), { isCluster: false });
  await pass(60_000);
  t.same(api.writes, [`PATCH ${REPORT}`]);
});

test("deletes a report without problems, also one of an earlier leader, but no report of another scope", async (t) => {
  const { api, writer, pass } = fixture(t);
  for (const namespace of ["team-a", "team-b", "team-c"]) {
    api.objects.set(REPORT.replace("team-a", namespace), report(namespace));
  }
  api.objects.set(CLUSTER_REPORT, report(""));
  api.objects.set(`${GROUP}/namespaces/team-d/reports/kyverno`, { metadata: { name: "kyverno", namespace: "team-d" } });
  writer.publish(new Map([["team-b", report("team-b")]]), { isCluster: false });
  await pass(3_000);
  const names = [...api.objects.values()].map((one) => stringAt(one, "metadata", "namespace"));
  t.same(names, ["team-b", null, "team-d"]);
  writer.publish(new Map(), { isCluster: true });
  await pass(1_000);
  t.notOk(api.objects.has(CLUSTER_REPORT));
});

test("retries a failed write, logs the fault once, and counts it", async (t) => {
  const { api, writer, pass, lines, registry } = fixture(t);
  writer.publish(new Map(), { isCluster: false });
  await pass(1_000);
  api.status = 404;
  writer.publish(new Map([["team-a", report("team-a")]]), { isCluster: false });
  await pass(3_000);
  t.equal(api.objects.size, 0);
  api.status = null;
  await pass(60_000);
  t.same([...api.objects.keys()], [REPORT]);
  t.equal(lines.filter((line) => line.includes("cannot be written")).length, 1);
  t.match(await registry.metrics(), /webhook_reports_total\{outcome="failed"\} [1-9]/);
});

test("writes the last published reports as soon as the stored reports are listed", async (t) => {
  const { api, writer, pass } = fixture(t);
  api.status = 429;
  for (const fail of [1, 2]) writer.publish(new Map([["team-a", report("team-a", fail)]]), { isCluster: false });
  writer.publish(new Map([["", report("")]]), { isCluster: true });
  await pass(2_000);
  t.same(api.writes, []);
  api.status = null;
  await pass(6_000);
  t.same([...api.objects.keys()], [REPORT, CLUSTER_REPORT]);
  t.same(field(api.objects.get(REPORT), "summary"), { fail: 2 });
});

test("writes nothing if another replica leads, and forgets the queue", async (t) => {
  let isLeader = false;
  const { api, writer, pass } = fixture(t, { mayWrite: () => isLeader });
  writer.publish(new Map([["team-a", report("team-a")]]), { isCluster: false });
  await pass(2_000);
  writer.reset();
  isLeader = true;
  await pass(2_000);
  t.same(api.writes, []);
});

test("writes at most 5 reports per second", async (t) => {
  const { api, writer, pass } = fixture(t);
  const reports = new Map(Array.from({ length: 50 }, (_, i) => [`n${i}`, report(`n${i}`)] as const));
  writer.publish(reports, { isCluster: false });
  await pass(5_000);
  t.ok(api.writes.length > 10 && api.writes.length <= 27, `${api.writes.length} writes`);
});
