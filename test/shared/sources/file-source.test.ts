import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { watch } from "node:fs";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { test } from "tap";
import { ManifestSource, watchPath } from "../../../shared/sources/file-source.ts";
import { eventually } from "./eventually.ts";
import { fakeSource, names, reload, selector } from "./fake-source.ts";

function notified(source: ManifestSource): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = source.onChange(resolve);
  return promise.finally(unsubscribe);
}

test("loads a folder, and applies its changes until the source is stopped", async (t) => {
  const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {tier: gold}}";
  const folder = t.testdir({ "a.yaml": selector("a"), "ns.yaml": namespace });
  const source = new ManifestSource([folder], { runtime: "ack" });
  t.same(source.status, { loaded: false, lastSyncMs: null, fault: null });
  await source.start();
  t.match(source.status, { loaded: true, lastSyncMs: Number, fault: null });
  t.same(names(source), ["a"]);
  t.equal(source.inventory.namespaces.labelsOf("team-a").get("tier"), "gold");
  t.same(source.manifests.map(({ file }) => file.replace(folder, "")), ["/a.yaml", "/ns.yaml"]);

  await mkdir(`${folder}/deep`);
  await writeFile(`${folder}/deep/b.yaml`, selector("b"));
  await eventually(source, () => names(source).length === 2);
  t.same(names(source), ["a", "b"]);

  await rm(`${folder}/a.yaml`);
  await eventually(source, () => names(source).length === 1);
  t.same(names(source), ["b"]);

  await writeFile(`${folder}/new`, selector("c"));
  await rename(`${folder}/new`, `${folder}/deep/b.yaml`);
  await eventually(source, () => names(source).includes("c"));
  t.same(names(source), ["c"]);
  await source.stop();
});

test("detects that a rename replaced a file", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const source = new ManifestSource([`${folder}/a.yaml`], { runtime: "ack" });
  await source.start();
  await writeFile(`${folder}/new`, selector("b"));
  await rename(`${folder}/new`, `${folder}/a.yaml`);
  await eventually(source, () => names(source).includes("b"));
  t.same(names(source), ["b"]);
  await source.stop();
});

test("reports events of the path and of the links of a volume, but not of other files beside it", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a"), "server.log": "" });
  const events = watch(folder);
  t.teardown(() => events.close());
  let reported = 0;
  t.teardown(watchPath(`${folder}/a.yaml`, () => void reported++));
  const reportedAt = async (name: string, change: Promise<void>): Promise<number> => {
    reported = 0;
    const seen = new Promise<void>((resolve) => {
      events.on("change", (_type, changed) => void (changed === name && resolve()));
    });
    await Promise.all([seen, change]);
    await new Promise((resolve) => setImmediate(resolve));
    return reported;
  };
  t.equal(await reportedAt("server.log", writeFile(`${folder}/server.log`, "a line")), 0);
  t.ok(await reportedAt("a.yaml", writeFile(`${folder}/a.yaml`, selector("b"))) > 0);
  t.ok(await reportedAt("..data", symlink(".", `${folder}/..data`)) > 0);
});

test("applies a change within 2 s even if no file event arrives", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock } = fakeSource([folder]);
  await source.start();
  await writeFile(`${folder}/a.yaml`, selector("other"));
  const changed = notified(source);
  t.ok(Math.max(...clock.delays) < 2000);
  clock.advance(2000);
  await changed;
  t.same(names(source), ["other"]);
  await source.stop();
  t.same(clock.delays, [], "no timer is left");
});

test("uses the last valid inventory while a file is invalid, reports the faults, and recovers", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock, sendEvent } = fakeSource([folder]);
  await source.start();
  const before = source.status.lastSyncMs;

  await writeFile(`${folder}/a.yaml`, "{");
  await writeFile(`${folder}/b.yaml`, "kind: IAMRoleSelector");
  let changed = notified(source);
  sendEvent();
  clock.advance(50);
  await changed;
  t.match(source.status, { loaded: true, lastSyncMs: before });
  const fault = source.status.fault?.replaceAll(folder, "") ?? "";
  const [first = "", second] = fault.split("\n");
  t.match(first, /^\/a\.yaml:1: invalid YAML: /);
  t.equal(second, "/b.yaml:1: not a Kubernetes object: apiVersion must be set to a string");
  t.same(names(source), ["a"]);
  t.same(source.manifests.length, 1);

  await clock.scheduled(() => true);
  clock.advance(1000);
  await clock.scheduled(() => true);
  t.equal(source.status.lastSyncMs, before, "polling an invalid folder does not make the inventory current");

  let notifications = 0;
  const unsubscribe = source.onChange(() => void notifications++);
  sendEvent();
  clock.advance(50);
  await clock.scheduled(() => true);
  t.equal(notifications, 0, "an unchanged fault does not notify listeners");
  unsubscribe();

  await rm(`${folder}/b.yaml`);
  await writeFile(`${folder}/a.yaml`, selector("a"));
  changed = eventually(source, () => source.status.fault === null);
  sendEvent();
  clock.advance(50);
  await changed;
  t.same(source.status, { loaded: true, lastSyncMs: clock.steady(), fault: null });
  t.same(names(source), ["a"]);
  await source.stop();
});

test("updates the sync time after a poll of unchanged files, and does not notify listeners", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock } = fakeSource([folder]);
  await source.start();
  source.onChange(() => t.fail("nothing changed"));
  clock.advance(1000);
  await clock.scheduled(() => true);
  t.equal(source.status.lastSyncMs, clock.steady());
  await source.stop();
});

test("reads files once after a burst of file events, and does not notify listeners if nothing changed", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock, sendEvent } = fakeSource([folder]);
  await source.start();
  source.onChange(() => t.fail("nothing changed"));
  sendEvent();
  clock.advance(20);
  sendEvent();
  t.same(clock.delays, [50], "the later event does not delay the read");
  clock.advance(30);
  await clock.scheduled(() => true);
  t.equal(source.status.lastSyncMs, clock.steady());
  await source.stop();
});

test("reads the files again if a file event arrives during a read", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock, sendEvent } = fakeSource([folder]);
  const starting = source.start();
  sendEvent();
  await starting;
  t.same(clock.delays, [50]);
  await source.stop();
});

test("start() rejects with every fault, and stops the file watchers", async (t) => {
  const folder = t.testdir({ "a.yaml": "kind: IAMRoleSelector\n---\n- 1", "b.yaml": "[" });
  const { source, clock, watched, stopped } = fakeSource([folder, `${folder}/missing`]);
  await t.rejects(source.start(), {
    code: "ERR_INPUT_UNREADABLE",
    message: /missing: no such.*\n.*a\.yaml:1: .*\n.*a\.yaml:3: .*\n.*b\.yaml:1: /,
  });
  t.equal(source.status.loaded, false);
  t.same(watched, [folder, `${folder}/missing`]);
  t.equal(stopped(), 2);
  t.same(clock.delays, []);
});

test("loads an empty folder, and later adds a selector that has a generated name", async (t) => {
  const folder = t.testdir({});
  const { source, clock } = fakeSource([folder]);
  await source.start();
  t.equal(source.status.loaded, true);
  await writeFile(`${folder}/a.yaml`, selector("a").replace('"name":"a"', '"generateName":"a"'));
  const seen = clock.scheduled(() => true);
  clock.advance(1000);
  await seen;
  await clock.scheduled(() => true);
  t.same(names(source), ["a00001"]);
  await source.stop();
});

test("replaces the inventory as a whole, so that no request sees a part of a change", async (t) => {
  const folder = t.testdir({ "a.yaml": `${selector("a")}\n---\n${selector("b", "team-b")}` });
  const fake = fakeSource([folder]);
  const { source } = fake;
  await source.start();
  const before = source.inventory;
  await reload(fake);
  t.equal(source.inventory, before, "nothing changed");

  await writeFile(`${folder}/a.yaml`, `${selector("b")}\n---\n${selector("a", "team-b")}`);
  await reload(fake);
  t.same(before.of(SELECTORS).get("a")?.namespaces, new Set(["team-a"]));
  t.same(before.of(SELECTORS).get("b")?.namespaces, new Set(["team-b"]));
  t.same(source.inventory.of(SELECTORS).get("a")?.namespaces, new Set(["team-b"]));
  t.same(source.inventory.of(SELECTORS).get("b")?.namespaces, new Set(["team-a"]));
  await source.stop();
});

test("stop() interrupts a load, which then changes nothing", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock, sendEvent } = fakeSource([folder]);
  await source.start();
  await writeFile(`${folder}/a.yaml`, selector("b"));
  source.onChange(() => t.fail("the load was interrupted"));
  sendEvent();
  clock.advance(50);
  await source.stop();
  t.same(names(source), ["a"]);
  t.equal(source.status.fault, null);
  t.same(clock.delays, []);
});
