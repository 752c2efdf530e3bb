import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Test, test } from "tap";
import { createLogger } from "../../shared/server/logger.ts";
import { TokenFile, type TokenFilePorts } from "../../sidecar/token.ts";
import { FakeClock } from "./fake-clock.ts";

interface Subject {
  readonly path: string;
  readonly clock: FakeClock;
  readonly lines: string[];
  /** What was counted, in order. */
  readonly counted: string[];
  readonly ports: TokenFilePorts;
}

function subject(t: Test): Subject {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = createLogger({ name: "sidecar", destination: { write: (line) => void lines.push(line) } });
  const counted: string[] = [];
  const metrics = { tokenReloaded: (): void => void counted.push("ok"), tokenReloadFailed: (): void => void counted.push("failed") };
  return { clock, lines, counted, path: join(t.testdir({}), "token"), ports: { clock, log, metrics, randomBytes: (size) => Buffer.alloc(size, 0xfb) } };
}

const MADE = Buffer.alloc(32, 0xfb).toString("base64url");

test("an absent or empty file is made: 32 bytes, base64url, no newline, readable to all, nothing left beside it", async (t) => {
  for (const content of [null, "", "\n"]) {
    const { path, ports } = subject(t);
    if (content !== null) await writeFile(path, content);
    const file = await TokenFile.open(path, ports);
    t.teardown(() => file.close());
    t.equal(await readFile(path, "utf8"), MADE);
    t.equal((await stat(path)).mode & 0o777, 0o444);
    t.same(await readdir(join(path, "..")), ["token"]);
    t.ok(file.check.accepts(MADE));
    t.notOk(file.check.accepts(""));
  }
});

test("a file that is there is read, its trailing newline aside", async (t) => {
  for (const newline of ["", "\n", "\r\n"]) {
    const { path, ports } = subject(t);
    await writeFile(path, `given-token${newline}`);
    const file = await TokenFile.open(path, ports);
    t.teardown(() => file.close());
    t.ok(file.check.accepts("given-token"));
    t.equal(await readFile(path, "utf8"), `given-token${newline}`, "and left as it is");
  }
});

test("what is no token, or cannot be made, stops the start and says how to mend it, without the content", async (t) => {
  const { path, ports } = subject(t);
  await writeFile(path, "planted secret");
  await t.rejects(TokenFile.open(path, ports), {
    code: "ERR_CONFIG_INVALID",
    message: `--token-file ${path}: a token is one line of printable ASCII without spaces; empty the file to have one made.`,
  });
  const nowhere = join(path, "..", "no", "such", "token");
  await t.rejects(TokenFile.open(nowhere, ports), {
    code: "ERR_CONFIG_INVALID", message: `--token-file ${nowhere}: cannot be made (ENOENT); give a path in a folder that exists and that this user may write.`,
  });
  const folder = join(path, "..", "folder");
  await mkdir(folder);
  await t.rejects(TokenFile.open(folder, ports), { code: "ERR_CONFIG_INVALID", message: `--token-file ${folder}: cannot be read (EISDIR); give a file that this user may read.` });
});

test("a rotated token works within a second, and the one before for a minute", async (t) => {
  const { path, ports, clock, lines } = subject(t);
  await writeFile(path, "planted-first");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  await writeFile(path, "planted-second");
  t.notOk(file.check.accepts("planted-second"));
  await file.reread();
  t.ok(file.check.accepts("planted-second"));
  clock.jump(600_000);
  t.ok(file.check.accepts("planted-first"), "whatever the clock is set to");
  await clock.advance(59_999);
  t.ok(file.check.accepts("planted-first"), "still good");
  await clock.advance(1);
  t.notOk(file.check.accepts("planted-first"), "a minute later no more");
  t.ok(file.check.accepts("planted-second"));
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? ""), { level: "info", file: path });
  t.notMatch(lines.join(""), /planted/);
});

test("it is read again each second", async (t) => {
  const { path, ports, clock } = subject(t);
  await writeFile(path, "first");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  t.equal(clock.scheduled, 1);
  await writeFile(path, "second");
  // The file is read outside of the clock's time, so the next reading is asked for until the first has ended.
  for (let i = 0; i < 1_000 && !file.check.accepts("second"); i++) {
    await clock.advance(1_000);
  }
  t.ok(file.check.accepts("second"));
});

test("a file that turns unusable leaves the token good, and says so once", async (t) => {
  const { path, ports, lines, counted } = subject(t);
  await writeFile(path, "first");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  await rm(path);
  await file.reread();
  await file.reread();
  t.ok(file.check.accepts("first"));
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? ""), { level: "warn", reason: "the file is absent or empty" });
  await writeFile(path, "first");
  await file.reread();
  await writeFile(path, "a b");
  await file.reread();
  t.equal(lines.length, 2, "a new trouble is a new line");
  await writeFile(path, "second");
  await file.reread();
  t.same(counted, ["failed", "failed", "ok"]);
});

test("a closed file is read no more", async (t) => {
  const { path, ports, clock } = subject(t);
  const file = await TokenFile.open(path, ports);
  file.close();
  t.equal(clock.scheduled, 0);
});

test("a tight umask takes nothing from the other container, which reads as another user", async (t) => {
  const { path, ports } = subject(t);
  const before = process.umask(0o077);
  t.teardown(() => process.umask(before));
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  t.equal((await stat(path)).mode & 0o777, 0o444);
});

test("a new content that is no token is told in words, without the content", async (t) => {
  const { path, ports, lines } = subject(t);
  await writeFile(path, "given-token");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  await writeFile(path, "planted secret");
  await file.reread();
  const reason = `--token-file ${path}: a token is one line of printable ASCII without spaces; empty the file to have one made.`;
  t.match(lines.map((line): unknown => JSON.parse(line)), [{ level: "warn", reason }]);
  t.ok(file.check.accepts("given-token"));
});
