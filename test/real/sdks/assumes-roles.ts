import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import { type Client, clientVariables, printed, type Variables } from "./client.ts";
import { BASE, type Company, startCompany } from "./company.ts";

const TEAM_A = "arn:aws:iam::111111111111:role/team-a";
const ASKED_MS = 900_000;

/** One SDK that assumes a role by itself, of the sidecar in STS's place. */
export async function assumesRoles(t: Test, client: Client): Promise<void> {
  const company = await startCompany(t);
  const assume = async (roleARN: string, sessionName: string, path = "/sts"): ReturnType<Client["run"]> =>
    client.run(["assume", roleARN, sessionName], await stsVariables(company, path));

  await t.test("it is told who it is, and gets the role that a selector grants", async (tt) => {
    const beforeMs = Date.now();
    const answer = printed(await assume(TEAM_A, "first"));
    tt.match(answer, {
      identity: { account: "999999999999", arn: BASE.arn },
      assumed: { arn: "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver", accessKeyID: /^ASIA/, expiration: /^\d{4}-.*\dZ$/ },
    });
    const endMs = Date.parse(/"expiration":"([^"]+)"/.exec(JSON.stringify(answer))?.[1] ?? "");
    tt.ok(beforeMs < endMs && endMs <= Date.now() + ASKED_MS, "for no longer than it asked for");
  });
  await t.test("another session name makes no other session, nor does another spelling of the endpoint", async (tt) => {
    tt.match(printed(await assume(TEAM_A, "second", "/sts/")), { assumed: { arn: /\/ack-role-resolver$/ } });
    tt.same(rolesAsked(company), [TEAM_A], "two processes, one call of STS");
  });
  await t.test("what no selector grants is AccessDenied, and STS not asked for it", async (tt) => {
    const { code, stdout, stderr } = await assume("arn:aws:iam::333333333333:role/other", "third");
    tt.equal(code, 1);
    tt.equal(stdout, "");
    tt.match(stderr, /AccessDenied|not authorized|no IAMRoleSelector/i);
    tt.same(rolesAsked(company), [TEAM_A]);
  });
  t.notMatch(company.logLines.join(""), /planted/, "no secret in the log");
}

/** What points an SDK at the sidecar for its own credentials and, at `path`, for STS. */
export async function stsVariables(company: Company, path = "/sts"): Promise<Variables> {
  return {
    ...clientVariables(company),
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${company.endpoint}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: await readFile(company.tokenFile, "utf8"),
    AWS_ENDPOINT_URL_STS: company.endpoint + path,
  };
}

function rolesAsked({ sts }: Company): readonly string[] {
  return sts.calls.filter(({ action }) => action === "AssumeRole").map(({ roleARN }) => roleARN ?? "");
}
