import { Writable } from "node:stream";
import { test } from "tap";
import { Progress } from "../../cli/progress.ts";

class Terminal extends Writable {
  readonly isTTY: boolean;
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

test("short work says nothing; long work rewrites one line now and then, and takes it away", (t) => {
  const terminal = new Terminal(true);
  let nowMs = 0;
  const progress = new Progress(terminal, () => nowMs);
  for (nowMs of [0, 500, 999]) progress.tell("early");
  progress.end();
  t.equal(terminal.text, "");
  nowMs = 1000;
  progress.tell("one");
  nowMs = 1050;
  progress.tell("too soon");
  nowMs = 1100;
  progress.tell("two");
  progress.end();
  progress.end();
  t.equal(terminal.text, "\r\u001B[Kone\r\u001B[Ktwo\r\u001B[K");
  t.end();
});

test("where nobody watches nothing is written", (t) => {
  const pipe = new Terminal(false);
  let nowMs = 0;
  const progress = new Progress(pipe, () => nowMs);
  nowMs = 5000;
  progress.tell("one");
  progress.end();
  t.equal(pipe.text, "");
  t.end();
});
