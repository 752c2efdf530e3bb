import type { Test } from "tap";
import { Outage } from "../../../shared/api/outage.ts";
import { Reflector, type ReflectorHandler } from "../../../shared/api/reflector.ts";
import type { ObjectName, StoredObject, WatchedKind } from "../../../shared/api/watched-kind.ts";
import { FakeClock } from "../fake-clock.ts";
import { isBackoff } from "./fake-cluster.ts";
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

  onFault(fault: Error | null): void {
    this.lastFault = fault?.message ?? null;
    this.#record(fault === null ? "recovered" : "fault");
  }

  /** Resolves when `line` is recorded after the line for which the test last waited. */
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

interface ReflectorFixture {
  readonly server: FakeAPIServer;
  readonly clock: FakeClock;
  /** The clock of the probes during an outage. */
  readonly outageClock: FakeClock;
  readonly recorder: Recorder;
  readonly reflector: Reflector;
  /** Advances the clock by the backoff delay, and returns this delay in ms. */
  readonly passBackoff: () => Promise<number>;
  /**
   * Answers the list request with objects of these names at version 10. Returns the watch that the reflector then
   * opens.
   */
  readonly openWatch: (...names: readonly string[]) => Promise<PendingRequest>;
  /** Sends the headers of the watch. Resolves when the reflector has received the headers. */
  readonly open: (watch: PendingRequest) => Promise<void>;
}

export async function startReflector(t: Test, random = 0): Promise<ReflectorFixture> {
  const server = new FakeAPIServer();
  await server.start();
  const clock = new FakeClock();
  const outageClock = new FakeClock();
  const recorder = new Recorder();
  const common = { api: server.api, random: () => random };
  const outage = new Outage({ ...common, clock: outageClock });
  const reflector = new Reflector({ ...common, kind: KIND, handler: recorder, clock, outage });
  t.teardown(async () => {
    await Promise.all([reflector.stop(), outage.stop()]);
    await server.stop();
  });
  reflector.start();
  const passBackoff = async (): Promise<number> => {
    const delayMs = await clock.scheduled(isBackoff);
    clock.advance(delayMs);
    return delayMs;
  };
  const openWatch = async (...names: readonly string[]): Promise<PendingRequest> => {
    (await server.next()).answer(200, list("10", names.map((name) => thing(name, "5"))));
    const watch = await server.next();
    await open(watch);
    return watch;
  };
  const open = async (watch: PendingRequest): Promise<void> => {
    watch.open();
    await clock.scheduled((ms) => ms === CONFIRM_MS);
  };
  return { server, clock, outageClock, recorder, reflector, passBackoff, openWatch, open };
}

/** The time without an ERROR event after which the reflector treats a new watch as valid, in ms. */
export const CONFIRM_MS = 500;

/** Expects a new list request, and answers with a changed object a and a new object c, but without object b. */
export async function assertRelist(t: Test, { server, recorder }: ReflectorFixture): Promise<void> {
  const again = await server.next();
  t.equal(again.query["watch"], undefined);
  again.answer(200, list("50", [thing("a", "41", { note: "new" }), thing("same", "5"), thing("c", "42")]));
  t.equal((await server.next()).query["resourceVersion"], "50");
  t.same(recorder.calls.slice(-3), ["+a(new) +c -b", "recovered", "sync"]);
}
