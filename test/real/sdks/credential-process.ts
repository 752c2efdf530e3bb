import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { isJsonObject } from "../../../shared/formats/json.ts";
import { type Client, clientVariables, printed, type SDK } from "./client.ts";
import { startTestbed, type Testbed } from "./testbed.ts";

const MAIN = join(import.meta.dirname, "..", "..", "..", "cli", "main.ts");
/** The lifetime of the printed session: one hour, minus the 5 minutes that the command subtracts. */
const MAX_LIFE_MS = 55 * 60_000;
const MISSING = /IAMRoleSelector "missing" does not exist/;

/**
 * The text that each SDK shows if the command fails. Most SDKs show the standard error of the command. The SDK for
 * JavaScript tries the next provider instead.
 */
const FAILURE_SHOWN: Readonly<Record<SDK, RegExp>> = {
  go: MISSING, botocore: MISSING, java: MISSING, rust: MISSING,
  javascript: /Could not load credentials from any providers/,
};

/** Tests an SDK whose profile runs `ack-role-resolver credential-process`. */
export async function testCredentialProcess(t: Test, client: Client): Promise<void> {
  const testbed = await startTestbed(t);
  // The SDK for Go needs PATH to find the shell that runs the command.
  const variables = { ...clientVariables(testbed), PATH: "/usr/bin:/bin" };
  const run = async (selector: string, ...args: readonly string[]): ReturnType<Client["run"]> => {
    await writeFile(join(testbed.home, "config"), `[default]\ncredential_process = ${commandFor(testbed, selector)}\n`);
    return client.run(args, variables);
  };

  await t.test("returns the role of the selector that the profile names", async (tt) => {
    const arn = "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver";
    const output = printed(await run("team-a", "whoami", testbed.sts.url));
    tt.match(output, { account: "111111111111", arn, expires: true });
  });
  await t.test(
    "the SDK runs the command once for five retrievals, and the printed expiration is earlier than the expiration of "
      + "the session",
    async (tt) => {
      const before = testbed.requests.length;
      const outputs = printed(await run("team-a", "retrieve", "5"));
      tt.equal(testbed.requests.length - before, 1);
      const expirationOf = (one: unknown): number => Date.parse(isJsonObject(one) ? String(one["expiration"]) : "");
      const ends = (Array.isArray(outputs) ? outputs : []).map(expirationOf);
      tt.equal(ends.length, 5);
      tt.ok(
        ends.every((endMs) => Date.now() < endMs && endMs <= Date.now() + MAX_LIFE_MS),
        JSON.stringify(outputs),
      );
    },
  );
  await t.test("the SDK shows the error message of the sidecar if the command fails", async (tt) => {
    const { code, stdout, stderr } = await run("missing", "retrieve", "1");
    tt.not(code, 0);
    tt.equal(stdout, "");
    tt.match(stderr, FAILURE_SHOWN[client.sdk]);
  });
}

function commandFor({ endpoint, tokenFile }: Testbed, selector: string): string {
  const flags = `--endpoint ${endpoint} --token-file ${tokenFile} --selector ${selector}`;
  return `${process.execPath} ${MAIN} credential-process ${flags}`;
}
