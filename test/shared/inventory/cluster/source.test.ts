import { type Test, test } from "tap";
import { ClusterSource } from "../../../../shared/inventory/cluster/source.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeAPIServer, type HeldRequest } from "./fake-api-server.ts";

const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";
const NAMESPACES = "/api/v1/namespaces";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const metadata = (name: string, more: object = {}): object => ({ name, resourceVersion: "5", managedFields: [{ manager: "kubectl" }], ...more });
const selector = (name: string): object => ({
  apiVersion: "services.k8s.aws/v1alpha1",
  kind: "IAMRoleSelector",
  metadata: metadata(name),
  spec: { arn: `arn:aws:iam::111111111111:role/${name}`, namespaceSelector: { names: ["team-a"] } },
});
const definition = (group: string, kind: string): object => ({
  metadata: metadata(`${kind.toLowerCase()}s.${group}`),
  spec: { group, scope: "Namespaced", names: { kind }, versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: {} } }, { name: "v1alpha1", served: true, storage: false }] },
});

const ITEMS: Readonly<Record<string, readonly object[]>> = {
  [SELECTORS]: [selector("a")],
  [NAMESPACES]: [{ metadata: metadata("team-a", { labels: { tier: "gold" } }), status: { phase: "Active" } }],
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

function answerList(request: HeldRequest): void {
  request.answer(200, { metadata: { resourceVersion: "10" }, items: ITEMS[request.path] });
}

/** Answers all lists, and gives the opened watches by path. */
async function load(server: FakeAPIServer, source: ClusterSource): Promise<Map<string, HeldRequest>> {
  const started = source.start();
  const watches = new Map<string, HeldRequest>();
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

async function change(source: ClusterSource, holds: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = source.onChange(() => (holds() ? resolve() : undefined));
  if (!holds()) await promise;
  end();
}

test("it is loaded when every kind has been listed, and not before", async (t) => {
  const { server, clock, source } = await clusterSource(t);
  const started = source.start();
  const requests = [await server.next(), await server.next(), await server.next()];
  t.same(requests.map(({ path, query }) => `${path} ${query["limit"]}`).toSorted(), [`${NAMESPACES} 500`, `${DEFINITIONS} 50`, `${SELECTORS} 500`]);
  const [last, ...others] = requests;
  for (const request of others) answerList(request);
  await server.next();
  await server.next();
  t.match(source.status, { loaded: false, lastSyncMs: null, fault: null });
  if (last !== undefined) answerList(last);
  await started;
  t.same(source.status, { loaded: true, lastSyncMs: clock.now(), fault: null });
  t.same([...source.inventory.selectors.keys()], ["a"]);
  t.equal(source.inventory.namespaceLabels("team-a").get("tier"), "gold");
  t.same(source.inventory.kindVersions("s3.services.k8s.aws", "Bucket"), { storage: "v1", served: ["v1", "v1alpha1"] });
  t.equal(source.inventory.kindVersions("example.com", "Other"), null, "a definition that no decision reads is not kept");
});

test("events change the inventory and tell who listens", async (t) => {
  const { server, source } = await clusterSource(t);
  const watches = await load(server, source);
  await watches.get(SELECTORS)?.write(`${JSON.stringify({ type: "ADDED", object: { ...selector("b"), metadata: metadata("b", { resourceVersion: "11" }) } })}\n`);
  await change(source, () => source.inventory.selectors.has("b"));
  await watches.get(NAMESPACES)?.write(`${JSON.stringify({ type: "DELETED", object: { metadata: metadata("team-a", { resourceVersion: "12" }) } })}\n`);
  await change(source, () => !source.inventory.hasNamespace("team-a"));
  await watches.get(DEFINITIONS)?.write(`${JSON.stringify({ type: "DELETED", object: definition("s3.services.k8s.aws", "Bucket") })}\n`);
  await change(source, () => source.inventory.kindVersions("s3.services.k8s.aws", "Bucket") === null);
  t.same([...source.inventory.selectors.keys()].toSorted(), ["a", "b"]);
});

test("it is as current as the kind heard of the longest ago", async (t) => {
  const { server, clock, source } = await clusterSource(t);
  const watches = await load(server, source);
  const loadedMs = clock.now();
  clock.advance(60_000);
  const { inventory } = source;
  // An event behind the bookmark shows when the bookmark has been heard.
  const tell = async (path: string, object: object, isHeard: () => boolean): Promise<void> => {
    const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "20" } } };
    await watches.get(path)?.write(`${JSON.stringify(bookmark)}\n${JSON.stringify({ type: "ADDED", object })}\n`);
    await change(source, isHeard);
  };
  await tell(SELECTORS, selector("b"), () => inventory.selectors.has("b"));
  await tell(NAMESPACES, { metadata: metadata("team-b") }, () => inventory.hasNamespace("team-b"));
  t.equal(source.status.lastSyncMs, loadedMs, "the definitions were not heard of since");
  await tell(DEFINITIONS, definition("ec2.services.k8s.aws", "VPC"), () => inventory.kindVersions("ec2.services.k8s.aws", "VPC") !== null);
  t.equal(source.status.lastSyncMs, clock.now());
  t.equal(clock.now(), loadedMs + 60_000);
});

test("a cluster without the IAMRoleSelector kind is not one without selectors", async (t) => {
  const { server, clock, source } = await clusterSource(t);
  let started = false;
  const starting = source.start().then(() => (started = true));
  const requests = [await server.next(), await server.next(), await server.next()];
  for (const request of requests) {
    if (request.path === SELECTORS) request.answer(404, "404 page not found");
    else answerList(request);
  }
  await change(source, () => source.status.fault !== null);
  await server.next();
  await server.next();
  t.same(source.status, {
    loaded: false,
    lastSyncMs: null,
    fault: `the cluster has no IAMRoleSelector (404 on ${SELECTORS}), which is not the same as having none of them; install its CustomResourceDefinition, as with "ack-role-resolver manifests crds | kubectl apply -f -"`,
  });
  t.equal(started, false);
  clock.advance(await clock.scheduled((ms) => ms < 60_000));
  answerList(await server.next());
  await starting;
  t.match(source.status, { loaded: true, fault: null });
});

test("every kind that may not be listed is named", async (t) => {
  const { server, source } = await clusterSource(t);
  const starting = source.start();
  for (const request of [await server.next(), await server.next(), await server.next()]) request.answer(403, { message: "forbidden" });
  await change(source, () => source.status.fault?.match(/not allowed to list/g)?.length === 3);
  t.match(source.status.fault, /iamroleselectors\.services\.k8s\.aws .*; not allowed to list namespaces .*; not allowed to list customresourcedefinitions\.apiextensions\.k8s\.io /);
  const rejected = t.rejects(starting, { code: "ERR_NOT_READY", message: /^stopped before the inventory was loaded: not allowed to list iamroleselectors/ });
  await source.stop();
  await rejected;
});

test("a fault keeps the view, and is told once", async (t) => {
  const { server, source } = await clusterSource(t);
  const watches = await load(server, source);
  let told = 0;
  source.onChange(() => told++);
  watches.get(SELECTORS)?.reset();
  await change(source, () => source.status.fault !== null);
  t.match(source.status, { loaded: true, fault: /^iamroleselectors\.services\.k8s\.aws cannot be followed: / });
  t.same([...source.inventory.selectors.keys()], ["a"]);
  t.equal(told, 1);
});
