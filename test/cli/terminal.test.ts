import { Writable } from "node:stream";
import { test } from "tap";
import { Progress } from "../../cli/terminal.ts";
import { runCommand } from "./run-command.ts";

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

test("shows progress after 1 s, updates it at most every 100 ms, and erases it at the end", (t) => {
  const terminal = new Terminal(true);
  let nowMs = 0;
  const progress = new Progress(terminal, () => nowMs);
  for (nowMs of [0, 500, 999]) progress.update("early");
  progress.clear();
  t.equal(terminal.text, "");
  nowMs = 1000;
  progress.update("one");
  nowMs = 1050;
  progress.update("too soon");
  nowMs = 1100;
  progress.update("two");
  progress.clear();
  progress.clear();
  t.equal(terminal.text, "\r\u001B[Kone\r\u001B[Ktwo\r\u001B[K");
  t.end();
});

test("shows no progress if stderr is not a terminal", (t) => {
  const pipe = new Terminal(false);
  let nowMs = 0;
  const progress = new Progress(pipe, () => nowMs);
  nowMs = 5000;
  progress.update("one");
  progress.clear();
  t.equal(pipe.text, "");
  t.end();
});

const escape = String.raw`\e[2J\n`;
const MANIFESTS = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: "evil${escape}"}
spec: {arn: "arn:aws:iam::111122223333:role/${escape}", namespaceSelector: {names: ["team-a${escape}"]}}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: "Bucket${escape}"
metadata: {name: "b${escape}", namespace: "team-a${escape}", annotations: {services.k8s.aws/region: "eu${escape}"}}
---
`;

test("escapes control characters and line breaks that manifests contain", async (t) => {
  for (const [argv, stdin] of [
    [["lint", "-"], MANIFESTS],
    [["resolve", "-"], MANIFESTS],
    [["resolve", "-", "--explain"], MANIFESTS],
    [["resolve", "-"], MANIFESTS + MANIFESTS],
    [["audit", "-"], MANIFESTS],
    [["lint", "-"], `"${escape}": 1\n"${escape}": 2\n`],
  ] as const) {
    const { stdout, stderr } = await runCommand(argv, { stdin });
    const printed = stdout + stderr;
    t.match(printed, String.raw`\u001b[2J\u000a`, argv.join(" "));
    t.notMatch(printed, "\u001b", argv.join(" "));
  }
});
