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
import { stringAt } from "../shared/decisions/kubernetes/json.ts";
import { type Command, COMMANDS, DEFINITIONS } from "../shared/decisions/settings.ts";
import { runCommand } from "./cli/run-command.ts";
import { get } from "./loopback-request.ts";

const ROOT = path.join(import.meta.dirname, "..");
const SELECTOR = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec: {arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: {names: [team-a]}}
`;
const BASE = { accessKeyID: "ASIABASE", secretAccessKey: "base-secret", sessionToken: "base-session", arn: "arn:aws:sts::999988887777:assumed-role/ack/base" };

const dist = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-built-"));
tap.teardown(() => rm(dist, { recursive: true }));
const COMMAND = path.join(dist, "ack-role-resolver.js");

test("production is built", async (t) => {
  t.same(await once(spawn(process.execPath, [path.join(ROOT, "build.ts"), dist], { cwd: ROOT, stdio: "inherit" }), "close"), [0, null]);
});

test("what is built runs: the sidecar takes its identity from the environment and grants a role", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  const sts = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => sts.close());
  const sidecar = spawn(process.execPath, [
    COMMAND, "sidecar", "--from", dir, "--group", "s3.services.k8s.aws", "--token", "t",
    "--sts-endpoint", sts.url, "--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0",
  ], {
    env: { AWS_ACCESS_KEY_ID: BASE.accessKeyID, AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey, AWS_SESSION_TOKEN: BASE.sessionToken },
    stdio: ["ignore", "inherit", "pipe"],
  });
  t.teardown(async () => {
    sidecar.kill("SIGINT");
    if (sidecar.exitCode === null) await once(sidecar, "close");
  });
  const answer = await credentials(`http://${await addressOf(sidecar.stderr)}/v1/credentials/selectors/team-a`);
  t.match(answer, { AccountId: "111122223333", AccessKeyId: /^ASIA/ });
  t.match(sts.calls.at(-1), { action: "AssumeRole", roleARN: "arn:aws:iam::111122223333:role/team-a" });
});

test("what is built finds the faults that the sources find, of settings and of selectors alike", async (t) => {
  const file = path.join(t.testdir({ "a.yaml": SELECTOR.replace("[team-a]", "{a: 1}") + "status: {extra: 1}\n" }), "a.yaml");
  const given: readonly (readonly string[])[] = [
    ["lint", "-o", "json", file],
    ...COMMANDS.map((command) => [...command.split(" "), ...withWrongValues(command)]),
  ];
  for (const argv of given) {
    const { stdout, stderr, status } = await runCommand(argv);
    t.not(status, 0, `${argv.join(" ")} has faults`);
    const child = spawn(process.execPath, [COMMAND, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    t.same({ output, errors }, { output: stdout, errors: stderr }, argv.join(" "));
  }
});

/** Of each setting with something to break, what breaks it. */
function withWrongValues(command: Command): string[] {
  const broken = DEFINITIONS.filter(([, definition]) => definition.commands.includes(command) && definition.type !== "boolean" && (definition.pattern ?? definition.choices) !== undefined);
  return broken.flatMap(([, { flag }]) => [flag, "\u00e9 no such"]);
}

test("a command loads no module that only others need", async (t) => {
  const loaded = new Set<string>();
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const [, next = ""] of readFileSync(path.join(dist, file), "utf8").matchAll(/(?:from|import)"\.\/([^"]+)"/g)) load(next);
  };
  load("ack-role-resolver.js");
  for (const file of readdirSync(dist).filter((name) => name.startsWith("credential-process-"))) load(file);
  const code = [...loaded].map((file) => readFileSync(path.join(dist, file), "utf8")).join("\n");
  // What only fastify, the SDK, yaml, prom-client and ajv say.
  for (const word of ["FST_ERR_", "AssumeRoleCommand", "YAMLParseError", "# HELP", "strictSchema"]) t.notOk(code.includes(word), `credential-process loads what says ${word}`);
  t.ok(code.includes("credential_process"), "it is what was looked at");
});

test("the package holds what runs and what is read, and no sources", async (t) => {
  const pack = spawn("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  const listed = (await text(pack.stdout)).matchAll(/"path": "(?<file>[^"]+)"/g);
  const files = [...listed].map(({ groups }) => groups?.["file"] ?? "").filter((file) => !file.startsWith("dist/"));
  t.ok(files.includes("manifests/examples/storefront/shop.yaml"));
  t.same(files.filter((file) => !/^(README\.md|LICENSE|package\.json|manifests\/.*\.(yaml|md))$/.test(file)), []);
});

/** As it is logged. */
async function addressOf(log: Readable): Promise<string> {
  for await (const line of createInterface(log)) {
    const address = stringAt(JSON.parse(line), "address");
    if (address !== null) return address;
  }
  throw new Error("it ended before it listened");
}

/** Asks anew where the first answer is that STS is waited for, as SDKs do. */
async function credentials(url: string, tries = 5): Promise<unknown> {
  const { status, body } = await get(url, { authorization: "t" });
  return status === 503 && tries > 1 ? await credentials(url, tries - 1) : JSON.parse(body);
}
