import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import { type Client, clientVariables, printed, type Variables } from "./client.ts";
import { startTestbed } from "./testbed.ts";

const BUCKET = "kind=Bucket.v1alpha1.s3.services.k8s.aws";
const TEAM_A = "/v1/credentials/selectors/team-a";

/** Tests an SDK with a real sidecar and an STS that verifies signatures. */
export async function testContainerEndpoint(t: Test, client: Client): Promise<void> {
  const testbed = await startTestbed(t);
  const token = await readFile(testbed.tokenFile, "utf8");
  const inEnvironment = { AWS_CONTAINER_AUTHORIZATION_TOKEN: token };
  const whoami = async (path: string, variables: Variables = inEnvironment): Promise<unknown> => {
    const uri = { AWS_CONTAINER_CREDENTIALS_FULL_URI: testbed.endpoint + path };
    const all = { ...clientVariables(testbed), ...uri, ...variables };
    return printed(await client.run(["whoami", testbed.sts.url], all));
  };
  const arn = "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver";
  const teamA = { account: "111111111111", arn, expires: true };
  const gold = { account: "222222222222", arn: "arn:aws:sts::222222222222:assumed-role/gold/ack-role-resolver" };

  await t.test("returns the role of a selector if the token is in the environment", async (tt) => {
    tt.match(await whoami(TEAM_A), teamA);
  });
  await t.test("returns the role of a namespace and kind, and reuses the session of the selector", async (tt) => {
    tt.match(await whoami(`/v1/credentials/namespaces/team-a?${BUCKET}`), teamA);
    const assumed = testbed.sts.calls.filter(({ action }) => action === "AssumeRole");
    tt.equal(assumed.length, 1, "two processes cause one STS call");
  });
  await t.test("resolves the role by the labels in the query", async (tt) => {
    tt.match(await whoami(`/v1/credentials/namespaces/team-b?${BUCKET}&label=tier%3Dgold`), gold);
  });
  await t.test("returns the base identity if the path names no selector and no namespace", async (tt) => {
    tt.match(await whoami("/v1/credentials"), { account: "999999999999", accessKeyID: "ASIASIDECARBASE" });
  });
  await t.test("reads the token from AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", async (tt) => {
    tt.match(await whoami(TEAM_A, { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: testbed.tokenFile }), teamA);
  });
  t.notMatch(testbed.logLines.join(""), token, "the log contains no token");
  t.notMatch(testbed.logLines.join(""), /planted/, "the log contains no secret");
}
