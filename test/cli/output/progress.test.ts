import { Writable } from "node:stream";
import { test } from "tap";
import { mapWithProgress, Progress, runWithProgress, showElapsed } from "../../../cli/output/progress.ts";
import type { Environment } from "../../../shared/server/read-settings.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";

class Stream extends Writable {
  readonly isTTY: boolean;
  readonly columns = 30;
  text = "";
  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

const CLEAR = "\r\u001B[K";

test("shows progress after 1 s, updates it at most every 100 ms, and erases it at the end", (t) => {
  const stderr = new Stream(true);
  let nowMs = 0;
  const progress = new Progress({ stderr, environment: { CI: "false" }, now: () => nowMs });
  for (nowMs of [0, 500, 999]) progress.update("early");
  progress.clear();
  t.equal(stderr.text, "");
  nowMs = 1000;
  progress.update("one");
  nowMs = 1050;
  progress.update("too soon");
  nowMs = 1100;
  progress.update("two");
  progress.clear();
  progress.clear();
  t.equal(stderr.text, `${CLEAR}one${CLEAR}two${CLEAR}`);
  t.end();
});

test("shows no progress in a pipe, in CI and on a dumb terminal", async (t) => {
  const cases: readonly (readonly [isTTY: boolean, environment: Environment])[] = [
    [false, {}], [true, { CI: "true" }], [true, { CI: "1" }], [true, { TERM: "dumb" }],
  ];
  for (const [isTTY, environment] of cases) {
    const io = { stderr: new Stream(isTTY), environment };
    let nowMs = 0;
    const progress = new Progress({ ...io, now: () => nowMs });
    nowMs = 5000;
    progress.update("one");
    progress.clear();
    const clock = new FakeClock();
    const { promise, resolve } = Promise.withResolvers<string>();
    const shown = showElapsed("reading", io, promise, clock);
    await clock.advance(5000);
    resolve("done");
    t.equal(await shown, "done");
    t.equal(io.stderr.text, "", JSON.stringify([isTTY, environment]));
  }
});

test("shortens the line so that it does not wrap", (t) => {
  const stderr = new Stream(true);
  let nowMs = 0;
  const progress = new Progress({ stderr, environment: {}, now: () => nowMs });
  nowMs = 1000;
  progress.update("x".repeat(40));
  t.equal(stderr.text, CLEAR + "x".repeat(29));
  t.end();
});

test("shows the elapsed time until the work is done or has failed", async (t) => {
  for (const error of [null, new Error("failed")]) {
    const stderr = new Stream(true);
    const clock = new FakeClock();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const shown = showElapsed("reading manifests", { stderr, environment: {} }, promise, clock);
    await clock.advance(2000);
    if (error === null) resolve();
    else reject(error);
    await (error === null ? shown : t.rejects(shown, error));
    await clock.advance(2000);
    t.equal(stderr.text, `${CLEAR}reading manifests: 1 s${CLEAR}reading manifests: 2 s${CLEAR}`);
  }
});

test("shows the progress of paced work and of a list, and returns the results", (t) => {
  const stderr = new Stream(true);
  let nowMs = 0;
  const io = { stderr, environment: {}, now: () => nowMs };
  function* work(): Generator<number, string, void> {
    for (const visited of [200, 400]) {
      nowMs += 800;
      yield visited;
    }
    return "result";
  }
  t.equal(runWithProgress(work(), io, (visited) => `${visited} of 500 objects`), "result");
  t.equal(stderr.text, `${CLEAR}400 of 500 objects${CLEAR}`);
  stderr.text = "";
  const doubled = mapWithProgress([1, 2, 3], io, "items checked", (item) => {
    nowMs += 800;
    return item * 2;
  });
  t.same(doubled, [2, 4, 6]);
  t.equal(stderr.text, `${CLEAR}2 of 3 items checked${CLEAR}`);
  t.end();
});
