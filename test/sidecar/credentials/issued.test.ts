import { appendFile, chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Test, test } from "tap";
import { createLogger } from "../../../shared/server/logger.ts";
import type { IssuedJournalPorts } from "../../../sidecar/credentials/issued-journal.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { tokenDigest } from "../../../sidecar/sts/signature.ts";
import { FakeClock } from "../fake-clock.ts";

const HOUR = 3_600_000;

class Subject {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly folder: string;
  readonly #t: Test;

  constructor(t: Test) {
    this.#t = t;
    this.folder = t.testdir({});
  }

  get file(): string {
    return join(this.folder, "issued.jsonl");
  }

  async open(append?: NonNullable<IssuedJournalPorts["append"]>): Promise<IssuedCredentials> {
    const log = createLogger({ name: "sidecar", destination: { write: (line) => void this.lines.push(line) } });
    const ports = { clock: this.clock, log, ...(append === undefined ? {} : { append }) };
    const issued = await IssuedCredentials.open(this.folder, ports);
    this.#t.teardown(() => issued.close());
    return issued;
  }

  credentials(accessKeyID: string, lifeMs: number | null = HOUR): Credentials {
    return {
      accessKeyID, secretAccessKey: `planted-secret-${accessKeyID}`,
      sessionToken: lifeMs === null ? null : `planted-token-${accessKeyID}`,
      expirationMs: lifeMs === null ? null : this.clock.now() + lifeMs,
      accountID: "111122223333", arn: `arn:${accessKeyID}`, userID: "AROAA:s",
    };
  }
}

test("finds an issued access key until 15 minutes after the key expires", async (t) => {
  const subject = new Subject(t);
  const { clock } = subject;
  const issued = new IssuedCredentials(clock);
  const credentials = subject.credentials("ASIA1");
  await issued.record(credentials, "role");
  t.match(issued.find("ASIA1"), {
    kind: "role", arn: "arn:ASIA1", secretAccessKey: "planted-secret-ASIA1",
    tokenDigest: tokenDigest("planted-token-ASIA1"), expirationMs: credentials.expirationMs,
  });
  t.notMatch(
    JSON.stringify(issued.find("ASIA1")),
    "planted-token",
    "a digest of the token is stored, but not the token",
  );
  t.equal(issued.find("ASIA2"), undefined);
  await clock.advance(HOUR + 15 * 60_000 - 1);
  await issued.record({ ...credentials, accessKeyID: "ASIA2" }, "role");
  t.not(issued.find("ASIA1"), undefined);
  await clock.advance(1);
  await issued.record({ ...credentials, accessKeyID: "ASIA3" }, "role");
  t.equal(issued.find("ASIA1"), undefined);
});

test("marks a key as a base key if the key was ever issued for the base identity", async (t) => {
  const subject = new Subject(t);
  const issued = await subject.open();
  const credentials = subject.credentials("ASIA1");
  const kinds: unknown[] = [];
  for (const kind of ["role", "base", "role"] as const) {
    await issued.record(credentials, kind);
    kinds.push(issued.find("ASIA1")?.kind);
  }
  t.same(kinds, ["role", "base", "base"]);
  const text = await readFile(subject.file, "utf8");
  t.equal(text.split("\n").length, 3, "the journal has two lines: an unchanged key is not written again");
});

test("stores a key that does not expire for 20 to 60 minutes after its last use", async (t) => {
  const subject = new Subject(t);
  const { clock } = subject;
  const issued = new IssuedCredentials(clock);
  const credentials = subject.credentials("AKIA", null);
  await issued.record(credentials, "base");
  t.match(issued.find("AKIA"), { tokenDigest: null, expirationMs: clock.now() + HOUR });
  await clock.advance(39 * 60_000);
  await issued.record(credentials, "base");
  t.equal(
    issued.find("AKIA")?.expirationMs,
    clock.now() + 21 * 60_000,
    "a key that is stored for over 20 more minutes is not renewed",
  );
  await clock.advance(2 * 60_000);
  await issued.record(credentials, "role");
  t.match(issued.find("AKIA"), { kind: "base", expirationMs: clock.now() + HOUR }, "the key is still a base key");
});

test("stores at most 10,000 keys, and evicts role keys before base keys", async (t) => {
  const subject = new Subject(t);
  const issued = new IssuedCredentials(subject.clock);
  await issued.record(subject.credentials("BASE"), "base");
  for (let i = 0; i < 10_000; i++) await issued.record(subject.credentials(`ROLE${i}`), "role");
  t.equal(issued.find("ROLE0"), undefined);
  t.not(issued.find("ROLE1"), undefined);
  t.not(issued.find("BASE"), undefined);
});

test("restores all issued keys after a restart, because each key is stored before it is returned", async (t) => {
  const subject = new Subject(t);
  const first = await subject.open();
  const record = (id: string): Promise<unknown> => (
    first.record(subject.credentials(id), id === "ASIA1" ? "base" : "role")
  );
  await Promise.all(["ASIA1", "ASIA2", "ASIA3"].map(record));
  await first.record(subject.credentials("AKIA", null), "base");
  const text = await readFile(subject.file, "utf8");
  t.equal(text.split("\n").length, 5);
  t.notMatch(text, "planted-token", "the file contains no token");
  t.equal((await stat(subject.file)).mode & 0o777, 0o600);
  // The test does not close the journal, because a killed sidecar does not close its journal.
  const second = await subject.open();
  for (const id of ["ASIA1", "ASIA2", "ASIA3", "AKIA"]) t.same(second.find(id), first.find(id), id);
  t.same(await readdir(subject.folder), ["issued.jsonl"], "no temporary file remains");
});

test("removes expired keys and invalid or incomplete lines from the journal at startup", async (t) => {
  const subject = new Subject(t);
  const first = await subject.open();
  await first.record(subject.credentials("SHORT", 60_000), "role");
  await first.record(subject.credentials("LONG"), "base");
  await appendFile(subject.file, [
    "no JSON", '{"accessKeyID":"X"}', '{"accessKeyID":"X","secretAccessKey":"s","kind":"admin","expirationMs":9e15}',
    '{"accessKeyID":"X","secretAccessKey":"s","kind":"base","expirationMs":9e15,"tokenDigest":"c2hvcnQ="}', "null",
    '{"accessKeyID":"TORN","secretAcc',
  ].join("\n"));
  await subject.clock.advance(17 * 60_000);
  const second = await subject.open();
  t.equal(second.find("SHORT"), undefined);
  t.equal(second.find("X"), undefined);
  t.not(second.find("LONG"), undefined);
  const lines = (await readFile(subject.file, "utf8")).trimEnd().split("\n");
  t.match(lines.map((line): unknown => JSON.parse(line)), [{ accessKeyID: "LONG" }]);
  // An incomplete last line is expected after a crash, so the sidecar does not report this line.
  t.match(subject.lines.map((line): unknown => JSON.parse(line)), [{ level: "warn", lines: 5 }]);
});

test("limits the size of the journal", async (t) => {
  const subject = new Subject(t);
  const issued = await subject.open();
  for (let i = 0; i < 1_100; i++) {
    await issued.record(subject.credentials(`ASIA${i}`, 60_000), "role");
    await subject.clock.advance(60_000);
  }
  const lines = (await readFile(subject.file, "utf8")).split("\n").length;
  t.ok(lines < 200, `${lines} lines`);
});

test("rejects a missing folder, a path that is a file, and a journal that other users can access", async (t) => {
  const subject = new Subject(t);
  const notPrivate = "contains an issued.jsonl that other users can access or that is not a regular file";
  const fix = "Set an existing in-memory folder that only the user of the sidecar can write.";
  const rejects = (folder: string, problem: string): Promise<unknown> => t.rejects(
    IssuedCredentials.open(folder, { clock: subject.clock, log: createLogger({ name: "x", level: "silent" }) }),
    { code: "ERR_CONFIG_INVALID", message: `--state-dir ${folder}: ${problem}. ${fix}` },
  );
  await rejects(join(subject.folder, "none"), "cannot be used (ENOENT)");
  await writeFile(join(subject.folder, "a-file"), "");
  await rejects(join(subject.folder, "a-file"), "is not a folder");
  await writeFile(subject.file, "");
  await chmod(subject.file, 0o640);
  await rejects(subject.folder, notPrivate);
  const linked = join(subject.folder, "linked");
  await mkdir(linked);
  await symlink("/dev/null", join(linked, "issued.jsonl"));
  await rejects(linked, notPrivate);
  await mkdir(join(subject.folder, "x", "issued.jsonl"), { recursive: true });
  await rejects(join(subject.folder, "x"), notPrivate);
});

test("if a write fails, logs this once, issues keys without the journal, and rewrites the journal later", async (t) => {
  const subject = new Subject(t);
  let full = false;
  const issued = await subject.open(async (file, text) => {
    if (!full) return file.appendFile(text);
    await file.appendFile(text.slice(0, 20));
    throw Object.assign(new Error("planted"), { code: "ENOSPC" });
  });
  full = true;
  await issued.record(subject.credentials("ASIA1"), "base");
  await issued.record(subject.credentials("ASIA2"), "role");
  t.not(issued.find("ASIA2"), undefined);
  full = false;
  await issued.record(subject.credentials("ASIA3"), "role");
  const next = await subject.open();
  for (const id of ["ASIA1", "ASIA2", "ASIA3"]) t.not(next.find(id), undefined, id);
  t.match(subject.lines.map((line): unknown => JSON.parse(line)), [
    { level: "error", reason: "ENOSPC", file: subject.file },
    { level: "info", msg: "journal of issued credentials is writable again" },
  ]);
  t.notMatch(subject.lines.join(""), "planted");
  t.same(await readdir(subject.folder), ["issued.jsonl"]);
});

test("delays one response by 300 ms while the disk hangs, and writes all keys after the disk recovers", async (t) => {
  const subject = new Subject(t);
  const { clock } = subject;
  let hangs = Promise.withResolvers<null>();
  hangs.resolve(null);
  const writes: string[] = [];
  const issued = await subject.open(async (file, text) => {
    await hangs.promise;
    await file.appendFile(text);
    writes.push(text);
  });
  hangs = Promise.withResolvers<null>();
  const first = issued.record(subject.credentials("ASIA1"), "base");
  const second = issued.record(subject.credentials("ASIA2"), "role");
  await clock.advance(300);
  await Promise.all([first, second]);
  await issued.record(subject.credentials("ASIA3"), "role");
  t.match(subject.lines.map((line) => JSON.parse(line)), [{ level: "error", reason: "not written within 300 ms" }]);
  t.equal(subject.lines.length, 1);
  t.not(issued.find("ASIA3"), undefined);
  hangs.resolve(null);
  // The blocked write takes real time: the second one, after that of the start.
  while (writes.length < 2) await clock.advance(1);
  await clock.advance(1);
  await issued.record(subject.credentials("ASIA4"), "role");
  t.match(await readFile(subject.file, "utf8"), /ASIA1[^]*ASIA2[^]*ASIA3[^]*ASIA4/);
  hangs = Promise.withResolvers<null>();
  const last = issued.record(subject.credentials("ASIA5"), "role");
  const closed = issued.close();
  await clock.advance(300);
  await Promise.all([last, closed]);
  hangs.resolve(null);
});
