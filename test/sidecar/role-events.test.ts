import { SELECTORS } from "../../shared/ack/selectors.ts";
import { test } from "tap";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { bucketObject, kindObject, put, ROLE, selectorObject } from "../shared/objects.ts";
import { EventServer, settle } from "./event-server.ts";
import { FakeClock } from "./fake-clock.ts";
import { type Faults, get, start } from "./running-sidecar.ts";

const S3 = "s3.services.k8s.aws";
const BUCKETS = `/apis/${S3}/v1alpha1/buckets`;
const PATH = "/v1/credentials/selectors/team-a";
const SECRET = "planted-external-id";
const DENY: Faults = ({ action }) => (
  action === "AssumeRole" ? { do: "reject", code: "AccessDenied", status: 403, message: "not authorized" } : null
);

function buckets(count: number, prefix: string, namespace = "team-a"): JsonObject[] {
  return Array.from({ length: count }, (_, i) => (
    bucketObject({ name: `${prefix}${i}`, namespace, uid: `uid-${prefix}${i}` })
  ));
}

const KIND = kindObject("Bucket", S3, [{ name: "v1alpha1", served: true, storage: true }]);

test("reports a role that STS rejects on the selector and on the resources that it selects", async (t) => {
  const [clock, api] = [new FakeClock(Date.now()), new EventServer()];
  api.pages[BUCKETS] = [[...buckets(1, "a"), ...buckets(1, "other", "team-b")], buckets(1, "b")];
  const { sidecar, source } = await start(t, {}, { clock, api }, DENY);
  const other = selectorObject("team-b", { arn: ROLE, namespaceSelector: { names: ["team-b"] } });
  source.inventory.apply([put(KIND), put(other)]);
  t.equal((await get(sidecar.address, PATH)).status, 503);
  await settle(clock, 6);
  t.same(api.events.map((event) => stringAt(event, "regarding", "name")), ["team-a", "a0", "b0"]);
  t.match(api.events[0], {
    reason: "RoleRefused", type: "Warning", reportingController: "ack-role-resolver.io/sidecar",
    regarding: { kind: "IAMRoleSelector", name: "team-a" }, metadata: { namespace: "default" },
    note: /cannot be assumed: STS denied sts:AssumeRole on arn:.* Allow sts:AssumeRole to .* STS returned AccessDen/,
  });
  t.match(api.events[1], { metadata: { namespace: "team-a" }, regarding: { kind: "Bucket", uid: "uid-a0" } });
  const lists = api.requests.filter(({ path }) => path.startsWith(`/apis/${S3}/v1alpha1/buckets?limit=500`));
  t.equal(lists.length, 2);
  t.match(lists[0]?.accept, "PartialObjectMetadataList", "the sidecar reads only metadata");

  await get(sidecar.address, PATH);
  await settle(clock, 6);
  t.equal(api.events.length, 3, "a repeated rejection continues the series");
  const metrics = (await get(sidecar.healthAddress, "/metrics")).body;
  t.match(metrics, /sidecar_events_total\{outcome="ok"\} 3\n/);
  t.match(metrics, /sidecar_events_total\{outcome="limited"\} [1-9]/);
});

test("reports at most 20 resources, and only the selector if resources cannot be listed", async (t) => {
  const [clock, api] = [new FakeClock(Date.now()), new EventServer()];
  api.pages[BUCKETS] = [buckets(30, "b")];
  const { sidecar, source } = await start(t, {}, { clock, api }, DENY);
  source.inventory.apply([put(KIND)]);
  await get(sidecar.address, PATH);
  await settle(clock, 40);
  t.equal(api.events.length, 21);

  const [otherClock, other] = [new FakeClock(Date.now()), new EventServer()];
  other.pages[BUCKETS] = null;
  const second = await start(t, {}, { clock: otherClock, api: other }, DENY);
  second.source.inventory.apply([put(KIND)]);
  await get(second.sidecar.address, PATH);
  await settle(otherClock, 6);
  t.same(other.events.map((event) => field(event["regarding"], "kind")), ["IAMRoleSelector"]);
});

test("searches at most 20 pages of a kind", async (t) => {
  const [clock, api] = [new FakeClock(Date.now()), new EventServer()];
  const pages = Array.from({ length: 19 }, (_, i) => buckets(1, `other${i}-`, "team-b"));
  api.pages[BUCKETS] = [...pages, buckets(1, "last"), buckets(1, "beyond")];
  const { sidecar, source } = await start(t, {}, { clock, api }, DENY);
  source.inventory.apply([put(KIND)]);
  await get(sidecar.address, PATH);
  await settle(clock, 6);
  t.same(api.events.map((event) => stringAt(event, "regarding", "name")), ["team-a", "last0"]);
});

test("an Event that cannot be written is counted and logged once, and delays no response", async (t) => {
  const [clock, api] = [new FakeClock(Date.now()), new EventServer()];
  api.eventStatus = 403;
  const { sidecar, logLines } = await start(t, {}, { clock, api }, DENY);
  t.equal((await get(sidecar.address, PATH)).status, 503);
  await settle(clock, 40);
  const metrics = (await get(sidecar.healthAddress, "/metrics")).body;
  t.match(metrics, /sidecar_events_total\{outcome="failed"\} [2-9]/, "and retried");
  t.equal(logLines.filter((line) => line.includes("Event could not be written")).length, 1);
  api.eventStatus = 201;
  await settle(clock, 120);
  t.equal(api.events.length, 1);
});

test("an Event contains no external ID", async (t) => {
  const [clock, api] = [new FakeClock(Date.now()), new EventServer()];
  const { sidecar, source } = await start(t, {}, { clock, api }, ({ action }) => (
    action === "AssumeRole"
      ? { do: "reject", code: "AccessDenied", status: 403, message: `external ID ${SECRET} does not match` }
      : null
  ));
  const [selector] = source.inventory.of(SELECTORS).values();
  source.inventory.apply([put({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector",
    metadata: { name: "team-a", annotations: { "ack-role-resolver.io/external-id": SECRET } },
    spec: { arn: selector?.roleARN, namespaceSelector: { names: ["team-a"] } },
  })]);
  await get(sidecar.address, PATH);
  await settle(clock, 5);
  t.equal(api.events.length, 1);
  t.notMatch(JSON.stringify(api.events), SECRET);
});
