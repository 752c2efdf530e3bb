import { test } from "tap";
import { bookmark, following, line, list, thing } from "./reflector-fixture.ts";

test("lists page by page and watches from the list's version", async (t) => {
  const { server, recorder } = await following(t, 0.5);
  const first = await server.next();
  t.same([first.path, first.query], ["/apis/example.com/v1/things", { limit: "2" }]);
  first.answer(200, list("10", [thing("a", "1"), thing("b", "2")], { continue: "to/ken=" }));
  const second = await server.next();
  t.same(second.query, { limit: "2", continue: "to/ken=" });
  second.answer(200, list("10", [thing("c", "3"), thing("no", "4", { note: "uninteresting" })]));
  const watch = await server.next();
  t.same(watch.query, { watch: "true", allowWatchBookmarks: "true", timeoutSeconds: "270", resourceVersion: "10" });
  t.same(recorder.told, ["+a +b +c", "well", "current"]);
});

test("events come in their order, each object with its type", async (t) => {
  const { recorder, synced } = await following(t);
  const watch = await synced("a");
  await watch.write(line("ADDED", thing("b", "11", { note: "1" })) + line("MODIFIED", thing("b", "12", { note: "2" })) + line("DELETED", thing("a", "13")) + bookmark("20"));
  await recorder.hears("-a");
  await recorder.hears("current");
  await recorder.hears("current");
  t.same(recorder.told, ["+a", "well", "current", "well", "+b(1)", "current", "+b(2)", "current", "-a", "current", "current"]);
});

test("objects that nothing reads are neither added nor removed", async (t) => {
  const { recorder, synced } = await following(t);
  const watch = await synced();
  await watch.write(line("ADDED", thing("no", "11", { note: "uninteresting" })) + line("DELETED", thing("no", "12", { note: "uninteresting" })) + line("ADDED", thing("b", "13")));
  await recorder.hears("+b");
  t.same(recorder.told, ["nothing", "well", "current", "well", "current", "current", "+b", "current"]);
});

test("a chunk may end anywhere, inside a character too", async (t) => {
  const { recorder, synced } = await following(t);
  const watch = await synced();
  const bytes = Buffer.from(line("ADDED", thing("b", "11", { note: "é😀" })));
  for (const byte of bytes) await watch.write(Buffer.from([byte]));
  await recorder.hears("+b(é😀)");
  t.pass("the note is whole");
});

test("a watch that the server ends in its time is resumed at once from the last bookmark", async (t) => {
  const { server, clock, recorder, synced } = await following(t);
  const watch = await synced();
  await watch.write(bookmark("30"));
  await recorder.hears("current");
  clock.advance(30_000);
  watch.end();
  t.equal((await server.next()).query["resourceVersion"], "30");
  t.equal(recorder.lastFault, null);
});

test("watches that end at once are not asked for many times a second", async (t) => {
  const { server, pass, synced } = await following(t);
  (await synced()).end();
  t.equal(await pass(), 800);
  const next = await server.next();
  t.equal(next.query["resourceVersion"], "10");
  next.open();
  next.end();
  t.equal(await pass(), 800);
});

test("a connection reset in the middle of a line is resumed, and loses nothing", async (t) => {
  const { server, recorder, pass, synced } = await following(t);
  const watch = await synced();
  await watch.write(line("ADDED", thing("b", "11")) + line("ADDED", thing("c", "12")).slice(0, 20));
  await recorder.hears("+b");
  watch.reset();
  await recorder.hears("fault");
  t.match(recorder.lastFault, /^things\.example\.com cannot be followed: (aborted|.*ECONNRESET)/);
  await pass();
  const resumed = await server.next();
  t.equal(resumed.query["resourceVersion"], "11");
  resumed.open();
  await resumed.write(line("ADDED", thing("c", "12")));
  await recorder.hears("+c");
  t.equal(recorder.lastFault, null);
});

test("a server that is away is tried again, less and less often", async (t) => {
  const { server, recorder, pass, synced } = await following(t, 0.999_999);
  const watch = await synced();
  const { url } = server;
  t.match(url, /^http:\/\/127\.0\.0\.1:/);
  watch.reset();
  const delays: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    delays.push(await pass());
    (await server.next()).reset();
  }
  t.same(delays, [1599, 3199, 6399, 12799, 25599, 29999, 29999, 29999]);
  await pass();
  const back = await server.next();
  back.open();
  await back.write(line("ADDED", thing("b", "11")));
  await recorder.hears("+b");
  back.reset();
  t.equal(await pass(), 1599, "an event resets the back-off");
});

test("a watch of 30 s resets the back-off, a silent list of 30 s does not", async (t) => {
  const { server, clock, recorder, pass } = await following(t, 0.999_999);
  const first = await server.next();
  clock.advance(60_000);
  await first.closed;
  await recorder.hears("fault");
  t.equal(recorder.lastFault, "things.example.com cannot be followed: nothing came from the API server for 60 s");
  t.equal(await pass(), 1599);
  const second = await server.next();
  clock.advance(60_000);
  await second.closed;
  t.equal(await pass(), 3199);
  (await server.next()).answer(200, list("10", []));
  const watch = await server.next();
  watch.open();
  await recorder.hears("current");
  await recorder.hears("well");
  clock.advance(30_000);
  watch.reset();
  t.equal(await pass(), 1599);
});

test("a watch without a byte for 90 s is broken off and resumed", async (t) => {
  const { server, clock, recorder, pass, synced } = await following(t);
  const watch = await synced();
  clock.advance(89_000);
  await watch.write(bookmark("12"));
  await recorder.hears("current");
  clock.advance(89_000);
  t.equal(recorder.lastFault, null, "a bookmark is a sign of life");
  clock.advance(1000);
  await watch.closed;
  await recorder.hears("fault");
  t.equal(recorder.lastFault, "things.example.com cannot be followed: nothing came from the API server for 90 s");
  await pass();
  t.equal((await server.next()).query["resourceVersion"], "12");
});

test("a watch that outlives its time by 10 s is broken off", async (t) => {
  const { server, clock, recorder, pass, synced } = await following(t);
  const watch = await synced();
  for (let version = 11; version < 16; version++) {
    clock.advance(50_000);
    await (version < 15 ? watch.write(bookmark(String(version))).then(() => recorder.hears("current")) : watch.closed);
  }
  await recorder.hears("fault");
  t.equal(recorder.lastFault, "things.example.com cannot be followed: the API server did not end the answer within 250 s");
  await pass();
  t.equal((await server.next()).query["resourceVersion"], "14");
});

test("stopping breaks off whatever is under way: a list, a watch, a pause", async (t) => {
  await t.test("a list", async (tt) => {
    const { server, clock, listWatch } = await following(tt);
    const held = await server.next();
    await listWatch.stop();
    await held.closed;
    tt.same(clock.delays, [], "no timer is left");
  });
  await t.test("a watch", async (tt) => {
    const { clock, listWatch, recorder, synced } = await following(tt);
    const watch = await synced("a");
    await listWatch.stop();
    await watch.closed;
    tt.same(clock.delays, [], "no timer is left");
    tt.notOk(recorder.told.includes("fault"));
  });
  await t.test("a pause", async (tt) => {
    const { server, clock, listWatch } = await following(tt);
    (await server.next()).answer(500, "");
    await clock.scheduled((ms) => ms < 60_000);
    await listWatch.stop();
    tt.same(clock.delays, [], "no timer is left");
  });
  await t.test("at once", async (tt) => {
    const { clock, listWatch, recorder } = await following(tt);
    await listWatch.stop();
    tt.same([clock.delays, recorder.told], [[], []]);
  });
});
