import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { type Test, test } from "tap";
import { boundAddress } from "../../../shared/server/listen-address.ts";
import { get } from "../../loopback-request.ts";
import { clusterObject, controllerIdentity, roleIdentity, staticIdentity } from "../../shared/capa-objects.ts";
import { namespaceObject } from "../../shared/objects.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
const FREE_PORTS = ["--listen", "127.0.0.1:0"];

const SELECTOR = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec: {arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: {names: [team-a]}}
`;
const BUCKET = `apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: b1, namespace: team-a}
`;

/** Runs local mode in a process and records the output. */
class Local {
  readonly lines: string[] = [];
  readonly errors: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #wake = (): void => {};

  constructor(t: Test, ...args: readonly string[]) {
    const child = spawn(process.execPath, [path.join(ROOT, "cli/main.ts"), "local", ...args], { env: {}, cwd: ROOT });
    this.#child = child;
    this.#ended = once(child, "close");
    // After SIGKILL, the folder with the certificates would remain.
    t.teardown(() => this.end("SIGTERM"));
    createInterface(child.stdout).on("line", (line) => {
      this.lines.push(line);
      this.#wake();
    });
    createInterface(child.stderr).on("line", (line) => this.errors.push(line));
    child.once("exit", () => this.#wake());
  }

  /** Waits for a line that matches, consumes the output up to this line, and returns the line. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const at = this.lines.findIndex((line) => pattern.test(line));
      if (at >= 0) return this.lines.splice(0, at + 1).at(-1) ?? "";
      if (this.#child.exitCode !== null) {
        throw new Error(`exited without a line that matches ${String(pattern)}: ${this.errors.join("\n")}`);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  async end(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal !== undefined) this.#child.kill(signal);
    await this.#ended;
    return this.#child.exitCode;
  }
}

async function credentials(
  uri: string,
  tokenFile: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { status, body } = await get(uri, { authorization: await readFile(tokenFile, "utf8") });
  return { status, body: JSON.parse(body) };
}

/** Returns what the page of the roles shows. */
async function dataOf(map: string): Promise<unknown> {
  return await (await fetch(`${map}/data.json`)).json();
}

test("prints the role of each resource, serves credentials and health checks, and applies file changes", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, "b.yaml": BUCKET });
  const local = new Local(t, "--from", dir, ...FREE_PORTS);
  t.equal(await local.line(/b1/), "team-a     Bucket/b1  selected  111122223333/team-a");
  const [, webhookHealth = ""] = /metrics: (\S+)\)/.exec(await local.line(/^ {2}webhook /)) ?? [];
  const [, tokenFile = "", sidecarHealth = ""] =
    /token: (\S+); health and metrics: (\S+)\)/.exec(await local.line(/^ {2}sidecar /)) ?? [];
  const [, map = ""] = / (http:\S+) /.exec(await local.line(/^ {2}map /)) ?? [];
  const [, uri = ""] = /FULL_URI=(\S+)/.exec(await local.line(/FULL_URI=/)) ?? [];
  t.match(
    await local.line(/AWS_ENDPOINT_URL_STS/),
    / AWS_REGION=eu-west-1 AWS_DEFAULT_REGION=eu-west-1$/,
    "botocore reads only AWS_DEFAULT_REGION",
  );
  await local.line(/Ctrl-C/);

  t.equal((await fetch(`${webhookHealth}/readyz`)).status, 200);
  t.match(await (await fetch(`${sidecarHealth}/metrics`)).text(), /^ack_role_resolver_/m);
  const issued = await credentials(uri, tokenFile);
  t.equal(issued.status, 200);
  t.match(issued.body, { AccountId: "111122223333" });

  t.match(await (await fetch(map)).text(), /"stale":null/);
  t.match(await dataOf(map), { maps: [{ totals: { states: { resolved: 1 } } }], stale: null });

  await writeFile(path.join(dir, "a.yaml"), SELECTOR.replace("[team-a]", "[team-b]"));
  t.match(await local.line(/b1/), /default/);
  t.match(await dataOf(map), { maps: [{ totals: { states: { default: 1 } } }], stale: null });
  t.equal((await credentials(uri, tokenFile)).status, 200, "the selector still grants its role by name");
  await writeFile(path.join(dir, "a.yaml"), "kind: [");
  await local.line(/The manifests are invalid, so the last valid manifests are used: .*a\.yaml:1/);
  t.match(await dataOf(map), { maps: [{ totals: { states: { default: 1 } } }], stale: /a\.yaml:1/ });

  t.equal(await local.end("SIGTERM"), 0);
  t.strictSame(local.errors, []);
  await t.rejects(readFile(tokenFile), { code: "ENOENT" }, "the command removes its temporary files");
});

test("issues the role of an unused selector, and prints that a new API group requires a restart", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  const local = new Local(t, "--from", dir, ...FREE_PORTS);
  const [, uri = ""] = /FULL_URI=(\S+)/.exec(await local.line(/FULL_URI=/)) ?? [];
  const [, tokenFile = ""] = /TOKEN_FILE=(\S+)/.exec(await local.line(/TOKEN_FILE=/)) ?? [];
  await local.line(/Ctrl-C/);
  t.match(await credentials(uri, tokenFile), { status: 200, body: { AccountId: "111122223333" } });
  await writeFile(path.join(dir, "b.yaml"), BUCKET.replace("s3.", "sqs."));
  t.equal(
    await local.line(/Restart/),
    "The sidecar grants no roles for API groups that are added after its start. " +
      "Restart local mode to add sqs.services.k8s.aws.",
  );
});

test("prints the path of an identity if only objects of Cluster API have roles", async (t) => {
  const objects = [
    namespaceObject("ns1"), controllerIdentity(), staticIdentity("keys"), clusterObject("c0", "static/keys"),
    roleIdentity("team"), clusterObject("c1", "role/team"),
  ];
  const manifests = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  const local = new Local(t, "--from", t.testdir({ "a.yaml": manifests }), ...FREE_PORTS);
  const [, uri = ""] = /FULL_URI='(\S+)'/.exec(await local.line(/FULL_URI=/)) ?? [];
  t.match(uri, /\/v1\/credentials\/identities\/AWSClusterRoleIdentity\/team\?namespace=ns1$/);
  const [, tokenFile = ""] = /TOKEN_FILE=(\S+)/.exec(await local.line(/TOKEN_FILE=/)) ?? [];
  t.match(await local.line(/ curl /), / '\S+\/team\?namespace=ns1'$/);
  await local.line(/Ctrl-C/);
  t.match(await credentials(uri, tokenFile), { status: 200, body: { AccountId: "111122223333" } });
});

test("--mode carm prints the role of a namespace, and prints commands that include --mode carm", async (t) => {
  const namespace =
    "apiVersion: v1\nkind: Namespace\n" +
    'metadata: {name: team-a, annotations: {services.k8s.aws/owner-account-id: "111122223333"}}\n';
  const map =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ack-role-account-map, namespace: ack-system}\n" +
    'data: {"111122223333": "arn:aws:iam::111122223333:role/a"}\n';
  const local = new Local(
    t,
    "--from",
    t.testdir({ "a.yaml": namespace, "b.yaml": map }),
    "--mode",
    "carm",
    ...FREE_PORTS,
  );
  const [, uri = ""] = /FULL_URI=(\S+)/.exec(await local.line(/FULL_URI=/)) ?? [];
  t.match(uri, /\/v1\/credentials\/namespaces\/team-a$/);
  const [, tokenFile = ""] = /TOKEN_FILE=(\S+)/.exec(await local.line(/TOKEN_FILE=/)) ?? [];
  t.match(await local.line(/ lint /), / --mode carm$/);
  t.match(await local.line(/ resolve /), / --mode carm -o json$/);
  await local.line(/Ctrl-C/);
  t.match(await credentials(uri, tokenFile), { status: 200, body: { AccountId: "111122223333" } });
});

test("exits 2 and prints every error if manifests are invalid", async (t) => {
  const dir = t.testdir({ "a.yaml": "kind: [", "b.yaml": "kind: IAMRoleSelector\n" });
  const local = new Local(t, "--from", dir, ...FREE_PORTS);
  t.equal(await local.end(), 2);
  t.match(local.errors.join("\n"), /a\.yaml:1: [^]*b\.yaml:1: /);
  t.strictSame(local.lines, []);
});

for (const offset of [0, 1, 2, 3, 4, 5]) {
  test(`exits 2 and names the flag if port ${offset} of the six ports is in use`, async (t) => {
    const server = await listenBelowEphemeralPorts();
    t.teardown(() => server.close());
    const { port } = boundAddress(server);
    const dir = t.testdir({ "a.yaml": SELECTOR });
    const local = new Local(t, "--from", dir, "--listen", `127.0.0.1:${port - offset}`);
    t.equal(await local.end(), 2);
    t.strictSame(local.errors, [
      `ack-role-resolver: --listen 127.0.0.1:${port}: the port is in use by another process; ` +
        "stop that process or set --listen to another address",
    ]);
  });
}

test("uses the examples of the package if the working directory has no examples", async (t) => {
  const child = spawn(process.execPath, [path.join(ROOT, "cli/main.ts"), "local", ...FREE_PORTS], {
    env: {},
    cwd: t.testdir({}),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  t.teardown(async () => {
    child.kill();
    await ended;
  });
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line.startsWith("Change a file in ")) break;
  }
  t.match(lines.find((line) => line.startsWith("storefront")), /Bucket\/invoices .* selected /);
  t.equal(
    lines.at(-1),
    `Change a file in ${path.join(ROOT, "manifests/examples")} to see the roles change. Press Ctrl-C to stop.`,
  );
});

/** Other tests listen on ephemeral ports (from 32768 on Linux), so the ports beside this one are free. */
async function listenBelowEphemeralPorts(): Promise<Server> {
  for (;;) {
    const server = createServer().listen(randomInt(20_000, 32_000), "127.0.0.1");
    // `once` rejects if the port is in use.
    if (await once(server, "listening").then(() => true, () => false)) return server;
  }
}
