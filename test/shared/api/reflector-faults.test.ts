import { test } from "tap";
import { assertRelist, line, list, startReflector, thing } from "./reflector-fixture.ts";

test("lists again after an ERROR event whose code is 410, and reports only the differences", async (t) => {
  const all = await startReflector(t);
  const watch = await all.openWatch("a", "b", "same");
  await watch.write(
    line("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" }),
  );
  await watch.closed;
  await assertRelist(t, all);
  t.notOk(all.recorder.calls.includes("fault"), "410 is not a fault");
});

test("lists again after a 410 response to a watch", async (t) => {
  const all = await startReflector(t);
  (await all.openWatch("a", "b", "same")).end();
  await all.passBackoff();
  (await all.server.next()).answer(410, { kind: "Status", code: 410 });
  await assertRelist(t, all);
});

test("restarts a list after a 410 response to its second page", async (t) => {
  const { server, recorder, passBackoff } = await startReflector(t);
  const expire = async (): Promise<void> => {
    (await server.next()).answer(200, list("10", [thing("a", "1"), thing("b", "2")], { continue: "token" }));
    (await server.next()).answer(410, { kind: "Status", code: 410, reason: "Expired" });
  };
  await expire();
  await expire();
  t.equal(await passBackoff(), 800, "only the first restart is immediate");
  const again = await server.next();
  t.same(again.query, { limit: "2" });
  again.answer(200, list("20", [thing("b", "2")]));
  await server.next();
  t.same(recorder.calls, ["+b", "recovered", "sync"]);
});

const UNREADABLE: readonly (readonly [name: string, line: string])[] = [
  ["a line that is not JSON", "{\n"],
  ["an empty line", "\n"],
  ["an event of an unknown type", line("RENAMED", thing("b", "11"))],
  ["an event without a resource version", line("ADDED", { metadata: { name: "b" } })],
  ["an event without a name", line("ADDED", { metadata: { resourceVersion: "11" } })],
];

for (const [name, text] of UNREADABLE) {
  test(`reports ${name} as a fault, and lists again`, async (t) => {
    const all = await startReflector(t);
    const watch = await all.openWatch("a", "b", "same");
    await watch.write(text + line("ADDED", thing("later", "12")));
    await all.recorder.waitFor("fault");
    t.equal(all.recorder.lastFault, "the watch response for things.example.com cannot be parsed; relisting");
    await all.passBackoff();
    await assertRelist(t, all);
    t.notOk(all.recorder.calls.includes("+later"), "later events of the watch are dropped");
  });
}

test("reports an ERROR event whose code is not 410 as a fault, and lists again", async (t) => {
  const all = await startReflector(t);
  const watch = await all.openWatch("a", "b", "same");
  await watch.write(line("ERROR", { kind: "Status", code: 500, message: "etcd is unavailable" }));
  await all.recorder.waitFor("fault");
  t.equal(all.recorder.lastFault, "the API server ended the watch of things.example.com: etcd is unavailable");
  await all.passBackoff();
  await assertRelist(t, all);
});

test("reports a watch line of more than 16 MiB as a fault, and lists again", async (t) => {
  const all = await startReflector(t);
  const watch = await all.openWatch("a", "b", "same");
  void watch.write(Buffer.alloc(17 * 1024 * 1024, "x"));
  await all.recorder.waitFor("fault");
  t.equal(all.recorder.lastFault, "the API server sent a watch event larger than 16777216 bytes; relisting");
  await all.passBackoff();
  await assertRelist(t, all);
});

for (const body of ["<html>", "{}", { metadata: { resourceVersion: "1" }, items: {} }, list("1", [{}])]) {
  test(`reports the invalid list response ${JSON.stringify(body)} as a fault`, async (t) => {
    const { server, recorder, passBackoff } = await startReflector(t);
    (await server.next()).answer(200, body);
    await recorder.waitFor("fault");
    t.equal(recorder.lastFault, "the list response for things.example.com cannot be parsed; relisting");
    await passBackoff();
    (await server.next()).answer(200, { metadata: { resourceVersion: "1" }, items: null });
    await recorder.waitFor("empty");
    t.equal(recorder.lastFault, null);
  });
}

const INSTALL = "install its CustomResourceDefinition; the chart of each ACK controller contains the definition of "
  + "IAMRoleSelector";
const FORBIDDEN = 'things.example.com is forbidden: User "jane"';
const ERRORS: readonly (readonly [status: number, body: unknown, fault: string])[] = [
  [
    404, "404 page not found",
    `the API server does not know the kind Thing (404 on /apis/example.com/v1/things); ${INSTALL}`,
  ],
  [
    403, { message: FORBIDDEN },
    "not allowed to list things.example.com in the whole cluster; grant this user or ServiceAccount "
      + "the verbs list and watch on it: "
      + `"ack-role-resolver manifests rbac" prints such a rule; API server message: ${FORBIDDEN}`,
  ],
  [
    401, { message: "Unauthorized" },
    "the API server rejected the credentials (401 on list things.example.com); renew them in the kubeconfig; "
      + "API server message: Unauthorized",
  ],
  [500, { message: "" }, "the API server returned 500 on list things.example.com"],
  [302, "moved", "the API server returned 302 on list things.example.com"],
];

for (const [status, body, fault] of ERRORS) {
  test(`reports a ${status} response to a list as a fault, not as an empty list, and retries`, async (t) => {
    const { server, recorder, passBackoff } = await startReflector(t);
    (await server.next()).answer(status, body, { location: "http://192.0.2.1/" });
    await recorder.waitFor("fault");
    t.equal(recorder.lastFault, fault);
    t.same(recorder.calls, ["fault"]);
    await passBackoff();
    (await server.next()).answer(200, list("10", [thing("a", "1")]));
    await recorder.waitFor("+a");
    t.equal(recorder.lastFault, null);
  });
}

test("resumes a watch after a 403 response, and lists again after a 404 response", async (t) => {
  const { server, recorder, passBackoff, openWatch } = await startReflector(t);
  (await openWatch("a")).end();
  await passBackoff();
  (await server.next()).answer(403, { message: "forbidden" });
  await recorder.waitFor("fault");
  t.match(recorder.lastFault, /^not allowed to watch things\.example\.com in the whole cluster; /);
  await passBackoff();
  const watch = await server.next();
  t.equal(watch.query["resourceVersion"], "10");
  watch.answer(404, "gone");
  await recorder.waitFor("fault");
  await passBackoff();
  t.same((await server.next()).query, { limit: "2" });
  t.notOk(recorder.calls.includes("-a"), "a failed watch removes no object");
});

for (const [status, header, expectedMs] of [
  [429, "7", 7000],
  [503, "Thu, 01 Jan 2026 00:00:12 GMT", 12_000],
  [429, "soon", 800],
] as const) {
  test(`retries after ${expectedMs} ms if a ${status} response has Retry-After: ${header}`, async (t) => {
    const { server, passBackoff } = await startReflector(t);
    (await server.next()).answer(status, {}, { "retry-after": header });
    t.equal(await passBackoff(), expectedMs);
    (await server.next()).answer(200, list("10", []));
    await server.next();
  });
}
