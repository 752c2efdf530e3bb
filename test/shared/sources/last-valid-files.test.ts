import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { test } from "tap";
import { fakeSource, names, reload, selector } from "./fake-source.ts";

const namespace = (name: string, tier: string): string =>
  JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { tier } } });

test("uses the last valid objects of an invalid file, and applies changes of all other files", async (t) => {
  const broken = "x: 1\n";
  const folder = t.testdir({
    "a.yaml": `${selector("a")}\n---\n${selector("a2")}`, "b.yaml": selector("b"), "c.yaml": selector("c"),
  });
  const fake = fakeSource([folder]);
  const { source, clock } = fake;
  await source.start();
  const before = source.status.lastSyncMs;
  await writeFile(`${folder}/a.yaml`, broken);
  await rm(`${folder}/b.yaml`);
  await writeFile(`${folder}/c.yaml`, selector("c", "other"));
  await writeFile(`${folder}/new.yaml`, selector("new"));
  await writeFile(`${folder}/never-valid.yaml`, "[");
  await writeFile(`${folder}/values.yaml`, broken);
  await reload(fake);
  t.same(names(source), ["a", "a2", "c", "new"]);
  t.same(source.inventory.of(SELECTORS).get("c")?.namespaces, new Set(["other"]));
  t.match(source.status, { loaded: true, lastSyncMs: before, fault: /a\.yaml:1: .*\n.*never-valid\.yaml:1: / });

  let notifications = 0;
  source.onChange(() => void notifications++);
  await rm(`${folder}/new.yaml`);
  await reload(fake);
  t.same(names(source), ["a", "a2", "c"]);
  t.equal(notifications, 1, "a change notifies listeners although the fault is the same");

  await rm(`${folder}/a.yaml`);
  await reload(fake);
  t.same(names(source), ["c"], "deleting the invalid file deletes its objects");
  await writeFile(`${folder}/never-valid.yaml`, selector("valid"));
  await reload(fake);
  t.same(names(source), ["c", "valid"]);
  t.same(source.status, { loaded: true, lastSyncMs: clock.steady(), fault: null });
  await source.stop();
});

test("does not skip a template or a Helm template, which may contain selectors", async (t) => {
  const template = "{{ if .Values.team }}\n";
  const chart = { "Chart.yaml": "name: a", templates: { "a.yaml": selector("{{ .Values.team }}") } };
  const folder = t.testdir({ "a.yaml": template + selector("a"), chart });
  const { source } = fakeSource([folder]);
  await t.rejects(source.start(), {
    message: /^.*a\.yaml:.*invalid YAML.*\n.*chart\/templates\/a\.yaml: a template/,
  });
});

test("uses the last valid objects of a file or folder that cannot be read", async (t) => {
  const folder = t.testdir({ "a.yaml": selector("a"), "b.yaml": selector("b"), deep: { "c.yaml": selector("c") } });
  const fake = fakeSource([`${folder}/`]);
  const { source } = fake;
  await source.start();
  // A link to a file outside the folder.
  await symlink("/proc/self/mem", `${folder}/new`);
  await rename(`${folder}/new`, `${folder}/a.yaml`);
  await rename(`${folder}/deep`, `${folder}/.hidden`);
  await symlink("deep", `${folder}/deep`);
  await rm(`${folder}/b.yaml`);
  await reload(fake);
  t.same(names(source), ["a", "c"]);
  t.match(source.status.fault, /deep: symbolic link loop.*\n.*a\.yaml: leads out of the given/);
  await rm(`${folder}/deep`);
  await rm(`${folder}/a.yaml`);
  await reload(fake);
  t.same(names(source), []);
  t.equal(source.status.fault, null);
  await source.stop();
});

test("uses the last valid objects while the watched folder is missing", async (t) => {
  const folder = t.testdir({ watched: { "a.yaml": selector("a") }, "other.yaml": selector("other") });
  const fake = fakeSource([`${folder}/watched//`, `${folder}/other.yaml`]);
  await fake.source.start();
  await rename(`${folder}/watched`, `${folder}/moved`);
  await writeFile(`${folder}/other.yaml`, selector("changed"));
  await reload(fake);
  t.same(names(fake.source), ["a", "changed"]);
  await fake.source.stop();
});

test("removes an object that two files define differently, and no other object", async (t) => {
  const folder = t.testdir({
    "a.yaml": `${selector("a")}\n---\n${namespace("team-a", "gold")}`, "b.yaml": selector("b"),
  });
  const fake = fakeSource([folder]);
  const { source } = fake;
  await source.start();
  await writeFile(`${folder}/copy.yaml`, selector("b"));
  await reload(fake);
  t.same(names(source), ["a", "b"], "the definitions are equal");
  t.match(source.status.fault, /b\.yaml:1: duplicate IAMRoleSelector "b", defined at .*b\.yaml:1, .*copy\.yaml:1;/);

  await writeFile(`${folder}/copy.yaml`, `${selector("b", "other")}\n---\n${namespace("team-a", "silver")}`);
  await rm(`${folder}/b.yaml`);
  await reload(fake);
  t.same(names(source), ["a", "b"], "b has one definition again");
  t.same(source.inventory.of(SELECTORS).get("b")?.namespaces, new Set(["other"]));
  t.notOk(source.inventory.namespaces.has("team-a"), "the namespace has two definitions");
  t.same(source.manifests.length, 2);

  await writeFile(`${folder}/a.yaml`, "x: 1");
  await reload(fake);
  t.notOk(source.inventory.namespaces.has("team-a"), "the last valid definition of an invalid file also counts");
  await rm(`${folder}/a.yaml`);
  await reload(fake);
  t.equal(source.inventory.namespaces.labelsOf("team-a").get("tier"), "silver");
  t.same(source.status.fault, null);
  await source.stop();
});
