import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "tap";
import { PLUGIN_FILE, started } from "../../cli/plugin.ts";
import { runCommandLine } from "../../cli/program.ts";
import { PRODUCT } from "../../shared/core/installation.ts";
import { document, exportOf, roleDetail } from "../shared/trust/iam-export.ts";
import { allow } from "../shared/trust/trust-cases.ts";
import { IAMFolder } from "./trust/iam-folder.ts";
import { runCommand } from "./run-command.ts";

const START = path.join(import.meta.dirname, "../../cli/start.js");
const ROLES = Array.from({ length: 200 }, (_, i) => `arn:aws:iam::111122223333:role/role-${i}`);
const ACCOUNTS = Array.from({ length: 500 }, (_, i) => `arn:aws:iam::${222200000000 + i}:root`);
const [ROLE = ""] = ROLES;

const FOLDER = new IAMFolder();
const IAM = FOLDER.write("iam.json", exportOf({
  RoleDetailList: ROLES.map((role) => roleDetail(role, document(allow({ AWS: ACCOUNTS })))),
}));
const QUESTIONS = path.join(FOLDER.path, "questions.ndjson");
writeFileSync(QUESTIONS, `${JSON.stringify({ principalArn: ROLE, roleArn: ROLE })}\n`.repeat(2_000));

const ALL = ["trust", "who", "--all", "--iam", IAM];
const CHECK = ["trust", "check", "--iam", IAM, "--requests", QUESTIONS];

/** A reader that takes one text in each turn of the event loop. */
class SlowReader extends Writable {
  text = "";
  /** The most characters that waited for the reader. */
  mostWaiting = 0;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.mostWaiting = Math.max(this.mostWaiting, this.writableLength);
    this.text += chunk.toString();
    setImmediate(done);
  }
}

/** Runs the program under the name of a file. */
async function runSlowly(file: string, words: readonly string[], stdout: SlowReader): Promise<number> {
  const stderr = new Writable({ write: (_text, _encoding, done) => done() });
  const streams = { stdin: Readable.from([]), stdout, stderr };
  const { argv, io } = started(file, { argv: words, io: { ...streams, environment: {} } });
  return await runCommandLine(argv, io);
}

for (const [name, file, argv, most] of [
  ["the results of trust who as JSON", PRODUCT, [...ALL, "-o", "json"], 400_000],
  ["the results of trust who as text", PRODUCT, ALL, 200_000],
  ["the answers of trust check", PRODUCT, CHECK, 100_000],
  ["the answers of the plugin", PLUGIN_FILE, CHECK, 100_000],
] as const) {
  test(`keeps little of ${name} in memory for a slow reader`, async (t) => {
    const stdout = new SlowReader();
    const status = await runSlowly(file, argv, stdout);
    await new Promise((resolve) => { stdout.end(resolve); });
    const expected = await runCommand(argv);
    t.equal(status, expected.status);
    t.ok(stdout.text === expected.stdout, "the reader gets everything");
    t.ok(stdout.text.length > 3 * most, `${stdout.text.length} characters are more than those that may wait`);
    t.ok(stdout.mostWaiting < most, `${stdout.mostWaiting} characters waited`);
  });
}

test("trust who ends with its status if the reader closes the pipe", async (t) => {
  const child = spawn(process.execPath, [START, ...ALL, "-o", "json"], { stdio: ["ignore", "pipe", "pipe"] });
  const stderr = text(child.stderr);
  child.stdout.once("data", () => child.stdout.destroy());
  t.same(await once(child, "close"), [1, null]);
  t.equal(await stderr, "");
});
