import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import { type Client, clientVariables, printed, type Variables } from "./client.ts";
import { BASE, startTestbed, type Testbed } from "./testbed.ts";

const TEAM_A = "arn:aws:iam::111111111111:role/team-a";
const REQUESTED_MS = 900_000;

/** Tests that an SDK can assume roles with the sidecar as its STS. */
export async function testAssumeRole(t: Test, client: Client): Promise<void> {
  const testbed = await startTestbed(t);
  const assume = async (roleARN: string, sessionName: string, path = "/sts"): ReturnType<Client["run"]> =>
    client.run(["assume", roleARN, sessionName], await stsVariables(testbed, path));

  await t.test("returns the identity of the base credentials and the role that a selector grants", async (tt) => {
    const beforeMs = Date.now();
    const output = printed(await assume(TEAM_A, "first"));
    tt.match(output, {
      identity: { account: "999999999999", arn: BASE.arn },
      assumed: {
        arn: "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver", accessKeyID: /^ASIA/,
        expiration: /^\d{4}-.*\dZ$/,
      },
    });
    const endMs = Date.parse(/"expiration":"([^"]+)"/.exec(JSON.stringify(output))?.[1] ?? "");
    tt.ok(beforeMs < endMs && endMs <= Date.now() + REQUESTED_MS, "the session is not longer than requested");
  });
  await t.test("returns the same session for different session names and forms of the endpoint URL", async (tt) => {
    tt.match(printed(await assume(TEAM_A, "second", "/sts/")), { assumed: { arn: /\/ack-role-resolver$/ } });
    tt.same(requestedRoles(testbed), [TEAM_A], "two processes cause one STS call");
  });
  await t.test("returns AccessDenied for a role that no selector grants, and does not call STS", async (tt) => {
    const { code, stdout, stderr } = await assume("arn:aws:iam::333333333333:role/other", "third");
    tt.equal(code, 1);
    tt.equal(stdout, "");
    tt.match(stderr, /AccessDenied|not authorized|no IAMRoleSelector/i);
    tt.same(requestedRoles(testbed), [TEAM_A]);
  });
  t.notMatch(testbed.logLines.join(""), /planted/, "the log contains no secret");
}

/**
 * Returns environment variables with which the SDK requests its credentials from the sidecar, and uses the sidecar's
 * `path` as its STS endpoint.
 */
export async function stsVariables(testbed: Testbed, path = "/sts"): Promise<Variables> {
  return {
    ...clientVariables(testbed),
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${testbed.endpoint}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: await readFile(testbed.tokenFile, "utf8"),
    AWS_ENDPOINT_URL_STS: testbed.endpoint + path,
  };
}

function requestedRoles({ sts }: Testbed): readonly string[] {
  return sts.calls.filter(({ action }) => action === "AssumeRole").map(({ roleARN }) => roleARN ?? "");
}
