import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { type Test, test } from "tap";
import { createLogger } from "../../shared/server/logger.ts";
import { createSidecarMetrics } from "../../sidecar/metrics.ts";
import { TokenFile, type TokenFilePorts } from "../../sidecar/token.ts";
import { FakeClock } from "./fake-clock.ts";

interface Subject {
  readonly path: string;
  readonly clock: FakeClock;
  readonly lines: string[];
  /** Returns the number of reloads by result. */
  readonly reloads: () => Promise<Record<string, number>>;
  readonly ports: TokenFilePorts;
}

function subject(t: Test): Subject {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = createLogger({ name: "sidecar", destination: { write: (line) => void lines.push(line) } });
  const metrics = createSidecarMetrics(new Registry());
  const reloads = async (): Promise<Record<string, number>> => {
    const { values } = await metrics.tokenReloads.get();
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels.result), value]));
  };
  const ports = { clock, log, metrics, randomBytes: (size: number) => Buffer.alloc(size, 0xfb) };
  return { clock, lines, reloads, path: join(t.testdir({}), "token"), ports };
}

const CREATED_TOKEN = Buffer.alloc(32, 0xfb).toString("base64url");

const INVALID_TOKEN =
  "the token is not one line of printable ASCII without spaces. " +
  "Empty the file, so that the sidecar creates a new token.";
const NEWLINE =
  "the file ends with a newline, with which no SDK sends the token. " +
  "Write the token without it, as printf %s TOKEN does.";
const FIX = "Use an existing directory that the user of the sidecar can write.";

test("writes a token of 32 random bytes if the file is missing or empty; all users can read the file", async (t) => {
  for (const content of [null, "", "\n"]) {
    const { path, ports } = subject(t);
    if (content !== null) await writeFile(path, content);
    const file = await TokenFile.open(path, ports);
    t.teardown(() => file.close());
    t.equal(await readFile(path, "utf8"), CREATED_TOKEN);
    t.equal((await stat(path)).mode & 0o777, 0o444);
    t.same(await readdir(join(path, "..")), ["token"]);
    t.ok(file.check.accepts(CREATED_TOKEN));
    t.notOk(file.check.accepts(""));
  }
});

test("reads an existing token file, and does not change it", async (t) => {
  const { path, ports } = subject(t);
  await writeFile(path, "given-token-0123456789");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  t.ok(file.check.accepts("given-token-0123456789"));
  t.equal(await readFile(path, "utf8"), "given-token-0123456789");
});

test("rejects an inaccessible token file with a fix", async (t) => {
  const { path, ports } = subject(t);
  const missing = join(path, "..", "no", "such", "token");
  await t.rejects(TokenFile.open(missing, ports), {
    code: "ERR_CONFIG_INVALID", message: `--token-file ${missing}: the file cannot be created (ENOENT). ${FIX}`,
  });
  const folder = join(path, "..", "folder");
  await mkdir(folder);
  await t.rejects(TokenFile.open(folder, ports), {
    code: "ERR_CONFIG_INVALID",
    message: `--token-file ${folder}: the file cannot be read (EISDIR). ` +
      "Allow the user of the sidecar to read the file.",
  });
});

test("after a reload, accepts the new token, and the previous token for 60 s", async (t) => {
  const { path, ports, clock, lines } = subject(t);
  await writeFile(path, "planted-first-0123456789");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  await writeFile(path, "planted-second-0123456789");
  t.notOk(file.check.accepts("planted-second-0123456789"));
  await file.reload();
  t.ok(file.check.accepts("planted-second-0123456789"));
  clock.jump(600_000);
  t.ok(file.check.accepts("planted-first-0123456789"), "the wall clock does not affect the 60 s");
  await clock.advance(59_999);
  t.ok(file.check.accepts("planted-first-0123456789"), "the previous token is valid for 60 s");
  await clock.advance(1);
  t.notOk(file.check.accepts("planted-first-0123456789"), "the previous token is invalid after 60 s");
  t.ok(file.check.accepts("planted-second-0123456789"));
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? ""), { level: "info", file: path });
  t.notMatch(lines.join(""), /planted/);
});

test("reloads the token file every second", async (t) => {
  const { path, ports, clock } = subject(t);
  await writeFile(path, "first-token-0123456789");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  t.equal(clock.scheduled, 1);
  await writeFile(path, "second-token-0123456789");
  // Reading the file takes real time, so the fake clock advances until a reload has completed, or the test times out.
  while (!file.check.accepts("second-token-0123456789")) await clock.advance(1_000);
  t.notOk(file.check.accepts("third-token-0123456789"));
});

test("accepts the last valid token if the token file becomes invalid, and logs the failure once", async (t) => {
  const { path, ports, lines, reloads } = subject(t);
  await writeFile(path, "first-token-0123456789");
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  await rm(path);
  await file.reload();
  await file.reload();
  t.ok(file.check.accepts("first-token-0123456789"));
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? ""), { level: "warn", reason: "the file is missing or empty" });
  await writeFile(path, "first-token-0123456789");
  await file.reload();
  await writeFile(path, "a b");
  await file.reload();
  t.equal(lines.length, 2, "a new failure is logged again");
  await writeFile(path, "second-token-0123456789");
  await file.reload();
  t.same(await reloads(), { ok: 1, failed: 2 });
});

test("does not reload the token file after close()", async (t) => {
  const { path, ports, clock } = subject(t);
  const file = await TokenFile.open(path, ports);
  file.close();
  t.equal(clock.scheduled, 0);
});

test("creates a token file that all users can read, even with a restrictive umask", async (t) => {
  const { path, ports } = subject(t);
  const before = process.umask(0o077);
  t.teardown(() => process.umask(before));
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  t.equal((await stat(path)).mode & 0o777, 0o444);
});

test("rejects an invalid token, and a file that group or others can write", async (t) => {
  const fix = "Empty the file, so that the sidecar creates a new token.";
  const cases: readonly (readonly [token: string, mode: number, fault: string])[] = [
    ["planted secret 0123456789", 0o600, INVALID_TOKEN],
    ["a", 0o600, `the token has 1 character (minimum: 16). ${fix}`],
    ...["\n", "\r\n", "\n\n", "\r"].map((end) => [`planted-0123456789${end}`, 0o600, NEWLINE] as const),
    ...[" ", "\t", "\0", "\u007F", "\u00E9", "\uFEFF"].flatMap((one) => [
      [`planted-0123456789${one}`, 0o600, INVALID_TOKEN], [`${one}planted-0123456789`, 0o600, INVALID_TOKEN],
    ] as const),
    ["planted-0123456789\nplanted", 0o600, INVALID_TOKEN],
    ["0123456789abcde", 0o600, `the token has 15 characters (minimum: 16). ${fix}`],
    ["x".repeat(4097), 0o600, `the file is longer than 4096 characters. ${fix}`],
    ...[0o620, 0o602, 0o666].map((mode) => [
      "0123456789abcdef", mode,
      `group or others can write the file (mode 0${mode.toString(8)}), so other users could set the token. ` +
        "Replace the token, and run chmod go-w on the file.",
    ] as const),
  ];
  const { path, ports, lines, reloads } = subject(t);
  const replace = async (token: string, mode: number): Promise<void> => {
    await writeFile(path, token);
    await chmod(path, mode);
  };
  await replace("given-token-0123456789", 0o644);
  const file = await TokenFile.open(path, ports);
  t.teardown(() => file.close());
  for (const [token, mode, fault] of cases) {
    const message = `--token-file ${path}: ${fault}`;
    await replace(token, mode);
    await t.rejects(TokenFile.open(path, ports), { code: "ERR_CONFIG_INVALID", message });
    await file.reload();
    t.match(JSON.parse(lines.at(-1) ?? ""), { level: "warn", reason: message });
    t.ok(file.check.accepts("given-token-0123456789"), "the last valid token stays valid");
    t.notOk(file.check.accepts(token.trimEnd()), "the rejected token is not valid");
    await replace("given-token-0123456789", 0o444);
    await file.reload();
  }
  t.same(await reloads(), { ok: 0, failed: cases.length });
  await replace("0123456789abcdef", 0o444);
  await file.reload();
  t.ok(file.check.accepts("0123456789abcdef"), "16 characters are enough");
});
