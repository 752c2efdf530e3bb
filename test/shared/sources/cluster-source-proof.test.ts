import type { KindName } from "../../../shared/formats/object-meta.ts";
import { type Test, test } from "tap";
import type { ClusterSource, ClusterSourceOptions } from "../../../shared/sources/cluster-source.ts";
import {
  BUCKETS, definition, DEFINITIONS, type FakeCluster, fakeCluster, NAMESPACES_PATH, SELECTORS_PATH,
} from "../api/fake-cluster.ts";
import { eventually } from "./eventually.ts";

const BUCKET = definition("s3.services.k8s.aws", "Bucket");
const isBucket = ({ kind }: KindName): boolean => kind === "Bucket";

interface Loaded {
  readonly cluster: FakeCluster;
  readonly source: ClusterSource;
  /** Resolves when the kind has a new watch, and returns its requested time in s. */
  readonly newWatch: (path: string) => Promise<string | undefined>;
}

/** Resolves when the source has received the headers of this number of watches. */
async function opened({ clock }: FakeCluster, watches: number): Promise<void> {
  await clock.scheduled(() => clock.delays.filter((ms) => ms === 500).length === watches);
}

async function loaded(t: Test, options: Partial<ClusterSourceOptions> = {}): Promise<Loaded> {
  const { cluster, source } = await fakeCluster(t, [BUCKET], options);
  const metadata = { name: "team-a", resourceVersion: "50", labels: { team: "a" } };
  cluster.objects.set(NAMESPACES_PATH, [{ metadata }]);
  await source.start();
  const paths = [SELECTORS_PATH, NAMESPACES_PATH, DEFINITIONS, BUCKETS];
  await cluster.until(() => paths.every((path) => cluster.watches.has(path)));
  await opened(cluster, paths.length);
  const newWatch = async (path: string): Promise<string | undefined> => {
    const old = cluster.watches.get(path);
    await cluster.until(() => cluster.watches.get(path) !== old);
    return cluster.watches.get(path)?.query["timeoutSeconds"];
  };
  return { cluster, source, newWatch };
}

test("asks only for the kinds that are needed and not proven to be current", async (t) => {
  const { cluster, source, newWatch } = await loaded(t);
  t.same(await source.prove(() => true, 3_000), { fault: null, hasAsked: false });
  const namespaces = cluster.watches.get(NAMESPACES_PATH);
  cluster.clock.advance(5_001);
  const proof = source.prove(isBucket, 3_000);
  t.equal(await newWatch(BUCKETS), "1");
  cluster.clock.advance(1_000);
  cluster.watches.get(BUCKETS)?.end();
  t.same(await proof, { fault: null, hasAsked: true });
  t.equal(cluster.watches.get(NAMESPACES_PATH), namespaces, "other kinds keep their watch");
});

test("names the kinds whose watches stall, and the status states it", async (t) => {
  const { cluster, source, newWatch } = await loaded(t);
  cluster.clock.advance(5_001);
  const proof = source.prove(({ kind }) => kind !== "CustomResourceDefinition", 3_000);
  await Promise.all([SELECTORS_PATH, NAMESPACES_PATH, BUCKETS].map(newWatch));
  await opened(cluster, 3);
  cluster.clock.advance(2_300);
  t.same(await proof, { fault: "the API server did not confirm the watch of 3 kinds in time", hasAsked: true });
  t.not(source.status.isStalled, true, "an API server under load can be late");
  cluster.clock.advance(1_200);
  while (source.status.isStalled !== true) await new Promise((done) => setImmediate(done));
  const stalled = /^the watch.* stalled: the API server accepted the watch, but did not end it after 1 s as requested/;
  t.match(source.status.fault, stalled);
});

test("the watches of the kinds that every source loads have a heartbeat, if it is requested", async (t) => {
  const { cluster } = await loaded(t, { hasHeartbeat: true });
  const seconds = (path: string): string | undefined => cluster.watches.get(path)?.query["timeoutSeconds"];
  t.same([SELECTORS_PATH, NAMESPACES_PATH, DEFINITIONS, BUCKETS].map(seconds), ["3", "3", "3", "75"]);
});

test("ten quiet minutes with a heartbeat: always current, and no kind is asked", async (t) => {
  const { cluster, source, newWatch } = await loaded(t, { hasHeartbeat: true });
  const paths = [SELECTORS_PATH, NAMESPACES_PATH, DEFINITIONS];
  const isBasic = ({ kind }: KindName): boolean => kind !== "Bucket";
  for (let elapsedMs = 0; elapsedMs < 600_000; elapsedMs += 3_000) {
    const next = Promise.all(paths.map(newWatch));
    cluster.clock.advance(3_000);
    for (const path of paths) cluster.watches.get(path)?.end();
    if (elapsedMs % 75_000 === 72_000) cluster.watches.get(BUCKETS)?.end();
    t.same(new Set(await next), new Set(["3"]));
    t.same(await source.prove(isBasic, 3_000), { fault: null, hasAsked: false });
    t.same([source.status.fault, source.status.isStalled], [null, false]);
  }
});

test("stores a Namespace that was read from the API server, unless the inventory has a newer one", async (t) => {
  const { cluster, source } = await loaded(t);
  const { namespaces } = source.inventory;
  const read = (resourceVersion: string, team: string, kind = "Namespace"): boolean => source.accept({
    apiVersion: "v1", kind, metadata: { name: "team-a", resourceVersion, labels: { team } },
  });
  t.same([read("49", "old"), namespaces.labelsOf("team-a").get("team")], [false, "a"]);
  t.same([read("60", "b"), namespaces.labelsOf("team-a").get("team")], [true, "b"]);
  await cluster.emit(NAMESPACES_PATH, "DELETED", { metadata: { name: "team-a", resourceVersion: "55" } });
  await cluster.emit(NAMESPACES_PATH, "ADDED", { metadata: { name: "team-a", resourceVersion: "56" } });
  await cluster.emit(NAMESPACES_PATH, "ADDED", { metadata: { name: "last", resourceVersion: "57" } });
  await eventually(source, () => namespaces.has("last"));
  t.equal(namespaces.labelsOf("team-a").get("team"), "b");
  t.equal(read("70", "c", "Secret"), false, "a kind that the source does not watch");
});
