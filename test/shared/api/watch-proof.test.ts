import { type Test, test } from "tap";
import type { StoredObject } from "../../../shared/api/watched-kind.ts";
import type { PendingRequest } from "./fake-api-server.ts";
import { bookmark, CONFIRM_MS, line, list, startReflector, thing } from "./reflector-fixture.ts";

type Fixture = Awaited<ReturnType<typeof startReflector>>;
/** The time that the API server may take longer than requested to end a watch, in ms. */
const GRACE_MS = 2_500;

/** Starts a reflector whose last proof is too old. Returns it with its watch. */
async function silentReflector(t: Test): Promise<Fixture & { readonly watch: PendingRequest }> {
  const all = await startReflector(t);
  const watch = await all.openWatch("a");
  all.clock.advance(5_001);
  return { ...all, watch };
}

/** Ends a watch after the time for which the reflector has requested it. */
function endInTime({ clock }: Fixture, watch: PendingRequest): void {
  clock.advance(Number(watch.query["timeoutSeconds"]) * 1000);
  watch.end();
}

test("does not ask while a list or an ended watch proves that the objects are current", async (t) => {
  const all = await startReflector(t);
  await all.openWatch("a");
  all.clock.advance(2_500);
  t.equal(await all.reflector.prove(3_000), true);
  t.equal(all.reflector.isCurrent, true);
  t.notOk(all.clock.delays.includes(2_300), "nobody waits");
});

test("asks before the proof is too old, but does not wait", async (t) => {
  const all = await startReflector(t);
  const watch = await all.openWatch("a");
  all.clock.advance(5_000);
  t.equal(await all.reflector.prove(3_000), true);
  await watch.closed;
  t.equal((await all.server.next()).query["timeoutSeconds"], "1");
  t.equal(await all.reflector.prove(3_000), true, "the next caller asks no second time");
});

test("asks with a watch that the API server must end after 1 s, and resumes the usual watch", async (t) => {
  const all = await silentReflector(t);
  const proofs = [all.reflector.prove(3_000), all.reflector.prove(3_000)];
  await all.watch.closed;
  const asked = await all.server.next();
  t.match(asked.query, { timeoutSeconds: "1", resourceVersion: "10" });
  await all.open(asked);
  endInTime(all, asked);
  t.same(await Promise.all(proofs), [true, true], "concurrent callers ask once");
  t.match((await all.server.next()).query, { timeoutSeconds: "75", resourceVersion: "10" });
  all.clock.advance(2_500);
  t.equal(await all.reflector.prove(3_000), true);
  t.notOk(all.recorder.calls.includes("fault"));
});

test("delivers what the watch has missed before the caller continues", async (t) => {
  const all = await silentReflector(t);
  const proof = all.reflector.prove(3_000);
  const asked = await all.server.next();
  await all.open(asked);
  await asked.write(line("ADDED", thing("b", "11")) + line("DELETED", thing("a", "12")));
  endInTime(all, asked);
  t.equal(await proof, true);
  t.same(all.recorder.calls.filter((call) => call.startsWith("+") || call.startsWith("-")), ["+a", "+b", "-a"]);
  t.equal((await all.server.next()).query["resourceVersion"], "12");
});

for (const [what, text] of [["an event", line("ADDED", thing("b", "11"))], ["a bookmark", bookmark("12")]] as const) {
  test(`${what} is no proof, because it can be old when it arrives`, async (t) => {
    const all = await silentReflector(t);
    await all.watch.write(text);
    await all.recorder.waitFor("sync");
    await all.recorder.waitFor("sync");
    t.equal(all.reflector.isCurrent, false);
  });
}

test("a watch that the API server accepts but does not end has stalled, also after it connects again", async (t) => {
  const all = await silentReflector(t);
  const proof = all.reflector.prove(3_000);
  for (let i = 0; i < 2; i++) {
    const asked = await all.server.next();
    t.equal(asked.query["timeoutSeconds"], "1", "it asks until the API server answers");
    await all.open(asked);
    all.clock.advance(CONFIRM_MS);
    t.equal(all.recorder.lastFault === null, i === 0, "an accepted watch does not resolve the fault");
    all.clock.advance(1_000 + GRACE_MS);
    await all.recorder.waitFor("fault");
    if (i === 0) t.equal(await proof, false);
    await all.passBackoff();
  }
  t.equal(all.recorder.lastFault, "the watch of things.example.com stalled: the API server accepted the watch, but did "
    + "not end it after 1 s as requested; check the proxies and load balancers on the way to the API server");
  const answered = await all.server.next();
  await all.open(answered);
  endInTime(all, answered);
  t.match((await all.server.next()).query, { timeoutSeconds: "75" });
  t.equal(all.recorder.lastFault, null);
  t.equal(all.reflector.isCurrent, true);
});

test("a usual watch that does not end stalls too, although nobody asks", async (t) => {
  const all = await silentReflector(t);
  all.clock.advance(80_000);
  await all.recorder.waitFor("fault");
  t.match(all.recorder.lastFault, /^the watch of things\.example\.com stalled: .* after 75 s as requested/);
});

test("a watch that the API server ends early proves nothing about the time after its start", async (t) => {
  const all = await silentReflector(t);
  all.clock.advance(10_000);
  all.watch.end();
  await all.server.next();
  t.equal(all.reflector.isCurrent, false);
});

test("an answer with an error ends the waiting, and the next caller asks again at once", async (t) => {
  const all = await silentReflector(t);
  for (let i = 0; i < 2; i++) {
    const proof = all.reflector.prove(3_000);
    (await all.server.next()).answer(403, {});
    t.equal(await proof, false);
  }
});

test("does not ask an overloaded API server before the time that it named", async (t) => {
  const all = await silentReflector(t);
  const proof = all.reflector.prove(3_000);
  (await all.server.next()).answer(429, {}, { "retry-after": "7" });
  t.equal(await proof, false);
  t.equal(await all.reflector.prove(3_000), false, "at once, without a request");
  t.equal(await all.passBackoff(), 7_000);
  const other = all.reflector.prove(3_000);
  const asked = await all.server.next();
  await all.open(asked);
  endInTime(all, asked);
  t.equal(await other, true);
});

test("waits for the list if the resource version has expired", async (t) => {
  const all = await silentReflector(t);
  const proof = all.reflector.prove(3_000);
  (await all.server.next()).answer(410, {});
  (await all.server.next()).answer(200, list("20", [thing("b", "15")]));
  t.equal(await proof, true);
  t.equal(all.recorder.calls.at(-3), "+b -a");
});

test("waits at most until the limit of the caller, and not after it is stopped", async (t) => {
  const all = await silentReflector(t);
  const proof = all.reflector.prove(300);
  await all.server.next();
  all.clock.advance(300);
  t.equal(await proof, false);
  const other = all.reflector.prove(3_000);
  await all.reflector.stop();
  t.equal(await other, false);
  t.equal(await all.reflector.prove(3_000), false);
});

function stored(name: string, resourceVersion: string, note = ""): StoredObject {
  return { namespace: "", name, resourceVersion, object: { note } };
}

test("accepts an object that was read elsewhere, and ignores older versions that the watch delivers", async (t) => {
  const all = await startReflector(t);
  const watch = await all.openWatch("a");
  const accept = (...parts: Parameters<typeof stored>): boolean => all.reflector.accept(stored(...parts));
  t.equal(accept("a", "5", "same"), true);
  t.equal(accept("a", "4", "older"), false);
  t.equal(accept("a", "15", "accepted"), true);
  t.equal(accept("new", "16", "accepted"), true);
  await watch.write([
    line("MODIFIED", thing("a", "11", { note: "late" })), line("DELETED", thing("a", "12")),
    line("ADDED", thing("a", "13", { note: "late" })), line("MODIFIED", thing("a", "15", { note: "accepted" })),
    line("DELETED", thing("new", "17")), line("DELETED", thing("a", "18")),
  ].join(""));
  await all.recorder.waitFor("-a");
  const changes = all.recorder.calls.filter((call) => call.startsWith("+") || call.startsWith("-"));
  t.same(changes, ["+a", "+a(accepted)", "+new(accepted)", "+a(accepted)", "-new", "-a"]);
});

test("accepts no object that was read before the watch delivered its deletion", async (t) => {
  const all = await startReflector(t);
  const watch = await all.openWatch("a");
  await watch.write(line("DELETED", thing("a", "12")));
  await all.recorder.waitFor("-a");
  t.equal(all.reflector.accept(stored("a", "11", "late")), false, "nothing would ever remove it");
  t.notOk(all.recorder.calls.includes("+a(late)"));
  t.equal(all.reflector.accept(stored("a", "13", "created again")), true);
});

test("accepts no object while the kind is listed", async (t) => {
  const all = await startReflector(t);
  t.equal(all.reflector.accept(stored("a", "5")), false);
});
