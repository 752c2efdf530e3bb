import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { isJsonObject } from "../../../shared/decisions/kubernetes/json.ts";
import { type Client, clientVariables, printed, type SDK } from "./client.ts";
import { type Company, startCompany } from "./company.ts";

const MAIN = join(import.meta.dirname, "..", "..", "..", "cli", "main.ts");
/** Of an hour, less the 5 minutes by which the command says it ends early. */
const STATED_MS = 55 * 60_000;
const MISSING = /There is no IAMRoleSelector "missing"/;

/** What each SDK shows when the command fails: what that wrote to standard error, but for JavaScript, which goes on to the next provider. */
const SHOWN_OF_FAILURE: Readonly<Record<SDK, RegExp>> = {
  go: MISSING, botocore: MISSING, javascript: /Could not load credentials from any providers/, java: MISSING, rust: MISSING,
};

/** One SDK whose profile runs `ack-role-resolver credential-process`. */
export async function usesAProfile(t: Test, client: Client): Promise<void> {
  const company = await startCompany(t);
  // Go looks on it for the shell that runs the command.
  const variables = { ...clientVariables(company), PATH: "/usr/bin:/bin" };
  const run = async (selector: string, ...args: readonly string[]): ReturnType<Client["run"]> => {
    await writeFile(join(company.home, "config"), `[default]\ncredential_process = ${commandFor(company, selector)}\n`);
    return client.run(args, variables);
  };

  await t.test("it is the selector's role", async (tt) => {
    const teamA = { account: "111111111111", arn: "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver", expires: true };
    tt.match(printed(await run("team-a", "whoami", company.sts.url)), teamA);
  });
  await t.test("five retrievals run the command once, and end before the session does", async (tt) => {
    const before = company.requests.length;
    const answers = printed(await run("team-a", "retrieve", "5"));
    tt.equal(company.requests.length - before, 1);
    const ends = (Array.isArray(answers) ? answers : []).map((one: unknown) => Date.parse(isJsonObject(one) ? String(one["expiration"]) : ""));
    tt.equal(ends.length, 5);
    tt.ok(ends.every((endMs) => Date.now() < endMs && endMs <= Date.now() + STATED_MS), JSON.stringify(answers));
  });
  await t.test("a refusal is the user's to read", async (tt) => {
    const { code, stdout, stderr } = await run("missing", "retrieve", "1");
    tt.not(code, 0);
    tt.equal(stdout, "");
    tt.match(stderr, SHOWN_OF_FAILURE[client.sdk]);
  });
}

function commandFor({ endpoint, tokenFile }: Company, selector: string): string {
  return `${process.execPath} ${MAIN} credential-process --endpoint ${endpoint} --token-file ${tokenFile} --selector ${selector}`;
}
