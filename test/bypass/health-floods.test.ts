// Attacks of a Pod that reaches the health listener. Each test expects the server to limit memory and CPU time.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Registry } from "prom-client";
import { type Test, test } from "tap";
import { LIMITS } from "../../shared/core/limits.ts";
import { type HealthServer, startHealthServer } from "../../shared/server/health.ts";
import { FakeClock } from "../sidecar/fake-clock.ts";

const METRICS_BYTES = 8 * 1024 * 1024;

interface Subject {
  readonly health: HealthServer;
  readonly clock: FakeClock;
  /** Returns how often the metrics were collected. */
  readonly collections: () => number;
  /** Opens a connection, sends the text, and reads nothing. */
  readonly attack: (text: string) => Promise<Socket>;
}

async function subject(t: Test): Promise<Subject> {
  const registry = new Registry();
  const metrics = "x".repeat(METRICS_BYTES);
  let collections = 0;
  registry.metrics = async () => (collections++, metrics);
  const clock = new FakeClock();
  const health = await startHealthServer({
    listen: "127.0.0.1:0",
    registry,
    clock,
    ready: () => ({ ready: true, reasons: [], warnings: [] }),
    started: () => true,
  });
  t.teardown(() => health.close());
  const [host = "", port] = health.address.split(":");
  const attack = async (text: string): Promise<Socket> => {
    const socket = connect(Number(port), host).on("error", () => {}).pause();
    t.teardown(() => socket.destroy());
    await once(socket, "connect");
    socket.write(text);
    return socket;
  };
  return { health, clock, attack, collections: () => collections };
}

const REQUEST = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

test("closes 400 connections that pipeline requests and read no response", async (t) => {
  const { health, attack, collections } = await subject(t);
  const sockets = await Promise.all(Array.from({ length: 400 }, () => attack(REQUEST.repeat(100))));
  await Promise.all(sockets.map(async (socket) => {
    socket.resume();
    if (!socket.closed) await once(socket, "close");
  }));
  t.ok(sockets.every(({ bytesRead }) => bytesRead < METRICS_BYTES), "no pipelined request gets the metrics");
  t.equal(collections(), 1, "the metrics are collected once in a second");
  t.equal((await fetch(`http://${health.address}/healthz`)).status, 200);
});

test("closes the connection after 5 s if the client does not read the metrics", async (t) => {
  const { health, clock, attack } = await subject(t);
  const reader = await fetch(`http://${health.address}/metrics`);
  t.equal((await reader.text()).length, METRICS_BYTES);
  const sockets = await Promise.all(Array.from({ length: LIMITS.healthConnections.value }, () => attack(REQUEST)));
  // Reads the start of each response.
  await Promise.all(sockets.map(async (socket) => once(socket, "readable")));
  const probe = (): Promise<Response> => fetch(`http://${health.address}/healthz`);
  const excess = await probe();
  t.equal(excess.status, 503);
  t.equal(excess.headers.get("retry-after"), "1");
  await clock.advance(LIMITS.healthResponse.value);
  t.equal((await probe()).status, 200);
});

test("serves probes while other connections send no request", async (t) => {
  const { health, attack } = await subject(t);
  await Promise.all(Array.from({ length: LIMITS.healthConnections.value + 20 }, () => attack("")));
  t.equal((await fetch(`http://${health.address}/healthz`)).status, 200);
});
