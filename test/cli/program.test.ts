import { test } from "tap";
import { runCommand } from "./run-command.ts";

test("help is data, exits 0 and names every command", async (t) => {
  const { status, stdout, stderr } = await runCommand(["--help"]);
  t.equal(status, 0);
  t.equal(stderr, "");
  for (const command of ["local", "webhook", "sidecar", "lint", "resolve", "audit", "impact", "certs", "manifests"]) t.match(stdout, new RegExp(`^  ${command} `, "m"));
});

test("each command shows its flags with what stands for their values and their defaults", async (t) => {
  t.match((await runCommand(["webhook", "--help"])).stdout, /--listen <HOST:PORT> +where to serve\s+\(default: 0\.0\.0\.0:9443\)/);
  t.match((await runCommand(["sidecar", "--help"])).stdout, /--listen <HOST:PORT> +where to serve, on loopback alone\s+\(default: 127\.0\.0\.1:9780\)/);
  t.notMatch((await runCommand(["credential-process", "--help"])).stdout, /manifests|resolve:|sidecar:/, "nothing of other commands");
  t.match((await runCommand(["sidecar", "--help"])).stdout, /--max-staleness <DURATION>[^]*default: 300s/);
  t.match((await runCommand(["certs", "make", "--help"])).stdout, /--host <NAME>[^]*\(repeatable\)/);
});

const USAGE: readonly (readonly [what: string, argv: string[], stderr: string | RegExp])[] = [
  ["an unknown command", ["lnt"], "error: unknown command 'lnt'\n(Did you mean lint?)\n(--help shows what there is)\n"],
  ["an unknown flag", ["lint", "--runtim", "ack", "-"], "error: unknown option '--runtim'\n(Did you mean --runtime?)\n(--help shows what there is)\n"],
  ["a flag without its value", ["lint", "--from"], /^error: option '--from <PATH>' argument missing\n/],
  ["no manifests", ["lint"], "ack-role-resolver: no manifests: name files or folders, --from PATH, - for standard input, or --cluster\n"],
  [
    "every bad setting at once", ["resolve", "-", "--runtime", "new", "--region", "mars", "--controller-account", "1", "--check", "IRS-99=off"],
    /^ack-role-resolver: --runtime: expected one of ack, extended\nack-role-resolver: --region: expected a region, such as eu-west-1\nack-role-resolver: --controller-account: expected an account id of 12 digits\nack-role-resolver: --check \(value 1\): expected ID=deny/,
  ],
  ["a path that is not there", ["resolve", "no/such/folder"], /^no\/such\/folder: /],
  ["an unknown part of the manifests", ["manifests", "everything"], /^error: command-argument value 'everything' is invalid for argument 'part'/],
];
for (const [what, argv, stderr] of USAGE) {
  test(`${what} exits 2 and prints no data`, async (t) => {
    const ran = await runCommand(argv);
    t.equal(ran.status, 2);
    t.equal(ran.stdout, "");
    if (typeof stderr === "string") t.equal(ran.stderr, stderr);
    else t.match(ran.stderr, stderr);
  });
}

test("the environment sets what no flag sets", async (t) => {
  const { status, stderr } = await runCommand(["lint", "-"], { environment: { ACK_ROLE_RESOLVER_FAIL_ON: "never" } });
  t.equal(status, 2);
  t.equal(stderr, "ack-role-resolver: ACK_ROLE_RESOLVER_FAIL_ON: expected one of deny, warn\n");
  t.equal((await runCommand(["lint", "--fail-on", "warn", "-"], { environment: { ACK_ROLE_RESOLVER_FAIL_ON: "never" } })).status, 0);
});

test("the version is the package's", async (t) => {
  t.match((await runCommand(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
});
