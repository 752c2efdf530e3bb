import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { type Test, test } from "tap";
import { ClusterSource } from "../../../shared/sources/cluster-source.ts";
import { webhookReadiness } from "../../../shared/server/readiness.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeAPIServer, type PendingRequest } from "../api/fake-api-server.ts";
import { DEFINITIONS, isBackoff, NAMESPACES_PATH, SELECTORS_PATH } from "../api/fake-cluster.ts";
import { eventually } from "./eventually.ts";

const metadata = (name: string, more: object = {}): object => (
  { name, resourceVersion: "5", managedFields: [{ manager: "kubectl" }], ...more }
);
const selector = (name: string): object => ({
  apiVersion: "services.k8s.aws/v1alpha1",
  kind: "IAMRoleSelector",
  metadata: metadata(name),
  spec: { arn: `arn:aws:iam::111111111111:role/${name}`, namespaceSelector: { names: ["team-a"] } },
});
const definition = (group: string, kind: string): object => ({
  metadata: metadata(`${kind.toLowerCase()}s.${group}`),
  spec: {
    group, scope: "Namespaced", names: { kind },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: {} } },
      { name: "v1alpha1", served: true, storage: false },
    ],
  },
});

const ITEMS: Readonly<Record<string, readonly object[]>> = {
  [SELECTORS_PATH]: [selector("a")],
  [NAMESPACES_PATH]: [{ metadata: metadata("team-a", { labels: { tier: "gold" } }), status: { phase: "Active" } }],
  [DEFINITIONS]: [definition("s3.services.k8s.aws", "Bucket"), definition("example.com", "Other")],
};

async function clusterSource(t: Test): Promise<{ server: FakeAPIServer; clock: FakeClock; source: ClusterSource }> {
  const server = new FakeAPIServer();
  await server.start();
  const clock = new FakeClock();
  const source = new ClusterSource({ runtime: "ack", api: server.api, clock, random: () => 0 });
  t.teardown(async () => {
    await source.stop();
    await server.stop();
  });
  return { server, clock, source };
}

function answerList(request: PendingRequest): void {
  request.answer(200, { metadata: { resourceVersion: "10" }, items: ITEMS[request.path] });
}

/** Answers all lists, and returns the open watches by path. */
async function load(server: FakeAPIServer, source: ClusterSource): Promise<Map<string, PendingRequest>> {
  const started = source.start();
  const watches = new Map<string, PendingRequest>();
  while (watches.size < 3) {
    const request = await server.next();
    if (request.query["watch"] === undefined) {
      answerList(request);
    } else {
      request.open();
      watches.set(request.path, request);
    }
  }
  await started;
  return watches;
}

test("the inventory is loaded when every kind is listed", async (t) => {
  const { server, clock, source } = await clusterSource(t);
  const started = source.start();
  const requests = [await server.next(), await server.next(), await server.next()];
  t.same(requests.map(({ path, query }) => `${path} ${query["limit"]}`).toSorted(), [
    `${NAMESPACES_PATH} 500`, `${DEFINITIONS} 50`, `${SELECTORS_PATH} 500`,
  ]);
  const [last, ...others] = requests;
  for (const request of others) answerList(request);
  await server.next();
  await server.next();
  t.match(source.status, { loaded: false, lastSyncMs: null, fault: null });
  if (last !== undefined) answerList(last);
  await started;
  t.same(source.status, { loaded: true, lastSyncMs: clock.steady(), fault: null, isStalled: false });
  t.same([...source.inventory.of(SELECTORS).keys()], ["a"]);
  t.equal(source.inventory.namespaces.labelsOf("team-a").get("tier"), "gold");
  t.match(source.inventory.kinds.versions("s3.services.k8s.aws", "Bucket"), {
    storage: "v1", served: ["v1", "v1alpha1"],
  });
  t.equal(source.inventory.kinds.versions("example.com", "Other"), null, "definitions of other groups are not stored");
});

test("applies watch events to the inventory and notifies listeners", async (t) => {
  const { server, source } = await clusterSource(t);
  const watches = await load(server, source);
  const emit = async (path: string, type: string, object: object): Promise<void> => {
    await watches.get(path)?.write(`${JSON.stringify({ type, object })}\n`);
  };
  await emit(SELECTORS_PATH, "ADDED", { ...selector("b"), metadata: metadata("b", { resourceVersion: "11" }) });
  await eventually(source, () => source.inventory.of(SELECTORS).has("b"));
  await emit(NAMESPACES_PATH, "DELETED", { metadata: metadata("team-a", { resourceVersion: "12" }) });
  await eventually(source, () => !source.inventory.namespaces.has("team-a"));
  await emit(DEFINITIONS, "DELETED", definition("s3.services.k8s.aws", "Bucket"));
  await eventually(source, () => source.inventory.kinds.versions("s3.services.k8s.aws", "Bucket") === null);
  t.same([...source.inventory.of(SELECTORS).keys()].toSorted(), ["a", "b"]);
});

test("the inventory is as old as its stalest watched kind", async (t) => {
  const { server, clock, source } = await clusterSource(t);
  const watches = await load(server, source);
  const confirmMs = 500;
  await clock.scheduled((ms) => ms === confirmMs && clock.delays.filter((other) => other === ms).length === 3);
  const loadedMs = clock.steady();
  clock.advance(60_000);
  const { inventory } = source;
  // Sends a bookmark before the event. When the source has handled the event, it has also handled the bookmark.
  const emit = async (path: string, object: object, isHandled: () => boolean): Promise<void> => {
    const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "20" } } };
    await watches.get(path)?.write(`${JSON.stringify(bookmark)}\n${JSON.stringify({ type: "ADDED", object })}\n`);
    await eventually(source, isHandled);
  };
  await emit(SELECTORS_PATH, selector("b"), () => inventory.of(SELECTORS).has("b"));
  await emit(NAMESPACES_PATH, { metadata: metadata("team-b") }, () => inventory.namespaces.has("team-b"));
  t.equal(source.status.lastSyncMs, loadedMs, "the CRDs were last synced at this time");
  const isVPCKnown = (): boolean => inventory.kinds.versions("ec2.services.k8s.aws", "VPC") !== null;
  await emit(DEFINITIONS, definition("ec2.services.k8s.aws", "VPC"), isVPCKnown);
  t.equal(source.status.lastSyncMs, clock.steady());
  t.equal(clock.steady(), loadedMs + 60_000);
});

test("the inventory becomes older while the system time is set back", async (t) => {
  const { server, clock, source } = await clusterSource(t);
  await load(server, source);
  const inventory = source.status;
  clock.setWallClock(-3_600_000);
  clock.advance(300_001);
  const input = {
    inventory, steadyMs: clock.steady(), nowMs: clock.now(), draining: false,
    certificateNotAfter: new Date(clock.now() + 1), missingHosts: [],
  };
  t.same(webhookReadiness(input).reasons, ["the inventory is 301 s old (maximum: 300 s)"]);
});

test("the inventory is not loaded if the cluster has no IAMRoleSelector CRD", async (t) => {
  const { server, clock, source } = await clusterSource(t);
  let started = false;
  const starting = source.start().then(() => (started = true));
  const requests = [await server.next(), await server.next(), await server.next()];
  for (const request of requests) {
    if (request.path === SELECTORS_PATH) request.answer(404, "404 page not found");
    else answerList(request);
  }
  await eventually(source, () => source.status.fault !== null);
  await server.next();
  await server.next();
  t.same(source.status, {
    loaded: false,
    isStalled: false,
    lastSyncMs: null,
    fault: `the API server does not know the kind IAMRoleSelector (404 on ${SELECTORS_PATH}); install its `
      + "CustomResourceDefinition; the chart of each ACK controller contains the definition of IAMRoleSelector",
  });
  t.equal(started, false);
  clock.advance(await clock.scheduled(isBackoff));
  answerList(await server.next());
  await starting;
  t.match(source.status, { loaded: true, fault: null });
});

test("the fault names every kind that cannot be listed", async (t) => {
  const { server, source } = await clusterSource(t);
  const starting = source.start();
  for (const request of [await server.next(), await server.next(), await server.next()]) {
    request.answer(403, { message: "forbidden" });
  }
  await eventually(source, () => source.status.fault?.match(/not allowed to list/g)?.length === 3);
  for (const resource of [
    "iamroleselectors.services.k8s.aws", "namespaces", "customresourcedefinitions.apiextensions.k8s.io",
  ]) t.match(source.status.fault, `not allowed to list ${resource} in the whole cluster; `);
  const rejected = t.rejects(starting, {
    code: "ERR_NOT_READY", message: /^Stopped before the inventory was loaded: not allowed to list iamroleselectors/,
  });
  await source.stop();
  await rejected;
});

test("does not change the inventory during a fault, and notifies listeners once", async (t) => {
  const { server, source } = await clusterSource(t);
  const watches = await load(server, source);
  let notifications = 0;
  source.onChange(() => notifications++);
  watches.get(SELECTORS_PATH)?.reset();
  await eventually(source, () => source.status.fault !== null);
  t.match(source.status, { loaded: true, fault: /^cannot list or watch iamroleselectors\.services\.k8s\.aws: / });
  t.same([...source.inventory.of(SELECTORS).keys()], ["a"]);
  t.equal(notifications, 1);
});

test("drops a namespace that exceeds a limit if the source loads no resources", async (t) => {
  const { server, source } = await clusterSource(t);
  const watches = await load(server, source);
  t.equal(source.inventory.namespaces.has("team-a"), true);
  const labels = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`l${i}`, ""]));
  const object = { metadata: metadata("team-a", { labels, resourceVersion: "11" }), status: { phase: "Active" } };
  await watches.get(NAMESPACES_PATH)?.write(`${JSON.stringify({ type: "MODIFIED", object })}\n`);
  await eventually(source, () => source.inventory.namespaces.isOversized("team-a"));
  t.equal(source.inventory.namespaces.has("team-a"), false);
});
