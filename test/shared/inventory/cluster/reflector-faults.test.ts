import { test } from "tap";
import { following, line, list, relists, thing } from "./reflector-fixture.ts";

test("410 by an ERROR event lists again and tells the difference alone", async (t) => {
  const all = await following(t);
  const watch = await all.synced("a", "b", "same");
  await watch.write(line("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" }));
  await watch.closed;
  await relists(t, all);
  t.notOk(all.recorder.told.includes("fault"), "it is no fault");
});

test("410 by the status of a watch lists again", async (t) => {
  const all = await following(t);
  (await all.synced("a", "b", "same")).end();
  await all.pass();
  (await all.server.next()).answer(410, { kind: "Status", code: 410 });
  await relists(t, all);
});

test("410 in the middle of a list begins the list anew", async (t) => {
  const { server, recorder, pass } = await following(t);
  (await server.next()).answer(200, list("10", [thing("a", "1"), thing("b", "2")], { continue: "token" }));
  (await server.next()).answer(410, { kind: "Status", code: 410, reason: "Expired" });
  await pass();
  const again = await server.next();
  t.same(again.query, { limit: "2" });
  again.answer(200, list("20", [thing("b", "2")]));
  await server.next();
  t.same(recorder.told, ["+b", "well", "current"]);
});

const UNREADABLE: readonly (readonly [name: string, line: string])[] = [
  ["a line that is not JSON", "{\n"],
  ["an empty line", "\n"],
  ["an event of an unknown type", line("RENAMED", thing("b", "11"))],
  ["an event without a version", line("ADDED", { metadata: { name: "b" } })],
  ["an event without a name", line("ADDED", { metadata: { resourceVersion: "11" } })],
];

for (const [name, text] of UNREADABLE) {
  test(`${name} is a fault, and the list is read again`, async (t) => {
    const all = await following(t);
    const watch = await all.synced("a", "b", "same");
    await watch.write(text + line("ADDED", thing("later", "12")));
    await all.recorder.hears("fault");
    t.equal(all.recorder.lastFault, "what the API server sent for watch things.example.com cannot be read; listing again");
    await relists(t, all);
    t.notOk(all.recorder.told.includes("+later"), "nothing behind it is taken");
  });
}

test("another ERROR event is a fault, and the list is read again", async (t) => {
  const all = await following(t);
  const watch = await all.synced("a", "b", "same");
  await watch.write(line("ERROR", { kind: "Status", code: 500, message: "etcd is away" }));
  await all.recorder.hears("fault");
  t.equal(all.recorder.lastFault, "the API server ended the watch of things.example.com: etcd is away");
  await relists(t, all);
});

test("a line of over 16 MiB is a fault, and the list is read again", async (t) => {
  const all = await following(t);
  const watch = await all.synced("a", "b", "same");
  void watch.write(Buffer.alloc(17 * 1024 * 1024, "x"));
  await all.recorder.hears("fault");
  t.equal(all.recorder.lastFault, "the API server sent a line of over 16777216 bytes; listing again");
  await relists(t, all);
});

for (const body of ["<html>", "{}", { metadata: { resourceVersion: "1" }, items: {} }, list("1", [{}])]) {
  test(`a list that reads ${JSON.stringify(body)} is a fault`, async (t) => {
    const { server, recorder, pass } = await following(t);
    (await server.next()).answer(200, body);
    await recorder.hears("fault");
    t.equal(recorder.lastFault, "what the API server sent for list things.example.com cannot be read; listing again");
    await pass();
    (await server.next()).answer(200, { metadata: { resourceVersion: "1" }, items: null });
    await recorder.hears("nothing");
    t.equal(recorder.lastFault, null);
  });
}

const INSTALL = 'install its CustomResourceDefinition, as with "ack-role-resolver manifests crds | kubectl apply -f -"';
const REFUSALS: readonly (readonly [status: number, body: unknown, fault: string])[] = [
  [404, "404 page not found", `the cluster has no Thing (404 on /apis/example.com/v1/things), which is not the same as having none of them; ${INSTALL}`],
  [403, { message: 'things.example.com is forbidden: User "jane"' }, 'not allowed to list things.example.com in the whole cluster; grant the verbs list and watch on it, as "ack-role-resolver manifests rbac" does; the API server said: things.example.com is forbidden: User "jane"'],
  [401, { message: "Unauthorized" }, "the API server does not accept the credentials (401 on list things.example.com); renew them in the kubeconfig; the API server said: Unauthorized"],
  [500, { message: "" }, "the API server answered 500 on list things.example.com"],
  [302, "moved", "the API server answered 302 on list things.example.com"],
];

for (const [status, body, fault] of REFUSALS) {
  test(`${status} on a list is a fault in words, never an empty list, and is tried again`, async (t) => {
    const { server, recorder, pass } = await following(t);
    (await server.next()).answer(status, body, { location: "http://192.0.2.1/" });
    await recorder.hears("fault");
    t.equal(recorder.lastFault, fault);
    t.same(recorder.told, ["fault"]);
    await pass();
    (await server.next()).answer(200, list("10", [thing("a", "1")]));
    await recorder.hears("+a");
    t.equal(recorder.lastFault, null);
  });
}

test("403 on a watch names that verb and keeps the view; 404 lists again", async (t) => {
  const { server, recorder, pass, synced } = await following(t);
  (await synced("a")).end();
  await pass();
  (await server.next()).answer(403, { message: "forbidden" });
  await recorder.hears("fault");
  t.match(recorder.lastFault, /^not allowed to watch things\.example\.com in the whole cluster; /);
  await pass();
  const watch = await server.next();
  t.equal(watch.query["resourceVersion"], "10");
  watch.answer(404, "gone");
  await recorder.hears("fault");
  await pass();
  t.same((await server.next()).query, { limit: "2" });
  t.notOk(recorder.told.includes("-a"), "what was known stays known");
});

for (const [status, header, expectedMs] of [
  [429, "7", 7000],
  [503, "Thu, 01 Jan 2026 00:00:12 GMT", 12_000],
  [429, "soon", 800],
] as const) {
  test(`${status} with Retry-After: ${header} is tried again after ${expectedMs} ms`, async (t) => {
    const { server, pass } = await following(t);
    (await server.next()).answer(status, {}, { "retry-after": header });
    t.equal(await pass(), expectedMs);
    (await server.next()).answer(200, list("10", []));
    await server.next();
  });
}
