import type { Test } from "tap";
import { Reflector, type ListWatchHandler } from "../../../../shared/inventory/cluster/reflector.ts";
import type { StoredObject, ObjectName, WatchedKind } from "../../../../shared/inventory/cluster/watched-kind.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeAPIServer, type HeldRequest } from "./fake-api-server.ts";

const KIND: WatchedKind = {
  group: "example.com",
  version: "v1",
  kind: "Thing",
  plural: "things",
  pageSize: 2,
  keep: (object) => (JSON.stringify(object).includes("uninteresting") ? null : object),
};

/** Writes down what it is told, and lets a test wait for it. */
class Recorder implements ListWatchHandler {
  readonly told: string[] = [];
  lastFault: string | null = null;
  #heard = Promise.withResolvers<void>();
  #seen = 0;

  changed(put: readonly StoredObject[], removed: readonly ObjectName[]): void {
    this.#tell([...put.map(({ name, object }) => `+${name}${note(object)}`), ...removed.map(({ name }) => `-${name}`)].join(" ") || "nothing");
  }

  current(): void {
    this.#tell("current");
  }

  failed(fault: string | null): void {
    this.lastFault = fault;
    this.#tell(fault === null ? "well" : "fault");
  }

  /** Resolves once `line` was told after the last thing waited for. */
  async hears(line: string): Promise<void> {
    while (!this.told.includes(line, this.#seen)) await this.#heard.promise;
    this.#seen = this.told.indexOf(line, this.#seen) + 1;
  }

  #tell(line: string): void {
    this.told.push(line);
    this.#heard.resolve();
    this.#heard = Promise.withResolvers<void>();
  }
}

function note(object: unknown): string {
  const text = /"note":"([^"]*)"/.exec(JSON.stringify(object))?.[1];
  return text === undefined ? "" : `(${text})`;
}

export const thing = (name: string, resourceVersion: string, more: object = {}): object => ({ metadata: { name, resourceVersion }, ...more });
export const list = (resourceVersion: string, items: readonly object[], more: object = {}): object => ({ kind: "ThingList", metadata: { resourceVersion, ...more }, items });
export const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
export const bookmark = (resourceVersion: string): string => line("BOOKMARK", { kind: "Thing", metadata: { resourceVersion } });

export interface Following {
  readonly server: FakeAPIServer;
  readonly clock: FakeClock;
  readonly recorder: Recorder;
  readonly listWatch: Reflector;
  /** Lets the back-off pass, and gives its length in ms. */
  readonly pass: () => Promise<number>;
  /** Answers the list with `names` at version 10, and gives the watch that follows, opened. */
  readonly synced: (...names: readonly string[]) => Promise<HeldRequest>;
}

export async function following(t: Test, random = 0): Promise<Following> {
  const server = new FakeAPIServer();
  await server.start();
  const clock = new FakeClock();
  const recorder = new Recorder();
  const listWatch = new Reflector({ api: server.api, kind: KIND, handler: recorder, clock, random: () => random });
  t.teardown(async () => {
    await listWatch.stop();
    await server.stop();
  });
  listWatch.start();
  const pass = async (): Promise<number> => {
    const delayMs = await clock.scheduled((ms) => ms < 60_000);
    clock.advance(delayMs);
    return delayMs;
  };
  const synced = async (...names: readonly string[]): Promise<HeldRequest> => {
    (await server.next()).answer(200, list("10", names.map((name) => thing(name, "5"))));
    const watch = await server.next();
    watch.open();
    await recorder.hears("current");
    await recorder.hears("well");
    return watch;
  };
  return { server, clock, recorder, listWatch, pass, synced };
}

/** Passes when the next thing asked for is a new list: b is gone from it, c is new and a changed. */
export async function relists(t: Test, { server, recorder, pass }: Following): Promise<void> {
  await pass();
  const again = await server.next();
  t.equal(again.query["watch"], undefined);
  again.answer(200, list("50", [thing("a", "41", { note: "new" }), thing("same", "5"), thing("c", "42")]));
  t.equal((await server.next()).query["resourceVersion"], "50");
  t.same(recorder.told.slice(-3), ["+a(new) +c -b", "well", "current"]);
}
