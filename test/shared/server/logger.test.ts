import { test } from "tap";
import { createLogger } from "../../../shared/server/logger.ts";

function capture(): { readonly lines: string[]; write(line: string): void } {
  const lines: string[] = [];
  return { lines, write: (line) => void lines.push(line) };
}

test("a line is JSON: level by name, ISO time, the program's name, fields and a constant sentence", (t) => {
  const destination = capture();
  createLogger({ name: "webhook", destination }).info({ uid: "u-1" }, "review answered");
  const line: unknown = JSON.parse(destination.lines[0] ?? "");
  t.match(line, { level: "info", name: "webhook", uid: "u-1", msg: "review answered", time: /^\d{4}-\d\d-\d\dT.*Z$/ });
  t.notMatch(destination.lines[0], /"pid"|"hostname"/);
  t.end();
});

test("below the level nothing is written, at it something is", (t) => {
  const destination = capture();
  const log = createLogger({ name: "webhook", level: "warn", destination });
  log.info("quiet");
  log.warn("loud");
  t.equal(destination.lines.length, 1);
  t.end();
});

test("a credential that reaches the logger all the same is not written", (t) => {
  const destination = capture();
  const log = createLogger({ name: "sidecar", destination });
  log.info({ authorization: "planted-1", headers: { authorization: "planted-2" }, session: { SecretAccessKey: "planted-3" } }, "x");
  t.notMatch(destination.lines[0], "planted");
  t.match(destination.lines[0], "[redacted]");
  t.end();
});
