// `trust check --aws` with the IAM of moto, an independent implementation.
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { CreateRoleCommand, IAMClient, PutRolePolicyCommand } from "@aws-sdk/client-iam";
import { test } from "tap";
import { MOTO, wheelsIn } from "../programs/wheels.ts";
import { findPrograms } from "./find-programs.ts";
import { startMoto } from "./sdks/moto.ts";

const START = path.join(import.meta.dirname, "../../cli/start.js");
const run = promisify(execFile);

function statement(fields: Readonly<Record<string, string | Readonly<Record<string, string>>>>): string {
  return JSON.stringify({ Version: "2012-10-17", Statement: { Effect: "Allow", Action: "sts:AssumeRole", ...fields } });
}

test("trust check reads the account of a profile", async (t) => {
  const folders = await findPrograms(t, MOTO);
  if (folders === null) return;
  const endpoint = await startMoto(t, await wheelsIn(folders[0]));
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const iam = new IAMClient({ endpoint, region: "us-east-1", credentials });
  t.teardown(() => iam.destroy());
  const root = "arn:aws:iam::123456789012:root";
  const trust = statement({ Principal: { AWS: root } });
  for (const RoleName of ["caller", "target"]) {
    await iam.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument: trust, Path: "/team/" }));
  }
  const config = t.testdir({
    config: "[profile team]\nregion = eu-west-1\n",
    credentials: "[team]\naws_access_key_id = test\naws_secret_access_key = test\n",
  });
  const env = {
    PATH: process.execPath, HOME: config, AWS_ENDPOINT_URL_IAM: endpoint, AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: path.join(config, "config"), AWS_SHARED_CREDENTIALS_FILE: path.join(config, "credentials"),
  };
  const arnOf = (name: string): string => `arn:aws:iam::123456789012:role/team/${name}`;
  const question = ["--caller", arnOf("caller"), "--role", arnOf("target"), "-o", "json"];
  const check = (profile: string): Promise<string> => (
    run(process.execPath, [START, "trust", "check", "--aws", profile, ...question], { env }).then(
      ({ stdout }) => stdout,
      (error: unknown) => (error instanceof Error && "stdout" in error && "stderr" in error
        ? `${String(error.stdout)}${String(error.stderr)}` : String(error)),
    )
  );
  t.match(await check("team"), /"verdict": ?"no"/, "the caller has no permission");
  const policy = { RoleName: "caller", PolicyName: "assume" };
  await iam.send(new PutRolePolicyCommand({ ...policy, PolicyDocument: statement({ Resource: arnOf("target") }) }));
  t.match(await check("team"), /"verdict": ?"yes"/);
  t.match(await check("missing"), /--aws missing: /);
});
