import { readFile } from "node:fs/promises";
import type { Test } from "tap";
import type { ProgramResult } from "../apiserver/run-program.ts";
import { type Client, clientVariables, printed, type Variables } from "./client.ts";
import { startCompany } from "./company.ts";

const BUCKET = "kind=Bucket.v1alpha1.s3.services.k8s.aws";

/** One SDK against a real sidecar and an STS that verifies what the SDK signs. */
export async function readsTheSidecar(t: Test, client: Client): Promise<void> {
  const company = await startCompany(t);
  const token = await readFile(company.tokenFile, "utf8");
  const ask = (path: string, variables: Variables = { AWS_CONTAINER_AUTHORIZATION_TOKEN: token }): Promise<ProgramResult> =>
    client.run(["whoami", company.sts.url], { ...clientVariables(company), AWS_CONTAINER_CREDENTIALS_FULL_URI: company.endpoint + path, ...variables });
  const teamA = { account: "111111111111", arn: "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver", expires: true };
  const gold = { account: "222222222222", arn: "arn:aws:sts::222222222222:assumed-role/gold/ack-role-resolver" };

  await t.test("a selector's role, with the token in the environment", async (tt) => tt.match(printed(await ask("/v1/credentials/selectors/team-a")), teamA));
  await t.test("the role of a namespace and a kind, in the same session", async (tt) => {
    tt.match(printed(await ask(`/v1/credentials/namespaces/team-a?${BUCKET}`)), teamA);
    tt.equal(company.sts.calls.filter(({ action }) => action === "AssumeRole").length, 1, "two processes, one call of STS");
  });
  await t.test("labels in the query decide", async (tt) => tt.match(printed(await ask(`/v1/credentials/namespaces/team-b?${BUCKET}&label=tier%3Dgold`)), gold));
  await t.test("the base identity", async (tt) => {
    tt.match(printed(await ask("/v1/credentials")), { account: "999999999999", accessKeyID: "ASIASIDECARBASE" });
  });
  await t.test("the token from its file", async (tt) => {
    tt.match(printed(await ask("/v1/credentials/selectors/team-a", { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: company.tokenFile })), teamA);
  });
  t.notMatch(company.logLines.join(""), token, "no token in the log");
  t.notMatch(company.logLines.join(""), /planted/, "and no secret");
}
