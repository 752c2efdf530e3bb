import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import type { ProgramResult } from "../apiserver/run-program.ts";
import { type Company, startCompany } from "./company.ts";

type Variables = Readonly<Record<string, string>>;

/** A client program of one SDK: it gets STS's address as its argument, and no other variables than those given. */
export interface Client {
  run(endpoint: string, variables: Variables): Promise<ProgramResult>;
  /** What its standard error holds when the sidecar refused with `code`; not every SDK shows the reason. */
  refusal(code: string): RegExp;
}

const BUCKET = "kind=Bucket.v1alpha1.s3.services.k8s.aws";

/** One SDK against a real sidecar and an STS that verifies what the SDK signs. */
export async function readsTheSidecar(t: Test, client: Client): Promise<void> {
  const company = await startCompany(t);
  const token = await readFile(company.tokenFile, "utf8");
  const { home } = company;
  const ask = (path: string, variables: Variables = { AWS_CONTAINER_AUTHORIZATION_TOKEN: token }, host = "127.0.0.1"): Promise<ProgramResult> =>
    client.run(company.sts.url, {
      // Nothing of the machine's own may answer in the sidecar's place.
      HOME: home, AWS_CONFIG_FILE: join(home, "config"), AWS_SHARED_CREDENTIALS_FILE: join(home, "credentials"), AWS_EC2_METADATA_DISABLED: "true",
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}:${portOf(company)}${path}`,
      ...variables,
    });
  const teamA = { account: "111111111111", arn: "arn:aws:sts::111111111111:assumed-role/team-a/ack-role-resolver", expires: true };
  const gold = { account: "222222222222", arn: "arn:aws:sts::222222222222:assumed-role/gold/ack-role-resolver" };

  await t.test("a selector's role, with the token in the environment", async (tt) => tt.match(read(await ask("/v1/credentials/selectors/team-a")), teamA));
  await t.test("the role of a namespace and a kind, in the same session", async (tt) => {
    tt.match(read(await ask(`/v1/credentials/namespaces/team-a?${BUCKET}`)), teamA);
    tt.equal(company.sts.calls.filter(({ action }) => action === "AssumeRole").length, 1, "two processes, one call of STS");
  });
  await t.test("labels in the query decide", async (tt) => tt.match(read(await ask(`/v1/credentials/namespaces/team-b?${BUCKET}&label=tier%3Dgold`)), gold));
  await t.test("the base identity, by the name localhost", async (tt) => {
    tt.match(read(await ask("/v1/credentials", undefined, "localhost")), { account: "999999999999", accessKeyID: "ASIASIDECARBASE" });
  });
  await t.test("the token from its file", async (tt) => {
    tt.match(read(await ask("/v1/credentials/selectors/team-a", { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: company.tokenFile })), teamA);
  });
  await t.test("a wrong token gets nothing", async (tt) => {
    const wrong = join(home, "wrong-token");
    await writeFile(wrong, "wrong");
    await isRefused(tt, client, "ERR_TOKEN_INVALID", ask("/v1/credentials/selectors/team-a", { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: wrong }));
  });
  await t.test("what is not granted gets nothing", async (tt) => {
    await isRefused(tt, client, "ERR_SELECTOR_UNKNOWN", ask("/v1/credentials/selectors/missing"));
    await isRefused(tt, client, "ERR_SELECTOR_AMBIGUOUS", ask(`/v1/credentials/namespaces/team-b?${BUCKET}`));
  });
  t.notMatch(company.logLines.join(""), token, "no token in the log");
  t.notMatch(company.logLines.join(""), /planted/, "and no secret");
}

async function isRefused(t: Test, client: Client, code: string, running: Promise<ProgramResult>): Promise<void> {
  const { code: status, stdout, stderr } = await running;
  t.not(status, 0);
  t.equal(stdout, "");
  t.match(stderr, client.refusal(code));
}

function read({ code, stdout, stderr }: ProgramResult): unknown {
  return code === 0 ? JSON.parse(stdout) : { code, stderr };
}

function portOf({ sidecar }: Company): string {
  return sidecar.address.split(":").at(-1) ?? "";
}
