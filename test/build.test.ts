import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import tap, { test } from "tap";
import { startSTSEmulator } from "../cli/local/sts-emulator/emulator.ts";
import manifest from "../package.json" with { type: "json" };
import { stringAt } from "../shared/formats/json.ts";
import { type Command, COMMANDS } from "../shared/core/setting-definition.ts";
import { DEFINITIONS } from "../shared/core/settings.ts";
import { runCommand } from "./cli/run-command.ts";
import { get } from "./loopback-request.ts";
import { fileWith } from "./token-file.ts";

const ROOT = path.join(import.meta.dirname, "..");
const SELECTOR = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec: {arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: {names: [team-a]}}
`;
const TOKEN = "planted-token-0123456789";
const BASE = {
  accessKeyID: "ASIABASE", secretAccessKey: "base-secret", sessionToken: "base-session",
  arn: "arn:aws:sts::999988887777:assumed-role/ack/base",
};

const dist = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-built-"));
tap.teardown(() => rm(dist, { recursive: true }));
const COMMAND = path.join(dist, "ack-role-resolver.js");

test("npm run build succeeds", async (t) => {
  const build = spawn(process.execPath, [path.join(ROOT, "build.ts"), dist], { cwd: ROOT, stdio: "inherit" });
  t.same(await once(build, "close"), [0, null]);
});

test("the built sidecar issues role credentials, also to the built credential-process", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const tokenFile = fileWith(TOKEN);
  const sidecar = spawn(process.execPath, [
    COMMAND, "sidecar", "--from", dir, "--group", "s3.services.k8s.aws", "--token-file", tokenFile,
    "--sts-endpoint", sts.url, "--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0",
  ], {
    env: {
      AWS_ACCESS_KEY_ID: BASE.accessKeyID,
      AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey,
      AWS_SESSION_TOKEN: BASE.sessionToken,
    },
    stdio: ["ignore", "inherit", "pipe"],
  });
  t.teardown(async () => {
    sidecar.kill("SIGINT");
    if (sidecar.exitCode === null) await once(sidecar, "close");
  });
  const address = await addressOf(sidecar.stderr);
  const answer = await credentials(`http://${address}/v1/credentials/selectors/team-a`);
  t.match(answer, { AccountId: "111122223333", AccessKeyId: /^ASIA/ });
  t.match(sts.calls.at(-1), { action: "AssumeRole", roleARN: "arn:aws:iam::111122223333:role/team-a" });
  const client = spawn(process.execPath, [
    COMMAND, "credential-process", "--endpoint", `http://${address}`, "--token-file", tokenFile, "--selector", "team-a",
  ], { stdio: ["ignore", "pipe", "inherit"] });
  const [printed, closed] = await Promise.all([text(client.stdout), once(client, "close")]);
  t.same(closed, [0, null]);
  t.equal(stringAt(JSON.parse(printed), "AccessKeyId"), stringAt(answer, "AccessKeyId"));
});

test("the built command and the sources report the same faults for invalid settings and selectors", async (t) => {
  const invalid = SELECTOR.replace("[team-a]", "{a: 1}") + "status: {extra: 1}\n";
  const file = path.join(t.testdir({ "a.yaml": invalid }), "a.yaml");
  const commandLines: readonly (readonly string[])[] = [
    ["lint", "-o", "json", file],
    ...COMMANDS.map((command) => [...command.split(" "), ...withInvalidValues(command)]),
  ];
  for (const argv of commandLines) {
    const { stdout, stderr, status } = await runCommand(argv);
    t.not(status, 0, `${argv.join(" ")} has faults`);
    const child = spawn(process.execPath, [COMMAND, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    t.same({ output, errors }, { output: stdout, errors: stderr }, argv.join(" "));
  }
});

/** Returns flags that set each setting of the command that has a pattern or choices to an invalid value. */
function withInvalidValues(command: Command): string[] {
  const restricted = DEFINITIONS.filter(([, { commands, type, pattern, choices }]) => (
    commands.includes(command) && type !== "boolean" && (pattern ?? choices) !== undefined
  ));
  return restricted.flatMap(([, { flag }]) => [flag, "\u00e9 no such"]);
}

test("each command loads only the modules that the command needs", async (t) => {
  // Each string is in the code of one of these packages: fastify, the AWS SDK, prom-client, ajv, pino.
  const servers = ["FST_ERR_", "AssumeRoleCommand", "# HELP", "strictSchema", "pino.metadata"];
  for (const [command, own, words] of [
    ["credential-process", "credential_process", [...servers, "YAMLParseError"]],
    ["lint", "YAMLParseError", servers],
  ] as const) {
    const code = codeOf(command);
    for (const word of words) t.notOk(code.includes(word), `${command} does not load the module with ${word}`);
    t.ok(code.includes(own), `the loaded code is that of ${command}`);
    t.notMatch(code, /from"node:(?!module")/, "no import calls the getters of a module of Node.js");
  }
});

/** Returns the code that a command loads, except for what it imports while it runs. */
function codeOf(command: string): string {
  const loaded = new Map<string, string>();
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    const code = readFileSync(path.join(dist, file), "utf8");
    loaded.set(file, code);
    for (const [, next = ""] of code.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) load(next);
  };
  load("main.js");
  for (const file of readdirSync(dist).filter((name) => name.startsWith(`${command}-`))) load(file);
  return [...loaded.values()].join("\n");
}

test("the npm package contains the build, the documentation and the examples, but no source files", async (t) => {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const pack = spawn("npm", args, { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  const listed = (await text(pack.stdout)).matchAll(/"path": "(?<file>[^"]+)"/g);
  const files = [...listed].map(({ groups }) => groups?.["file"] ?? "").filter((file) => !file.startsWith("dist/"));
  t.ok(files.includes("manifests/examples/storefront/shop.yaml"));
  t.notOk("dependencies" in manifest, "the build contains all packages, so users install none");
  t.ok(files.includes("man/ack-role-resolver.1"));
  const expected = /^(README\.md|LICENSE|package\.json|man\/.*|manifests\/(.*\.(yaml|md)|observability\/.*\.json))$/;
  t.same(files.filter((file) => !expected.test(file)), []);
});

/** Returns the logged listen address. */
async function addressOf(log: Readable): Promise<string> {
  for await (const line of createInterface(log)) {
    const address = stringAt(JSON.parse(line), "address");
    if (address !== null) return address;
  }
  throw new Error("the server exited before it listened");
}

/** Requests credentials. Retries after status 503 like an SDK, because the sidecar can respond before STS responds. */
async function credentials(url: string, tries = 5): Promise<unknown> {
  const { status, body } = await get(url, { authorization: TOKEN });
  return status === 503 && tries > 1 ? await credentials(url, tries - 1) : JSON.parse(body);
}
