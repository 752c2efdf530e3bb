import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { type Test, test } from "tap";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { fileWith } from "../token-file.ts";
import { type CommandResult, runCommand } from "./run-command.ts";

const SELECTOR = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec: {arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: {names: [team-a]}}
`;
const FREE = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
const SIDECAR = [
  "sidecar",
  "--group",
  "s3.services.k8s.aws",
  "--token-file",
  fileWith("planted-token-0123456789"),
  "--region",
  "eu-west-1",
  "--log-level",
  "error",
];

/** Returns a folder that contains a manifest, and a serving certificate and key from `certs make`. */
async function folder(t: Test): Promise<string> {
  const dir = t.testdir({ "a.yaml": SELECTOR });
  const { status } = await runCommand(["certs", "make", "--dir", path.join(dir, "tls"), "--host", "localhost"]);
  t.equal(status, 0);
  return dir;
}

function webhook(dir: string, ...flags: string[]): Promise<CommandResult> {
  return runCommand([
    "webhook",
    "--from",
    path.join(dir, "a.yaml"),
    "--tls-dir",
    path.join(dir, "tls"),
    "--log-level",
    "error",
    ...FREE,
    ...flags,
  ]);
}

/** Returns a port that is in use. */
async function takenPort(t: Test): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return boundAddress(server).port;
}

test("webhook exits 2 and names the certificate file and the key file if they do not match", async (t) => {
  const dir = await folder(t);
  const other = await runCommand(["certs", "make", "--dir", path.join(dir, "other"), "--host", "localhost"]);
  t.equal(other.status, 0);
  writeFileSync(path.join(dir, "tls/tls.key"), readFileSync(path.join(dir, "other/tls.key")));
  const { status, stdout, stderr } = await webhook(dir);
  t.equal(status, 2);
  t.equal(stdout, "");
  t.match(stderr, /^ack-role-resolver: .*tls\.key.*tls\.crt/);
});

test("webhook exits 2 and suggests `certs make` if the certificate files are missing", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, tls: {} });
  const { status, stderr } = await webhook(dir);
  t.equal(status, 2);
  t.match(stderr, /tls\.crt[^]*`ack-role-resolver certs make --dir DIR --host NAME`/);
});

test("webhook and sidecar exit 2 and name the flag whose port is in use", async (t) => {
  const dir = await folder(t);
  const taken = `127.0.0.1:${await takenPort(t)}`;
  const sidecar = [...SIDECAR, "--from", dir, ...FREE];
  for (const flag of ["--listen", "--health-listen"]) {
    const message =
      `ack-role-resolver: ${flag} ${taken}: the port is in use by another process; ` +
      `stop that process or set ${flag} to another address\n`;
    t.same(await webhook(dir, flag, taken), { status: 2, stdout: "", stderr: message });
    t.same(await runCommand([...sidecar, flag, taken]), { status: 2, stdout: "", stderr: message });
  }
});

test("webhook and sidecar exit 2 and print every error if manifests are unreadable", async (t) => {
  const dir = await folder(t);
  writeFileSync(path.join(dir, "a.yaml"), "kind: [");
  const expected = { status: 2, stdout: "", stderr: /^\S+a\.yaml:1: invalid YAML: / };
  t.match(await webhook(dir), expected);
  t.match(await runCommand([...SIDECAR, "--from", path.join(dir, "a.yaml"), ...FREE]), expected);
});

test("webhook and sidecar exit 2 and name the kubeconfig file if it is unreadable", async (t) => {
  const dir = await folder(t);
  const kubeconfig = path.join(dir, "no-kubeconfig");
  const cluster = ["--cluster", "--kubeconfig", kubeconfig];
  const tls = ["--tls-dir", path.join(dir, "tls")];
  for (const argv of [["webhook", ...tls, ...FREE, ...cluster], [...SIDECAR, ...FREE, ...cluster]]) {
    const { status, stderr } = await runCommand(argv);
    t.equal(status, 2);
    t.ok(stderr.startsWith(`ack-role-resolver: --kubeconfig ${kubeconfig} cannot be read: `), stderr);
  }
});

test("sidecar exits 2 if --listen is not a loopback address", async (t) => {
  const dir = await folder(t);
  const { status, stderr } = await runCommand([...SIDECAR, "--from", dir, "--listen", "0.0.0.0:0"]);
  t.equal(status, 2);
  t.equal(
    stderr,
    "ack-role-resolver: --listen 0.0.0.0:0: the sidecar issues credentials and listens only on loopback; " +
      "use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT\n",
  );
});

test("sidecar reports every invalid setting before it reads manifests", async (t) => {
  const wrong = [
    "--from",
    "nowhere",
    "--kind",
    "B@d",
    "--listen",
    "0.0.0.0:0",
    "--health-listen",
    "127.0.0.1:70000",
    "--sts-endpoint",
    "http://sts.example",
  ];
  const { status, stdout, stderr } = await runCommand([...SIDECAR, ...wrong]);
  t.equal(status, 2);
  t.equal(stdout, "");
  t.same(
    stderr
      .trim()
      .split("\n")
      .map((line) => line.split(/[: ]+/).slice(0, 2)),
    ["kind", "listen", "health-listen", "sts-endpoint"].map((flag) => ["ack-role-resolver", `--${flag}`]),
  );
});

test("webhook exits 2 if ACK-09 or NS-02 is on but --cluster is not set", async (t) => {
  const dir = await folder(t);
  for (const id of ["ACK-09", "NS-02"]) {
    const { status, stderr } = await webhook(dir, "--check", `${id}=deny`);
    t.equal(status, 2);
    t.equal(stderr, "ack-role-resolver: --check, --profile: ACK-09, NS-02 and AC-05 require --cluster\n");
  }
});
