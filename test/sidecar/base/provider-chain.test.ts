import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { type Test, test } from "tap";
import type { BaseProvider } from "../../../sidecar/base/identity.ts";
import { defaultProviderChain } from "../../../sidecar/base/provider.ts";
import { containerAnswer, EXPIRES, type Fake, metadataAnswer, startFake, stsAnswer } from "../loopback-providers.ts";

const ROLE = "arn:aws:iam::999999999999:role/ack";
const EXPIRATION_MS = Date.parse(EXPIRES);

interface Setting {
  readonly folder: string;
  readonly env: Record<string, string>;
  /** A fake STS that the chain is told to ask, and one that only the environment and the profile name. */
  readonly sts: Fake;
  readonly trap: Fake;
  readonly provide: BaseProvider;
}

/** The real SDK, with an environment of its own in which every STS that is not the sidecar's is a trap. */
async function subject(t: Test, files: Readonly<Record<string, string>> = {}): Promise<Setting> {
  const [sts, trap] = await Promise.all([startFake(t, stsAnswer), startFake(t, stsAnswer)]);
  const folder = t.testdir({ credentials: "", config: "", ...files });
  const config = join(folder, "config");
  if (files["config"] === undefined) await writeFile(config, `[default]\nendpoint_url = ${trap.url}\n`);
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "", HOME: folder, AWS_CONFIG_FILE: config, AWS_SHARED_CREDENTIALS_FILE: join(folder, "credentials"),
    AWS_EC2_METADATA_DISABLED: "true", AWS_ENDPOINT_URL: trap.url, AWS_ENDPOINT_URL_STS: trap.url,
  };
  t.intercept(process, "env", { value: env });
  return { folder, env, sts, trap, provide: defaultProviderChain({ region: "eu-west-1", endpoint: sts.url }) };
}

test("web identity: the token file is read anew for each AssumeRoleWithWebIdentity of the sidecar's STS, and no other is asked", async (t) => {
  const { folder, env, sts, trap, provide } = await subject(t, { token: "first-token" });
  Object.assign(env, { AWS_ROLE_ARN: ROLE, AWS_ROLE_SESSION_NAME: "pod", AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, "token") });
  t.same(await provide(), { accessKeyID: "ASIASTS1", secretAccessKey: "s", sessionToken: "t", expirationMs: EXPIRATION_MS });
  await writeFile(join(folder, "token"), "second-token");
  t.match(await provide(), { accessKeyID: "ASIASTS2" }, "renewed when asked, though the first has not ended");
  t.match(sts.asked.map(({ body }) => Object.fromEntries(new URLSearchParams(body))), [
    { Action: "AssumeRoleWithWebIdentity", RoleArn: ROLE, RoleSessionName: "pod", WebIdentityToken: "first-token" }, { WebIdentityToken: "second-token" },
  ]);
  t.same(trap.asked, []);
});

test("a profile's role_arn is assumed from its source_profile at the sidecar's STS, whatever endpoint_url and services say", async (t) => {
  const source = "[source]\naws_access_key_id = AKIASOURCE\naws_secret_access_key = s\n";
  const { env, folder, sts, trap, provide } = await subject(t, { credentials: source, config: "" });
  await writeFile(join(folder, "config"), [
    "[profile ack]", `role_arn = ${ROLE}`, "source_profile = source", "external_id = planted-external-id", "region = eu-west-1",
    `endpoint_url = ${trap.url}`, "services = own", "[services own]", "sts =", `  endpoint_url = ${trap.url}`, "",
  ].join("\n"));
  env["AWS_PROFILE"] = "ack";
  t.match(await provide(), { accessKeyID: "ASIASTS1", sessionToken: "t", expirationMs: EXPIRATION_MS });
  t.match(await provide(), { accessKeyID: "ASIASTS2" });
  t.match(sts.asked[0]?.headers["authorization"], "Credential=AKIASOURCE/");
  t.match(Object.fromEntries(new URLSearchParams(sts.asked[0]?.body)), { Action: "AssumeRole", RoleArn: ROLE, ExternalId: "planted-external-id" });
  t.same(trap.asked, []);
});

test("a profile's credential_process is run anew each time", async (t) => {
  const { env, folder, provide } = await subject(t);
  const program = join(folder, "credentials.mjs");
  const session = { Version: 1, SecretAccessKey: "s", SessionToken: "t", Expiration: EXPIRES };
  await writeFile(program, `console.log(JSON.stringify({ ...${JSON.stringify(session)}, AccessKeyId: "ASIAPROCESS" + process.pid }))\n`);
  await writeFile(join(folder, "config"), `[profile ack]\ncredential_process = ${process.execPath} ${program}\n`);
  env["AWS_PROFILE"] = "ack";
  const [first, second] = [await provide(), await provide()];
  t.match(first, { accessKeyID: /^ASIAPROCESS\d+$/, sessionToken: "t", expirationMs: EXPIRATION_MS });
  t.not(first.accessKeyID, second.accessKeyID);
});

test("the container endpoint, as Pod Identity gives it: with the token of its file, read anew each time", async (t) => {
  const { env, folder, provide } = await subject(t, { token: "first-token" });
  const container = await startFake(t, containerAnswer);
  Object.assign(env, { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.url}/v1/credentials`, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(folder, "token") });
  t.same(await provide(), { accessKeyID: "ASIACONTAINER1", secretAccessKey: "s", sessionToken: "t", expirationMs: EXPIRATION_MS });
  await writeFile(join(folder, "token"), "second-token");
  t.match(await provide(), { accessKeyID: "ASIACONTAINER2" });
  t.match(container.asked, [{ path: "/v1/credentials", headers: { authorization: "first-token" } }, { headers: { authorization: "second-token" } }]);
});

test("instance metadata, by IMDSv2", async (t) => {
  const { env, provide } = await subject(t);
  const metadata = await startFake(t, metadataAnswer);
  Object.assign(env, { AWS_EC2_METADATA_DISABLED: "false", AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url });
  const first = await provide();
  t.match(first, { accessKeyID: /^ASIAIMDS/, secretAccessKey: "s", sessionToken: "t", expirationMs: EXPIRATION_MS });
  t.not((await provide()).accessKeyID, first.accessKeyID, "asked anew");
  t.match(metadata.asked[0], { method: "PUT", path: "/latest/api/token" });
});
