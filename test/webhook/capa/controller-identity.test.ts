import { REFERRERS } from "../../../shared/capa/referrers.ts";
import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { type Test, test } from "tap";
import { field, type JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, controllerIdentity, INFRASTRUCTURE, roleIdentity } from "../../shared/capa-objects.ts";
import { kindObject } from "../../shared/objects.ts";
import { FakeClock } from "../../shared/fake-clock.ts";
import { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";
import { pass, type Replica, startReplica } from "../reconciling/reconciler-fixture.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const KIND = "AWSClusterControllerIdentity";
const PATH = `/apis/${INFRASTRUCTURE}/v1beta2/awsclustercontrolleridentities`;
const CREATIONS = "controller_identity_creations_total";
const DEFINITION = kindObject(KIND, INFRASTRUCTURE, [
  { name: "v1beta1", served: false, storage: false }, { name: "v1beta2", served: true, storage: true },
]);

class Subject {
  readonly api = new FakeKubernetes();
  readonly clock = new FakeClock();
  readonly replicas: readonly Replica[];

  constructor(t: Test, namespaces: readonly string[] = ["team-a", "team-b"], replicas = 1) {
    this.replicas = Array.from({ length: replicas }, (_, i) => (
      startReplica(t, this.api, this.clock, { identity: `r${i}`, autoControllerIdentity: namespaces })
    ));
  }

  get first(): Replica {
    const [replica] = this.replicas;
    if (replica === undefined) throw new Error("no replica");
    return replica;
  }

  /** The number of requests to create the identity. */
  get posts(): number {
    return this.api.requests.filter((request) => request.startsWith(`POST ${PATH}`)).length;
  }

  get stored(): JsonObject {
    return this.api.object(`${PATH}/default`);
  }

  install(...objects: readonly JsonObject[]): void {
    for (const { source } of this.replicas) source.put(DEFINITION, ...objects);
  }

  /** Delivers the stored identity to the inventory of each replica. */
  watch(): void {
    for (const { source } of this.replicas) source.put(this.stored);
  }

  pass(ms: number): Promise<void> {
    return pass(this.clock, ms, this.api, this.replicas);
  }
}

test("creates the identity with the list of namespaces, and again after its deletion", async (t) => {
  const subject = new Subject(t);
  subject.install();
  await subject.pass(SECOND);
  t.equal(subject.posts, 1);
  const { metadata, ...rest } = subject.stored;
  t.same(rest, {
    apiVersion: `${INFRASTRUCTURE}/v1beta2`, kind: KIND,
    spec: { allowedNamespaces: { list: ["team-a", "team-b"] } },
  });
  t.match(metadata, { name: "default", labels: { "clusterctl.cluster.x-k8s.io/move-hierarchy": "" } });
  subject.watch();
  await subject.pass(2 * MINUTE);
  t.equal(subject.posts, 1);
  subject.api.remove(`${PATH}/default`);
  subject.first.source.remove(KIND, INFRASTRUCTURE, "default");
  await subject.pass(SECOND);
  t.same([subject.posts, subject.stored["kind"]], [2, KIND]);
  t.equal(await subject.first.metric(CREATIONS, { outcome: "ok" }), 2);
  t.equal(subject.first.lines.filter((line) => line.includes("created the AWSClusterControllerIdentity")).length, 2);
});

test("without namespaces, the identity allows no namespace", async (t) => {
  const subject = new Subject(t, ["none"]);
  subject.install();
  await subject.pass(SECOND);
  t.same(field(subject.stored["spec"], "allowedNamespaces"), { list: [] });
});

test("without namespaces, creates nothing while a cluster uses the identity", async (t) => {
  const subject = new Subject(t, ["none"]);
  subject.install(clusterObject("c", null));
  await subject.pass(MINUTE);
  t.equal(subject.posts, 0);
  const lines = subject.first.lines.filter((line) => line.includes("cannot be created"));
  t.match(lines, [/these objects use it, and it would allow no namespace: AWSCluster ns1\/c; list their namespaces/]);
  subject.first.source.remove("AWSCluster", INFRASTRUCTURE, "c", "ns1");
  await subject.pass(5 * MINUTE);
  t.equal(subject.stored["kind"], KIND);
});

test("without namespaces, also waits for the list of clusters, and for those of roles over the identity", async (t) => {
  const subject = new Subject(t, ["none"]);
  const unlisted = { store: REFERRERS, item: `AWSCluster.${INFRASTRUCTURE}` };
  subject.first.source.inventory.apply([{ type: "unlisted", ...unlisted }]);
  subject.install(roleIdentity("r", "controller"));
  await subject.pass(MINUTE);
  t.equal(subject.posts, 0);
  t.match(subject.first.lines.join(), /it is unknown which objects use it: AWSCluster\..* are not listed/);
  subject.install(clusterObject("c", "role/r"));
  subject.first.source.inventory.apply([{ type: "listed", ...unlisted }]);
  await subject.pass(5 * MINUTE);
  t.equal(subject.posts, 0);
});

test("names the clusters that the list of namespaces locks out", async (t) => {
  const subject = new Subject(t);
  subject.install(clusterObject("c", null));
  await subject.pass(SECOND);
  const lines = subject.first.lines.filter((line) => line.includes("created the"));
  t.match(lines, [/"warn".*"lockedOut":\["AWSCluster ns1\/c"\]/]);
});

test("does nothing without --auto-controller-identity, and never changes an existing identity", async (t) => {
  const off = new Subject(t, []);
  off.install();
  await off.pass(MINUTE);
  t.equal(off.posts, 0);
  const subject = new Subject(t);
  subject.install(controllerIdentity({}));
  subject.api.put(`${PATH}/default`, controllerIdentity({}));
  await subject.pass(2 * MINUTE);
  t.equal(subject.posts, 0);
  t.same(field(subject.stored["spec"], "allowedNamespaces"), {});
});

test("an identity that another program has just created is no fault", async (t) => {
  const subject = new Subject(t);
  subject.api.put(`${PATH}/default`, controllerIdentity({}));
  subject.install();
  await subject.pass(10 * SECOND);
  t.same(field(subject.stored["spec"], "allowedNamespaces"), {});
  t.equal(await subject.first.metric(CREATIONS, { outcome: "exists" }), 2, "after 0 and 1 s");
  t.notOk(subject.first.lines.some((line) => line.includes("cannot be created")));
});

test("waits for the kind, for its list, and until the API server serves it", async (t) => {
  const subject = new Subject(t);
  await subject.pass(MINUTE);
  t.equal(subject.posts, 0, "the kind is not installed");
  const item = `${KIND}.${INFRASTRUCTURE}`;
  subject.first.source.inventory.apply([{ type: "unlisted", store: IDENTITIES, item }]);
  subject.install();
  await subject.pass(MINUTE);
  t.equal(subject.posts, 0, "the identities are not listed");
  subject.api.rejected.set(`POST ${PATH}`, 404);
  subject.first.source.inventory.apply([{ type: "listed", store: IDENTITIES, item }]);
  await subject.pass(10 * SECOND);
  t.equal(subject.posts, 2);
  t.notOk(subject.first.lines.some((line) => line.includes("cannot be created")));
  subject.api.rejected.clear();
  await subject.pass(MINUTE);
  t.equal(subject.stored["kind"], KIND);
});

test("logs a missing right once, retries rarely, and recovers", async (t) => {
  const subject = new Subject(t);
  subject.api.rejected.set(`POST ${PATH}`, 403);
  subject.install();
  await subject.pass(5 * MINUTE);
  const { posts } = subject;
  t.equal(posts, 5, "after 0, 1, 31, 91 and 211 s");
  t.equal(await subject.first.metric(CREATIONS, { outcome: "failed" }), posts);
  const lines = subject.first.lines.filter((line) => line.includes("cannot be created"));
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? "{}"), {
    level: "warn", fault: /awsclustercontrolleridentities: the API server returned 403/,
    fix: /^grant the verb create on awsclustercontrolleridentities of infrastructure\.cluster\.x-k8s\.io/,
  });
  subject.api.rejected.set(`POST ${PATH}`, 500);
  await subject.pass(5 * MINUTE);
  subject.api.rejected.clear();
  await subject.pass(6 * MINUTE);
  t.equal(subject.stored["kind"], KIND);
  t.equal(subject.first.lines.filter((line) => line.includes("cannot be created")).length, 1);
});

test("only the leader creates the identity", async (t) => {
  const subject = new Subject(t, ["team-a"], 2);
  subject.install();
  await subject.pass(500);
  t.equal(subject.posts, 1);
  subject.watch();
  await subject.pass(MINUTE);
  t.equal(subject.posts, 1);
  const created = await Promise.all(subject.replicas.map(({ metric }) => metric(CREATIONS, { outcome: "ok" })));
  t.same(created.filter((count) => count !== undefined), [1]);
});
