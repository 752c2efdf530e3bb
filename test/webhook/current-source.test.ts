import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { test } from "tap";
import { createLogger } from "../../shared/server/logger.ts";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { CurrentSource } from "../../webhook/app.ts";
import { closeIdleWhileUnloaded } from "../../webhook/main.ts";
import { PendingList } from "../../webhook/pending/list.ts";
import { SharedStore } from "../../webhook/pending/shared-store.ts";
import { FakeKubernetes } from "../certs/rotation/fake-kubernetes.ts";
import { FakeClock } from "../shared/fake-clock.ts";
import { fixture } from "./reviews.ts";
import { COMPANY, FakeSource, webhookUnderTest } from "./webhook-under-test.ts";

test("answers as not ready, and closes connections, while the inventory is older than 5 minutes", async (t) => {
  const [clock, source, served] = [new FakeClock(), new FakeSource(), new FakeSource(COMPANY)];
  const current = new CurrentSource(source, clock);
  Object.defineProperty(served, "status", { get: () => current.status });
  const { app } = webhookUnderTest(served);
  const post = async (path: string, name: string): Promise<readonly [number, string, unknown]> => {
    const { statusCode, body, headers } = await app.inject({ method: "POST", url: path, payload: fixture(name) });
    return [statusCode, body, headers.connection];
  };
  clock.advance(300_000);
  const [status, , connection] = await post("/mutate/resources", "bucket-create-selected");
  t.same([status, connection], [200, "keep-alive"]);
  clock.advance(1);
  clock.setWallClock(-3_600_000);
  const message = "ERR_NOT_READY: The inventory is older than 5 minutes. Retry in a moment.";
  for (const path of ["/mutate/resources", "/validate/resources"]) {
    const [code, body, header] = await post(path, "bucket-create-selected");
    t.same([code, header], [500, "close"], path);
    t.match(body, message);
  }
  const malformed = await post("/validate/iamroleselectors", "selector-create-malformed");
  t.match(malformed, [200, /"allowed":false.*IRS-/, "close"], "a check of the object alone still denies");
  source.status = { loaded: true, lastSyncMs: clock.steady(), fault: null };
  t.match(await post("/mutate/resources", "bucket-create-selected"), [200, /"allowed":true/, "keep-alive"]);
});

test("compares no change before the watch has delivered what another replica removed from the list", async (t) => {
  const [clock, source, api] = [new FakeClock(), new FakeSource(), new FakeKubernetes()];
  const configMap = { namespace: "ns", name: "pending" };
  api.put("/api/v1/namespaces/ns/configmaps/pending", {
    apiVersion: "v1", kind: "ConfigMap", metadata: configMap, data: { "delivered.IAMRoleSelector": "70" },
  });
  const current = new CurrentSource(source, clock);
  const list = new PendingList({ source: current, kinds: [], clock });
  const log = createLogger({ name: "webhook", level: "fatal" });
  const store = new SharedStore({ api, clock, random: () => 0, log, list, source: current, configMap });
  const write = { kind: "IAMRoleSelector", name: "team-a", isDeletion: false, uid: null, base: null, object: null };
  source.positionOf = () => "70";
  t.equal(await store.add(write, () => true, () => 2_000), "added");
  source.positionOf = () => "69";
  const late = store.add(write, () => true, () => 2_000);
  clock.advance(2_000);
  t.match(await late, { reason: "the watch of this replica is behind" });
});

test("closes idle connections while the inventory is too old, and open ones after their response", async (t) => {
  const [clock, source] = [new FakeClock(), new FakeSource()];
  const current = new CurrentSource(source, clock);
  const server = createServer((_request, response) => response.end()).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const stop = closeIdleWhileUnloaded(server, current, clock);
  const socket = connect(boundAddress(server).port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(socket, "data");
  clock.advance(300_000);
  t.equal(socket.destroyed, false);
  const closed = once(socket, "close");
  clock.advance(1_000);
  await closed;
  stop();
  t.same(clock.delays, []);
});
