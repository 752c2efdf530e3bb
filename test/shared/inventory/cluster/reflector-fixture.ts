import type { Test } from "tap";
import { Reflector, type ReflectorHandler } from "../../../../shared/inventory/cluster/reflector.ts";
import type { ObjectName, StoredObject, WatchedKind } from "../../../../shared/inventory/cluster/watched-kind.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeAPIServer, type PendingRequest } from "./fake-api-server.ts";

const KIND: WatchedKind = {
  group: "example.com",
  version: "v1",
  kind: "Thing",
  plural: "things",
  pageSize: 2,
  transform: (object) => (JSON.stringify(object).includes("uninteresting") ? null : object),
};

/** A handler that records its calls. A test can wait for the next call. */
class Recorder implements ReflectorHandler {
  readonly calls: string[] = [];
  lastFault: string | null = null;
  #recorded = Promise.withResolvers<void>();
  #seen = 0;

  onObjects(put: readonly StoredObject[], removed: readonly ObjectName[]): void {
    const changes = [
      ...put.map(({ name, object }) => `+${name}${note(object)}`), ...removed.map(({ name }) => `-${name}`),
    ];
    this.#record(changes.join(" ") || "empty");
  }

  onSync(): void {
    this.#record("sync");
  }

  onFault(fault: string | null): void {
    this.lastFault = fault;
    this.#record(fault === null ? "recovered" : "fault");
  }

  /** Resolves when `line` is recorded after the line of the last call. */
  async waitFor(line: string): Promise<void> {
    while (!this.calls.includes(line, this.#seen)) await this.#recorded.promise;
    this.#seen = this.calls.indexOf(line, this.#seen) + 1;
  }

  #record(line: string): void {
    this.calls.push(line);
    this.#recorded.resolve();
    this.#recorded = Promise.withResolvers<void>();
  }
}

function note(object: unknown): string {
  const text = /"note":"([^"]*)"/.exec(JSON.stringify(object))?.[1];
  return text === undefined ? "" : `(${text})`;
}

export const thing = (name: string, resourceVersion: string, more: object = {}): object => (
  { metadata: { name, resourceVersion }, ...more }
);
export const list = (resourceVersion: string, items: readonly object[], more: object = {}): object => (
  { kind: "ThingList", metadata: { resourceVersion, ...more }, items }
);
export const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
export const bookmark = (resourceVersion: string): string =>
  line("BOOKMARK", { kind: "Thing", metadata: { resourceVersion } });

export interface ReflectorFixture {
  readonly server: FakeAPIServer;
  readonly clock: FakeClock;
  readonly recorder: Recorder;
  readonly reflector: Reflector;
  /** Advances the clock by the backoff delay, and returns this delay in ms. */
  readonly passBackoff: () => Promise<number>;
  /**
   * Answers the list request with the objects `names` at version 10. Returns the watch that the reflector then opens.
   */
  readonly openWatch: (...names: readonly string[]) => Promise<PendingRequest>;
}

export async function startReflector(t: Test, random = 0): Promise<ReflectorFixture> {
  const server = new FakeAPIServer();
  await server.start();
  const clock = new FakeClock();
  const recorder = new Recorder();
  const reflector = new Reflector({ api: server.api, kind: KIND, handler: recorder, clock, random: () => random });
  t.teardown(async () => {
    await reflector.stop();
    await server.stop();
  });
  reflector.start();
  const passBackoff = async (): Promise<number> => {
    const delayMs = await clock.scheduled((ms) => ms < 60_000);
    clock.advance(delayMs);
    return delayMs;
  };
  const openWatch = async (...names: readonly string[]): Promise<PendingRequest> => {
    (await server.next()).answer(200, list("10", names.map((name) => thing(name, "5"))));
    const watch = await server.next();
    watch.open();
    await recorder.waitFor("sync");
    await recorder.waitFor("recovered");
    return watch;
  };
  return { server, clock, recorder, reflector, passBackoff, openWatch };
}

/** Expects a new list request. The response contains a changed object a and a new object c, but no object b. */
export async function assertRelist(t: Test, { server, recorder, passBackoff }: ReflectorFixture): Promise<void> {
  await passBackoff();
  const again = await server.next();
  t.equal(again.query["watch"], undefined);
  again.answer(200, list("50", [thing("a", "41", { note: "new" }), thing("same", "5"), thing("c", "42")]));
  t.equal((await server.next()).query["resourceVersion"], "50");
  t.same(recorder.calls.slice(-3), ["+a(new) +c -b", "recovered", "sync"]);
}
