import { rm, writeFile } from "node:fs/promises";
import { test } from "tap";
import { Inventory } from "../../../shared/decisions/inventory/inventory.ts";
import { field, stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import { ManifestSource } from "../../../shared/inventory/manifests/source.ts";
import { type InventorySource, Listeners, type SourceStatus } from "../../../shared/inventory/source.ts";
import { createLogger, type Logger, logInventory } from "../../../shared/server/logger.ts";

function captured(): { readonly log: Logger; readonly lines: () => unknown[] } {
  const written: string[] = [];
  const log = createLogger({ name: "test", destination: { write: (line: string) => void written.push(line) } });
  const lines = (): unknown[] => written.splice(0).map((line) => {
    const read: unknown = JSON.parse(line);
    return [stringAt(read, "level"), stringAt(read, "msg"), stringAt(read, "fault") ?? `${String(field(read, "selectors"))}/${String(field(read, "malformed_selectors"))}`];
  });
  return { log, lines };
}

test("each change of state is one line, with its reason", async (t) => {
  const listeners = new Listeners();
  let status: SourceStatus = { loaded: false, lastSyncMs: null, fault: null };
  const source: InventorySource = {
    inventory: new Inventory({ runtime: "ack", origin: "cluster" }),
    get status() {
      return status;
    },
    start: async () => {}, stop: async () => {}, onChange: (listener) => listeners.add(listener),
  };
  const become = (loaded: boolean, fault: string | null): void => {
    status = { loaded, lastSyncMs: null, fault };
    listeners.notify();
  };
  const { log, lines } = captured();
  const end = logInventory(source, log);
  t.same(lines(), [], "nothing is known yet");
  become(false, "the API server is away");
  become(false, "the API server is still away");
  t.same(lines(), [["warn", "inventory could not be read yet", "the API server is away"]]);
  become(true, null);
  become(true, null);
  t.same(lines(), [["info", "inventory loaded", "0/0"]]);
  become(true, "gone");
  become(true, null);
  t.same(lines(), [["warn", "inventory is not current; the last good view stays in force", "gone"], ["info", "inventory is current again", "undefined/undefined"]]);
  end();
  become(true, "gone");
  t.same(lines(), []);
});

test("a watched folder that turns bad is a line that names file, line and fault", async (t) => {
  const folder = t.testdir({});
  const source = new ManifestSource([folder], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  const { log, lines } = captured();
  t.teardown(logInventory(source, log));
  t.same(lines(), [["info", "inventory loaded", "0/0"]]);
  await Promise.all([changed(source), writeFile(`${folder}/a.yaml`, "a: [")]);
  t.match(lines(), [["warn", "inventory is not current; the last good view stays in force", /a\.yaml:1: not YAML: /]]);
  await Promise.all([changed(source), rm(`${folder}/a.yaml`)]);
  t.match(lines(), [["info", "inventory is current again"]]);
});

function changed(source: InventorySource): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = source.onChange(resolve);
  return promise.finally(end);
}

function capture(): { readonly lines: string[]; write(line: string): void } {
  const lines: string[] = [];
  return { lines, write: (line) => void lines.push(line) };
}

test("a line is JSON: level by name, ISO time, the program's name, fields and a constant sentence", (t) => {
  const destination = capture();
  createLogger({ name: "webhook", destination }).info({ uid: "u-1" }, "review answered");
  const line: unknown = JSON.parse(destination.lines[0] ?? "");
  t.match(line, { level: "info", name: "webhook", uid: "u-1", msg: "review answered", time: /^\d{4}-\d\d-\d\dT.*Z$/ });
  t.notMatch(destination.lines[0], /"pid"|"hostname"/);
  t.end();
});

test("below the level nothing is written, at it something is", (t) => {
  const destination = capture();
  const log = createLogger({ name: "webhook", level: "warn", destination });
  log.info("quiet");
  log.warn("loud");
  t.equal(destination.lines.length, 1);
  t.end();
});

test("a credential that reaches the logger all the same is not written", (t) => {
  const destination = capture();
  const log = createLogger({ name: "sidecar", destination });
  log.info({ authorization: "planted-1", headers: { authorization: "planted-2" }, session: { SecretAccessKey: "planted-3" } }, "x");
  t.notMatch(destination.lines[0], "planted");
  t.match(destination.lines[0], "[redacted]");
  t.end();
});
