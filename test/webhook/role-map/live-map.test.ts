import { RESOURCES } from "../../../shared/ack/resources.ts";
import { type Test, test } from "tap";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { RoleMap } from "../../../shared/diagnosis/role-map/role-map.ts";
import { TurnQueue } from "../../../shared/sources/slices.ts";
import { startLiveMap } from "../../../webhook/role-map/live-map.ts";
import { get } from "../../loopback-request.ts";
import { FakeClock } from "../../shared/fake-clock.ts";
import {
  bucketObject, FIRST, inventoryWith, namespaceObject, put, SECOND, selectorFor, selectorObject, SETTINGS_BY_DEFAULT,
} from "../../shared/objects.ts";
import { useTexts } from "../../shared/diagnosis/role-map/mapped.ts";

interface Served {
  readonly maps: readonly RoleMap[];
  readonly stale: string | null;
}

class Source {
  status = { loaded: true, lastSyncMs: 0, fault: null as string | null };
  readonly inventory: Inventory;
  readonly listeners = new Set<() => void>();

  constructor(inventory: Inventory) {
    this.inventory = inventory;
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

const stale = { "ack-role-resolver.io/role-arn": "arn:aws:iam::111122223333:role/old" };
const OBJECTS = [
  namespaceObject("team-a"), namespaceObject("team-b"), selectorFor("team-a", FIRST, ["team-a"]),
  selectorObject("broken", { arn: "x" }), bucketObject(), bucketObject({ name: "b2", annotations: stale }),
  bucketObject({ name: "b3", namespace: "team-b" }),
  {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSCluster",
    metadata: { name: "c", namespace: "team-b" }, spec: {},
  },
];

async function start(source: Source, clock = new FakeClock()): ReturnType<typeof startLiveMap> {
  return await startLiveMap("127.0.0.1:0", { source, settings: SETTINGS_BY_DEFAULT, clock, turns: new TurnQueue() });
}

async function serve(t: Test, source: Source): Promise<() => Promise<Served>> {
  const map = await start(source);
  t.teardown(() => map.close());
  t.match((await get(`http://${map.address}/`)).body, /^<!doctype html>[^]*"stale":/);
  return async () => {
    // oxlint-disable-next-line typescript/no-unsafe-assignment -- the data of the page
    const served: Served = JSON.parse((await get(`http://${map.address}/data.json`)).body);
    return served;
  };
}

test("serves the roles of the inventory, with what is wrong, and follows its changes", async (t) => {
  const source = new Source(inventoryWith(OBJECTS));
  const read = await serve(t, source);
  const { maps: [map], stale: reason } = await read();
  t.equal(reason, null);
  t.match(map?.totals, { resources: 4, states: { malformed: 1, stale: 1, resolved: 1 } });
  t.match(map?.selectors, [{ name: "broken", state: "malformed", findings: { length: 1 } }, { name: "team-a" }]);
  t.match(map?.findings.map(({ code }) => code).toSorted(), ["ACK-02", "ACK-05", "IRS-02"]);
  source.inventory.apply([put(selectorFor("second", SECOND, ["team-a"]))]);
  const [changed] = (await read()).maps;
  t.match(changed?.totals.states, { conflict: 2 });
  const [first] = changed === undefined ? [] : useTexts(changed);
  t.equal(first, "team-a Bucket.s3.services.k8s.aws conflict no role: 1 (b1)");
});

test("tells pages of many changes once in ten seconds, until it closes", async (t) => {
  const clock = new FakeClock();
  const source = new Source(inventoryWith(OBJECTS));
  const map = await start(source, clock);
  for (let i = 0; i < 3; i++) for (const listener of source.listeners) listener();
  t.same(clock.delays, [10_000]);
  await map.close();
  t.equal(source.listeners.size, 0);
  t.same(clock.delays, []);
});

test("says why the roles may be out of date, and which kinds are not listed", async (t) => {
  const source = new Source(inventoryWith(OBJECTS));
  source.inventory.apply([{ type: "unlisted", store: RESOURCES, item: "Queue.sqs.services.k8s.aws" }]);
  const read = await serve(t, source);
  source.status = { loaded: false, lastSyncMs: 0, fault: null };
  const { maps: [map], stale: reason } = await read();
  t.equal(reason, "the inventory is not loaded, or older than 5 minutes");
  t.match(map?.unjudged, [{ file: "Queue.sqs.services.k8s.aws", what: "kind that the cluster does not list" }]);
  source.status = { loaded: true, lastSyncMs: 0, fault: "the API server does not answer" };
  t.equal((await read()).stale, "the API server does not answer");
});
