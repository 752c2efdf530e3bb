import { test } from "tap";
import { isBackoff } from "./fake-cluster.ts";
import { bookmark, CONFIRM_MS, line, list, startReflector, thing } from "./reflector-fixture.ts";

test("lists page by page, and watches from the resource version of the list", async (t) => {
  const { server, recorder } = await startReflector(t, 0.5);
  const first = await server.next();
  t.same([first.path, first.query], ["/apis/example.com/v1/things", { limit: "2" }]);
  first.answer(200, list("10", [thing("a", "1"), thing("b", "2")], { continue: "to/ken=" }));
  const second = await server.next();
  t.same(second.query, { limit: "2", continue: "to/ken=" });
  second.answer(200, list("10", [thing("c", "3"), thing("no", "4", { note: "uninteresting" })]));
  const watch = await server.next();
  t.same(watch.query, { watch: "true", allowWatchBookmarks: "true", timeoutSeconds: "82", resourceVersion: "10" });
  t.same(recorder.calls, ["+a +b +c", "recovered", "sync"]);
});

test("reports watch events in their order", async (t) => {
  const { recorder, openWatch } = await startReflector(t);
  const watch = await openWatch("a");
  await watch.write([
    line("ADDED", thing("b", "11", { note: "1" })), line("MODIFIED", thing("b", "12", { note: "2" })),
    line("DELETED", thing("a", "13")), bookmark("20"),
  ].join(""));
  await recorder.waitFor("-a");
  await recorder.waitFor("sync");
  await recorder.waitFor("sync");
  const current = ["recovered", "sync"];
  t.same(recorder.calls, ["+a", ...current, "+b(1)", ...current, "+b(2)", ...current, "-a", ...current, ...current]);
});

test("ignores an object if the transform function returns null", async (t) => {
  const { recorder, openWatch } = await startReflector(t);
  const watch = await openWatch();
  await watch.write([
    line("ADDED", thing("no", "11", { note: "uninteresting" })),
    line("DELETED", thing("no", "12", { note: "uninteresting" })), line("ADDED", thing("b", "13")),
  ].join(""));
  await recorder.waitFor("+b");
  const current = ["recovered", "sync"];
  t.same(recorder.calls, ["empty", ...current, ...current, ...current, "+b", ...current]);
});

test("removes an object that a change makes one that no decision reads", async (t) => {
  const { recorder, openWatch } = await startReflector(t);
  const watch = await openWatch("a");
  await watch.write([
    line("MODIFIED", thing("a", "11", { note: "uninteresting" })), line("MODIFIED", thing("a", "12")),
  ].join(""));
  await recorder.waitFor("-a");
  await recorder.waitFor("+a");
  const current = ["recovered", "sync"];
  t.same(recorder.calls, ["+a", ...current, "-a", ...current, "+a", ...current]);
});

test("reads watch events from chunks that end inside a UTF-8 character", async (t) => {
  const { recorder, openWatch } = await startReflector(t);
  const watch = await openWatch();
  const bytes = Buffer.from(line("ADDED", thing("b", "11", { note: "é😀" })));
  for (const byte of bytes) await watch.write(Buffer.from([byte]));
  await recorder.waitFor("+b(é😀)");
  t.pass("the note is complete");
});

test("ends a long backoff delay within 500 ms after a probe detects the end of an outage", async (t) => {
  const { server, clock, outageClock, recorder, passBackoff, openWatch } = await startReflector(t, 0.5);
  (await openWatch()).reset();
  const probe = async (): Promise<void> => {
    await outageClock.scheduled((ms) => ms === 1_500);
    outageClock.advance(1_500);
  };
  for (let attempt = 0; attempt < 6; attempt++) {
    await passBackoff();
    (await server.next()).reset();
  }
  const longMs = await clock.scheduled(isBackoff);
  t.ok(longMs > 15_000, "the next attempt is far away");
  await probe();
  const down = await server.next();
  t.equal(down.path, "/readyz");
  down.answer(500, "not ready");
  await probe();
  (await server.next()).answer(200, "ok");
  t.equal(await clock.scheduled((ms) => ms < 500), 250, "the retries of all kinds are spread over 500 ms");
  clock.advance(250);
  const resumed = await server.next();
  t.equal(resumed.query["resourceVersion"], "10");
  resumed.reset();
  t.equal(await passBackoff(), 1200, "the backoff is reset");
  t.not(recorder.lastFault, null);
});

test("resumes from the last bookmark without a delay after a watch reaches its requested length", async (t) => {
  const { server, clock, recorder, openWatch } = await startReflector(t);
  const watch = await openWatch();
  await watch.write(bookmark("30"));
  await recorder.waitFor("sync");
  clock.advance(30_000);
  watch.end();
  t.equal((await server.next()).query["resourceVersion"], "30");
  t.equal(recorder.lastFault, null);
});

test("delays the next watch only if a watch ends in less than 5 s", async (t) => {
  const { server, clock, passBackoff, openWatch, open } = await startReflector(t, 0.999_999);
  (await openWatch()).end();
  t.equal(await passBackoff(), 1599);
  const next = await server.next();
  t.equal(next.query["resourceVersion"], "10");
  await open(next);
  next.end();
  t.equal(await passBackoff(), 3199);
  const longer = await server.next();
  await open(longer);
  clock.advance(5_000);
  longer.end();
  t.equal((await server.next()).query["resourceVersion"], "10");
});

test("resumes without losing an event after a connection reset in the middle of a line", async (t) => {
  const { server, recorder, passBackoff, openWatch } = await startReflector(t);
  const watch = await openWatch();
  await watch.write(line("ADDED", thing("b", "11")) + line("ADDED", thing("c", "12")).slice(0, 20));
  await recorder.waitFor("+b");
  watch.reset();
  await recorder.waitFor("fault");
  t.match(recorder.lastFault, /^cannot list or watch things\.example\.com: (aborted|.*ECONNRESET)/);
  await passBackoff();
  const resumed = await server.next();
  t.equal(resumed.query["resourceVersion"], "11");
  resumed.open();
  await resumed.write(line("ADDED", thing("c", "12")));
  await recorder.waitFor("+c");
  t.equal(recorder.lastFault, null);
});

test("retries with growing delays if the API server is unreachable", async (t) => {
  const { server, recorder, passBackoff, openWatch } = await startReflector(t, 0.999_999);
  const watch = await openWatch();
  const { url } = server;
  t.match(url, /^http:\/\/127\.0\.0\.1:/);
  watch.reset();
  const delays: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    delays.push(await passBackoff());
    (await server.next()).reset();
  }
  t.same(delays, [1599, 3199, 6399, 12799, 25599, 29999, 29999, 29999]);
  await passBackoff();
  const back = await server.next();
  back.open();
  await back.write(line("ADDED", thing("b", "11")));
  await recorder.waitFor("+b");
  back.reset();
  t.equal(await passBackoff(), 1599, "an event resets the backoff");
});

test("resets the backoff after a watch has lasted 30 s, but not after a list times out", async (t) => {
  const { server, clock, recorder, passBackoff, open } = await startReflector(t, 0.999_999);
  const first = await server.next();
  clock.advance(60_000);
  await first.closed;
  await recorder.waitFor("fault");
  t.equal(recorder.lastFault, "cannot list or watch things.example.com: the API server did not respond within 60 s");
  t.equal(await passBackoff(), 1599);
  const second = await server.next();
  clock.advance(60_000);
  await second.closed;
  t.equal(await passBackoff(), 3199);
  (await server.next()).answer(200, list("10", []));
  const watch = await server.next();
  await open(watch);
  clock.advance(30_000);
  watch.reset();
  t.equal(await passBackoff(), 1599);
});

test("reports a fault as resolved when a new watch has lasted 500 ms", async (t) => {
  const { server, clock, recorder, passBackoff, openWatch, open } = await startReflector(t);
  (await openWatch()).reset();
  await recorder.waitFor("fault");
  await passBackoff();
  await open(await server.next());
  clock.advance(CONFIRM_MS - 1);
  t.not(recorder.lastFault, null);
  clock.advance(1);
  t.equal(recorder.lastFault, null);
  t.same(recorder.calls.slice(-2), ["fault", "recovered"], "an accepted watch alone does not show that it works");
});

test("reports a fault as resolved only after the list if a new watch starts from an expired version", async (t) => {
  const { server, recorder, passBackoff, openWatch, open } = await startReflector(t);
  (await openWatch("a")).reset();
  await recorder.waitFor("fault");
  await passBackoff();
  const resumed = await server.next();
  await open(resumed);
  await resumed.write(line("ERROR", { kind: "Status", code: 410 }));
  const again = await server.next();
  t.not(recorder.lastFault, null, "the fault is still reported when the list starts");
  again.answer(200, list("20", [thing("b", "12")]));
  await recorder.waitFor("+b -a");
  await recorder.waitFor("recovered");
  t.equal(recorder.calls.at(-1), "sync");
});

test("reports a fault if the API server does not accept a watch", async (t) => {
  const { server, clock, recorder } = await startReflector(t);
  (await server.next()).answer(200, list("10", []));
  const watch = await server.next();
  clock.advance(10_000);
  await watch.closed;
  await recorder.waitFor("fault");
  t.equal(recorder.lastFault, "cannot list or watch things.example.com: the API server did not respond within 10 s");
});

test("the objects are current when the API server ends a watch: ten quiet minutes without a fault", async (t) => {
  const { server, clock, recorder, openWatch, open } = await startReflector(t);
  let watch = await openWatch("a");
  for (let round = 0; round < 8; round++) {
    await recorder.waitFor("sync");
    clock.advance(75_000);
    watch.end();
    watch = await server.next();
    await open(watch);
  }
  t.notOk(recorder.calls.includes("fault"));
  t.same(recorder.calls.filter((call) => call === "sync").length, 9);
});

test("stop() aborts the current operation", async (t) => {
  await t.test("stop() aborts a list request", async (tt) => {
    const { server, clock, reflector } = await startReflector(tt);
    const request = await server.next();
    await reflector.stop();
    await request.closed;
    tt.same(clock.delays, [], "no timer is left");
  });
  await t.test("stop() aborts a watch request", async (tt) => {
    const { clock, reflector, recorder, openWatch } = await startReflector(tt);
    const watch = await openWatch("a");
    await reflector.stop();
    await watch.closed;
    tt.same(clock.delays, [], "no timer is left");
    tt.notOk(recorder.calls.includes("fault"));
  });
  await t.test("stop() ends a backoff delay", async (tt) => {
    const { server, clock, reflector } = await startReflector(tt);
    (await server.next()).answer(500, "");
    await clock.scheduled(isBackoff);
    await reflector.stop();
    tt.same(clock.delays, [], "no timer is left");
  });
  await t.test("sends no request if the reflector stops before its first request", async (tt) => {
    const { clock, reflector, recorder } = await startReflector(tt);
    await reflector.stop();
    tt.same([clock.delays, recorder.calls], [[], []]);
  });
});
