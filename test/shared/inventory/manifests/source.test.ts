import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { test } from "tap";
import { ManifestSource } from "../../../../shared/inventory/manifests/source.ts";
import { FakeClock } from "../fake-clock.ts";

const selector = (name: string, namespace = "team-a"): string =>
  JSON.stringify({
    apiVersion: "services.k8s.aws/v1alpha1",
    kind: "IAMRoleSelector",
    metadata: { name },
    spec: { arn: `arn:aws:iam::111111111111:role/${name}`, namespaceSelector: { names: [namespace] } },
  });

const names = (source: ManifestSource): string[] => [...source.inventory.selectors.keys()].toSorted();

/** Resolves at the next change for which `holds`. */
async function change(source: ManifestSource, holds: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = source.onChange(() => (holds() ? resolve() : undefined));
  await promise;
  end();
}

/** A source on a clock that stands still, with no notices but those that the test gives. */
function quietSource(paths: readonly string[]): { source: ManifestSource; clock: FakeClock; notice: () => void; watched: string[]; ended: () => number } {
  const clock = new FakeClock();
  const watched: string[] = [];
  const listeners: (() => void)[] = [];
  let ended = 0;
  const watch = (path: string, onEvent: () => void): (() => void) => {
    watched.push(path);
    listeners.push(onEvent);
    return () => void ended++;
  };
  const notice = (): void => listeners.forEach((listener) => listener());
  return { source: new ManifestSource(paths, { runtime: "ack", clock, watch }), clock, notice, watched, ended: () => ended };
}

test("a folder is loaded, followed as it changes, and left alone when stopped", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a"), "ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {tier: gold}}" });
  const source = new ManifestSource([folder], { runtime: "ack" });
  t.same(source.status, { loaded: false, lastSyncMs: null, fault: null });
  await source.start();
  t.match(source.status, { loaded: true, lastSyncMs: Number, fault: null });
  t.same(names(source), ["a"]);
  t.equal(source.inventory.namespaceLabels("team-a").get("tier"), "gold");
  t.same(source.manifests.map(({ file }) => file.replace(folder, "")), ["/a.yaml", "/ns.yaml"]);

  await mkdir(`${folder}/deep`);
  await writeFile(`${folder}/deep/b.yaml`, selector("b"));
  await change(source, () => names(source).length === 2);
  t.same(names(source), ["a", "b"]);

  await rm(`${folder}/a.yaml`);
  await change(source, () => names(source).length === 1);
  t.same(names(source), ["b"]);

  await writeFile(`${folder}/new`, selector("c"));
  await rename(`${folder}/new`, `${folder}/deep/b.yaml`);
  await change(source, () => names(source).includes("c"));
  t.same(names(source), ["c"]);
  await source.stop();
});

test("a file's own folder is watched, so that a replaced file is seen", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const source = new ManifestSource([`${folder}/a.yaml`], { runtime: "ack" });
  await source.start();
  await writeFile(`${folder}/new`, selector("b"));
  await rename(`${folder}/new`, `${folder}/a.yaml`);
  await change(source, () => names(source).includes("b"));
  t.same(names(source), ["b"]);
  await source.stop();
});

test("a change takes effect within 2 s even when nothing tells of it", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock } = quietSource([folder]);
  await source.start();
  await writeFile(`${folder}/a.yaml`, selector("other"));
  const changed = change(source, () => true);
  t.ok(Math.max(...clock.delays) < 2000);
  clock.advance(2000);
  await changed;
  t.same(names(source), ["other"]);
  await source.stop();
  t.same(clock.delays, [], "no timer is left");
});

test("a folder that turns bad keeps the last good view, says why, and recovers", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock, notice } = quietSource([folder]);
  await source.start();
  const before = source.status.lastSyncMs;

  await writeFile(`${folder}/a.yaml`, "{");
  await writeFile(`${folder}/b.yaml`, "x: 1");
  let changed = change(source, () => true);
  notice();
  clock.advance(50);
  await changed;
  t.match(source.status, { loaded: true, lastSyncMs: before });
  const fault = source.status.fault?.replaceAll(folder, "") ?? "";
  t.match(fault, /^\/a\.yaml:1: not YAML: .*\n\/b\.yaml:1: not a Kubernetes object: apiVersion and kind must be set, as a string$/);
  t.same(names(source), ["a"]);
  t.same(source.manifests.length, 1);

  await clock.scheduled(() => true);
  clock.advance(1000);
  await clock.scheduled(() => true);
  t.equal(source.status.lastSyncMs, before, "a bad folder is not current, however often it is looked at");

  let told = 0;
  const end = source.onChange(() => void told++);
  notice();
  clock.advance(50);
  await clock.scheduled(() => true);
  t.equal(told, 0, "a notice that changes nothing about the fault is told to nobody");
  end();

  await rm(`${folder}/b.yaml`);
  await writeFile(`${folder}/a.yaml`, selector("a"));
  changed = change(source, () => source.status.fault === null);
  notice();
  clock.advance(50);
  await changed;
  t.same(source.status, { loaded: true, lastSyncMs: clock.now(), fault: null });
  t.same(names(source), ["a"]);
  await source.stop();
});

test("looking again at what is unchanged proves it current and tells nobody", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock } = quietSource([folder]);
  await source.start();
  source.onChange(() => t.fail("nothing changed"));
  clock.advance(1000);
  await clock.scheduled(() => true);
  t.equal(source.status.lastSyncMs, clock.now());
  await source.stop();
});

test("notices in a burst are one reading, and one that changes nothing tells nobody", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock, notice } = quietSource([folder]);
  await source.start();
  source.onChange(() => t.fail("nothing changed"));
  notice();
  clock.advance(20);
  notice();
  t.same(clock.delays, [50], "the later notice does not put it off");
  clock.advance(30);
  await clock.scheduled(() => true);
  t.equal(source.status.lastSyncMs, clock.now());
  await source.stop();
});

test("a notice during a reading is followed by another reading", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a") });
  const { source, clock, notice } = quietSource([folder]);
  const starting = source.start();
  notice();
  await starting;
  t.same(clock.delays, [50]);
  await source.stop();
});

test("starting on what cannot be read rejects with every fault and leaves nothing open", async (t) => {
  const folder = t.testdir({ "a.yaml": "x: 1\n---\n- 1", "b.yaml": "[" });
  const { source, clock, watched, ended } = quietSource([folder, `${folder}/missing`]);
  await t.rejects(source.start(), { code: "ERR_INPUT_UNREADABLE", message: /missing: no such.*\n.*a\.yaml:1: .*\n.*a\.yaml:3: .*\n.*b\.yaml:1: / });
  t.equal(source.status.loaded, false);
  t.same(watched, [folder, `${folder}/missing`]);
  t.equal(ended(), 2);
  t.same(clock.delays, []);
});

test("an empty folder is loaded, and a selector whose name is to be generated takes part", async (t) => {
  const folder = t.testdir({});
  const { source, clock } = quietSource([folder]);
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
