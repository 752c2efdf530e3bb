import { test } from "tap";
import { combinedHelp, flagHelp } from "../../cli/flag-help.ts";
import { COMMANDS, DEFINITIONS } from "../../shared/decisions/settings.ts";
import { runCommand } from "./run-command.ts";

test("--help exits 0 and lists every command on standard output", async (t) => {
  const { status, stdout, stderr } = await runCommand(["--help"]);
  t.equal(status, 0);
  t.equal(stderr, "");
  for (const command of ["local", "webhook", "sidecar", "lint", "resolve", "audit", "impact", "certs", "manifests"])
    t.match(stdout, new RegExp(`^  ${command} `, "m"));
});

test("the help of a command shows the placeholder and default of each flag", async (t) => {
  t.match(
    (await runCommand(["webhook", "--help"])).stdout,
    /--listen <HOST:PORT> +address to listen on\s+\(default: 0\.0\.0\.0:9443\)/,
  );
  t.match(
    (await runCommand(["sidecar", "--help"])).stdout,
    /--listen <HOST:PORT> +loopback address to listen on\s+\(default: 127\.0\.0\.1:9780\)/,
  );
  t.notMatch(
    (await runCommand(["credential-process", "--help"])).stdout,
    /manifests|resolve:|sidecar:/,
    "the help of one command does not show other commands",
  );
  t.match((await runCommand(["sidecar", "--help"])).stdout, /--max-staleness <DURATION>[^]*default: 300s/);
  t.match((await runCommand(["certs", "make", "--help"])).stdout, /--host <NAME>[^]*\(repeatable\)/);
});

const USAGE_ERRORS: readonly (readonly [title: string, argv: string[], stderr: string | RegExp])[] = [
  ["an unknown command", ["lnt"], "error: unknown command 'lnt'\n(Did you mean lint?)\n(see --help)\n"],
  [
    "an unknown flag",
    ["lint", "--runtim", "ack", "-"],
    "error: unknown option '--runtim'\n(Did you mean --runtime?)\n(see --help)\n",
  ],
  ["a flag without its value", ["lint", "--from"], /^error: option '--from <PATH>' argument missing\n/],
  [
    "no manifests",
    ["lint"],
    "ack-role-resolver: no manifests are given: pass files, folders, - for standard input, or --cluster\n",
  ],
  [
    "several invalid settings",
    ["resolve", "-", "--runtime", "new", "--region", "mars", "--controller-account", "1", "--check", "IRS-99=off"],
    new RegExp(
      "^ack-role-resolver: --runtime: expected one of ack, extended\n" +
        "ack-role-resolver: --region: expected an AWS region, such as eu-west-1\n" +
        "ack-role-resolver: --controller-account: expected an AWS account ID of 12 digits\n" +
        'ack-role-resolver: --check "IRS-99=off": check "IRS-99" does not exist; similar ids: IRS-09, ',
    ),
  ],
  ["a missing path", ["resolve", "no/such/folder"], /^no\/such\/folder: /],
  [
    "an unknown part of the manifests",
    ["manifests", "everything"],
    /^error: command-argument value 'everything' is invalid for argument 'part'/,
  ],
];
for (const [title, argv, stderr] of USAGE_ERRORS) {
  test(`exits 2 and prints no result for ${title}`, async (t) => {
    const ran = await runCommand(argv);
    t.equal(ran.status, 2);
    t.equal(ran.stdout, "");
    if (typeof stderr === "string") t.equal(ran.stderr, stderr);
    else t.match(ran.stderr, stderr);
  });
}

test("reads a setting from an environment variable unless a flag is set", async (t) => {
  const { status, stderr } = await runCommand(["lint", "-"], { environment: { ACK_ROLE_RESOLVER_FAIL_ON: "never" } });
  t.equal(status, 2);
  t.equal(stderr, "ack-role-resolver: ACK_ROLE_RESOLVER_FAIL_ON: expected one of deny, warn\n");
  t.equal(
    (await runCommand(["lint", "--fail-on", "warn", "-"], { environment: { ACK_ROLE_RESOLVER_FAIL_ON: "never" } }))
      .status,
    0,
  );
});

test("--version prints the version", async (t) => {
  t.match((await runCommand(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
});

test("the help text of every flag is a phrase that has no trailing full stop", (t) => {
  for (const [name] of DEFINITIONS) {
    for (const help of [combinedHelp(name), ...COMMANDS.map((command) => flagHelp(name, command))]) {
      t.match(help, /^\S.*[^.\s]$/, name);
    }
  }
  t.end();
});
