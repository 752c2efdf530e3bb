import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { closeSync, openSync, readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { setImmediate, setTimeout } from "node:timers/promises";
import { test } from "tap";
import { Inventory } from "../../../shared/core/inventory.ts";
import { field, stringAt } from "../../../shared/formats/json.ts";
import { EXTENDED_NOTICE } from "../../../shared/core/context.ts";
import { ManifestSource } from "../../../shared/sources/file-source.ts";
import { ALWAYS_CURRENT, type InventorySource, Listeners, type SourceStatus } from "../../../shared/sources/source.ts";
import {
  createLogger, type Logger, logInventory, logNotices, LogOutput, logUnknownGroups,
} from "../../../shared/server/logger.ts";
import { eventually } from "../sources/eventually.ts";

function captured(): { readonly log: Logger; readonly lines: () => unknown[] } {
  const output: string[] = [];
  const log = createLogger({ name: "test", destination: { write: (line: string) => void output.push(line) } });
  const lines = (): unknown[] => output.splice(0).map((line) => {
    const entry: unknown = JSON.parse(line);
    const counts = `${String(field(entry, "selectors"))}/${String(field(entry, "malformed_selectors"))}`;
    return [stringAt(entry, "level"), stringAt(entry, "msg"), stringAt(entry, "fault") ?? counts];
  });
  return { log, lines };
}

test("logs each change of the inventory state once, and includes the fault in the log line", async (t) => {
  const listeners = new Listeners();
  let status: SourceStatus = { loaded: false, lastSyncMs: null, fault: null };
  const source: InventorySource = {
    inventory: new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS),
    get status() {
      return status;
    },
    positionOf: () => null, prove: async () => ALWAYS_CURRENT, accept: () => false,
    start: async () => {}, stop: async () => {}, onChange: (listener) => listeners.add(listener),
  };
  const setStatus = (loaded: boolean, fault: string | null): void => {
    status = { loaded, lastSyncMs: null, fault };
    listeners.notify();
  };
  const { log, lines } = captured();
  const stop = logInventory(source, log, () => source.inventory.of(SELECTORS));
  t.same(lines(), [], "no state is known yet");
  setStatus(false, "the API server is unreachable");
  setStatus(false, "the API server is still unreachable");
  t.same(lines(), [["warn", "inventory is not loaded yet", "the API server is unreachable"]]);
  setStatus(true, null);
  setStatus(true, null);
  t.same(lines(), [["info", "inventory loaded", "0/0"]]);
  setStatus(true, "unreachable");
  setStatus(true, null);
  t.same(lines(), [
    ["warn", "inventory is stale; the last valid inventory is in use", "unreachable"],
    ["info", "inventory is current again", "undefined/undefined"],
  ]);
  stop();
  setStatus(true, "unreachable");
  t.same(lines(), []);
});

test("logs the file, line and fault when a file becomes invalid", async (t) => {
  const folder = t.testdir({});
  const source = new ManifestSource([folder], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  const { log, lines } = captured();
  t.teardown(logInventory(source, log, () => source.inventory.of(SELECTORS)));
  t.same(lines(), [["info", "inventory loaded", "0/0"]]);
  await writeFile(`${folder}/a.yaml`, "a: [");
  await eventually(source, () => source.status.fault !== null);
  t.match(lines(), [["warn", "inventory is stale; the last valid inventory is in use", /a\.yaml:1: invalid YAML: /]]);
  await rm(`${folder}/a.yaml`);
  await eventually(source, () => source.status.fault === null);
  t.match(lines(), [["info", "inventory is current again"]]);
});

function capture(): { readonly lines: string[]; write(line: string): void } {
  const lines: string[] = [];
  return { lines, write: (line) => void lines.push(line) };
}

test("writes JSON lines that have the level name, ISO time, program name, fields and a constant msg", (t) => {
  const destination = capture();
  createLogger({ name: "webhook", destination }).info({ uid: "u-1" }, "review answered");
  const line: unknown = JSON.parse(destination.lines[0] ?? "");
  t.match(line, { level: "info", name: "webhook", uid: "u-1", msg: "review answered", time: /^\d{4}-\d\d-\d\dT.*Z$/ });
  t.notMatch(destination.lines[0], /"pid"|"hostname"/);
  t.end();
});

test("writes only lines at or above the log level", (t) => {
  const destination = capture();
  const log = createLogger({ name: "webhook", level: "warn", destination });
  log.info("quiet");
  log.warn("loud");
  t.equal(destination.lines.length, 1);
  t.end();
});

test("redacts credentials in log lines", (t) => {
  const destination = capture();
  const log = createLogger({ name: "sidecar", destination });
  const session = { keys: [{ SecretAccessKey: "planted-3" }] };
  const err = Object.assign(new Error("refused"), { token: "planted-4" });
  log.info({ authorization: "planted-1", headers: { authorization: "planted-2" }, session, err }, "x");
  t.notMatch(destination.lines[0], "planted");
  t.match(destination.lines[0], /^\{.*"authorization":"\[redacted\]".*"msg":"x"\}\n$/);
  t.end();
});

test("has written each line, in order and with its own time, when the call returns", async (t) => {
  const file = `${t.testdir({})}/log`;
  const fd = openSync(file, "a");
  const lines = (): unknown[] => (
    readFileSync(file, "utf8").split("\n").slice(0, -1).map((line): unknown => JSON.parse(line))
  );
  const log = createLogger({ name: "webhook", destination: new LogOutput(fd) });
  const other = createLogger({ name: "sidecar", destination: new LogOutput(fd) });
  const startedAt = new Date().toISOString();
  for (let i = 0; i < 3; i++) {
    log.info("a");
    t.equal(lines().length, 2 * i + 1);
    other.warn("b");
    t.equal(lines().length, 2 * i + 2);
    await setTimeout(5);
  }
  const times = lines().map((line) => stringAt(line, "time") ?? "");
  t.same(times.toSorted(), times);
  t.ok((times[0] ?? "") >= startedAt && (times[1] ?? "") < (times[2] ?? ""));
  t.same(lines().map((line) => stringAt(line, "msg")), ["a", "b", "a", "b", "a", "b"]);
  closeSync(fd);
});

test("throws nothing, and loses no other line, for a field that has no JSON", (t) => {
  const destination = capture();
  const log = createLogger({ name: "webhook", destination });
  const broken = { toJSON: (): never => { throw new Error("broken"); } };
  for (const fields of [{ uid: "u-1" }, { uid: 1n }, { uid: broken }, { uid: "u-4" }]) log.info(fields, "answered");
  t.match(destination.lines.map((line) => field(JSON.parse(line), "uid")), ["u-1", 1, String, "u-4"]);
  t.end();
});

test("drops lines that cannot be written, and throws nothing", { skip: process.platform !== "linux" }, async (t) => {
  const fd = openSync("/dev/full", "w");
  const log = createLogger({ name: "webhook", destination: new LogOutput(fd) });
  t.doesNotThrow(() => log.info("an error here would change the response"));
  await setImmediate();
  t.doesNotThrow(() => log.warn("an error in a later turn would end the process"));
  closeSync(fd);
  const file = `${t.testdir({})}/log`;
  t.equal(openSync(file, "a"), fd, "the disk has space again");
  log.warn("b");
  t.match(readFileSync(file, "utf8"), /^[^\n]*"msg":"b"\}\n$/);
  closeSync(fd);
});

test("logs each unknown group once, and ignores the groups in --extra-groups", (t) => {
  const listeners = new Listeners();
  const logged: unknown[] = [];
  const groups = new Set(["s3.services.k8s.aws", "extra.services.k8s.aws", "services.k8s.aws"]);
  const onChange = (listener: () => void): (() => void) => listeners.add(listener);
  const source = { inventory: { kinds: { groups } }, onChange };
  const log = { warn: (...line: unknown[]) => void logged.push(line) };
  logUnknownGroups(source, log, ["extra.services.k8s.aws"]);
  listeners.notify();
  t.same(logged, []);
  groups.add("new.services.k8s.aws");
  listeners.notify();
  listeners.notify();
  t.same(logged, [[
    { group: "new.services.k8s.aws" },
    "unknown ACK API group: the webhook does not check resources of the group, and may be unable to read them; "
      + "render the manifests and start the webhook with --extra-groups set to the group, or upgrade",
  ]]);
  t.end();
});

test("logs at startup that shipped controllers do not support the runtime extended", (t) => {
  const logged: unknown[] = [];
  const log = { warn: (line: unknown) => void logged.push(line) };
  logNotices({ runtime: "ack" }, log);
  t.same(logged, []);
  logNotices({ runtime: "extended" }, log);
  t.same(logged, [EXTENDED_NOTICE]);
  t.end();
});

test("escapes commands to CI runners", (t) => {
  const output: string[] = [];
  const log = createLogger({ name: "test", destination: { write: (line: string) => void output.push(line) } });
  const name = "##[stop-commands]x ::error::y";
  log.info({ object: name, token: "planted" }, "a");
  t.notMatch(output.join(""), /##\[|::error::|planted/);
  t.same(output.map((line) => field(JSON.parse(line), "object")), [name]);
  t.end();
});
