import { test } from "tap";
import { examplesOf } from "../../cli/examples.ts";
import { flagHelp } from "../../cli/help.ts";
import { COMMANDS } from "../../shared/core/setting-definition.ts";
import { DEFINITIONS } from "../../shared/core/settings.ts";
import { runCommand } from "./run-command.ts";

test("--help exits 0 and lists every command on standard output", async (t) => {
  const { status, stdout, stderr } = await runCommand(["--help"]);
  t.equal(status, 0);
  t.equal(stderr, "");
  for (const command of new Set(COMMANDS.map((one) => one.split(" ")[0] ?? "")))
    t.match(stdout, new RegExp(`^  ${command} `, "m"));
});

test("the help of a command shows the placeholder and default of each flag", async (t) => {
  t.match(
    (await runCommand(["webhook", "--help"])).stdout,
    /--listen <HOST:PORT> +address to listen on\s+\(default: 0\.0\.0\.0:9443\)/,
  );
  t.match(
    (await runCommand(["sidecar", "--help"])).stdout,
    /--listen <HOST:PORT> +loopback address to listen on\s+\(default:\s+127\.0\.0\.1:9780\)/,
  );
  t.notMatch(
    (await runCommand(["credential-process", "--help"])).stdout,
    /manifests|resolve:|sidecar:/,
    "the help of one command does not show other commands",
  );
  t.match((await runCommand(["certs", "make", "--help"])).stdout, /--host <NAME,\.\.\.>[^]*comma-separated list/);
  t.match((await runCommand(["lint", "--help"])).stdout, /--from <PATH>[^]*\(repeatable\)/, "--from is not a list");
});

function wordsOf(command: string): string[] {
  return command.split(" ").filter((word) => word !== "");
}

/** Two screens of a terminal with 24 lines. */
const MAX_LINES = 48;

test("the help of every command fits two screens of the terminal and groups the flags by heading", async (t) => {
  for (const command of ["", ...COMMANDS]) {
    for (const [columns, ...all] of [[80], [80, "--all"], [120, "--all"]] as const) {
      const argv = [...wordsOf(command), "--help", ...all];
      const lines = (await runCommand(argv, { terminal: true, columns })).stdout.trimEnd().split("\n");
      const widest = Math.max(...lines.map((line) => line.length));
      t.ok(widest <= columns, `${command}: ${widest} columns of ${columns}`);
      if (all.length === 0) t.ok(lines.length <= MAX_LINES, `${command}: ${lines.length} lines`);
    }
  }
  const { stdout } = await runCommand(["sidecar", "--help", "--all"]);
  t.match(stdout, /^Input:\n {2}--from [^]*^Decisions:\n {2}--mode [^]*^Checks:\n {2}--allowed-accounts /m);
  t.match(stdout, /^Grants:\n {2}--group <GROUP,\.\.\.> [^]*  --kind [^]*^Credentials:\n {2}--token-file /m);
  t.match((await runCommand(["manifests", "--help"])).stdout, /^Installation:\n {2}-n, --namespace /m);
});

test("--help --all lists every flag, and --help without it counts the others", async (t) => {
  for (const command of COMMANDS) {
    const flags = DEFINITIONS.filter(([, { commands }]) => commands.includes(command)).map(([, { flag }]) => flag);
    const shownIn = (help: string): number => (
      flags.filter((flag) => new RegExp(`^ {2}(-\\w, )?${flag}( |$)`, "m").test(help)).length
    );
    t.equal(shownIn((await runCommand([...wordsOf(command), "--help", "--all"])).stdout), flags.length, command);
    const { stdout } = await runCommand([...wordsOf(command), "--help"]);
    const more = Number(/--all\s+lists\s+(\d+)\s+more/.exec(stdout)?.[1] ?? 0);
    t.equal(shownIn(stdout) + more, flags.length, command);
  }
  t.match((await runCommand(["lint", "--all", "-"])).stderr, "unknown option '--all'");
});

/** Stops each command after its settings are read. */
const INVALID = { ACK_ROLE_RESOLVER_EXAMPLE: "1" };

test("the examples in the help are valid command lines", async (t) => {
  for (const command of COMMANDS) {
    const examples = examplesOf(command).join("\n").replaceAll(/\\\n */g, "").split("\n");
    t.match((await runCommand([...wordsOf(command), "--help"])).stdout, `\nExamples:\n  ${examplesOf(command)[0]}`);
    for (const example of examples) {
      const argv = wordsOf(/ack-role-resolver ([^|>]*)/.exec(example)?.[1] ?? "");
      t.same(argv.slice(0, wordsOf(command).length), wordsOf(command), example);
      const { status, stderr } = await runCommand(argv, { environment: INVALID });
      if (command === "explain" || command === "completion") t.equal(status, 0, example);
      else t.match(stderr, /^ack-role-resolver: ACK_ROLE_RESOLVER_EXAMPLE: unknown setting; [^\n]*\n$/, example);
    }
  }
});

test("wraps the help at COLUMNS if the variable is set, and otherwise at 80 columns in a pipe", async (t) => {
  const widest = async (environment: Record<string, string>): Promise<number> => {
    const { stdout } = await runCommand(["sidecar", "--help"], { environment });
    return Math.max(...stdout.split("\n").map((line) => line.length));
  };
  t.ok(await widest({}) <= 80);
  const wide = await widest({ COLUMNS: "140" });
  t.ok(wide > 100 && wide <= 140, `${wide} columns`);
  t.equal(await widest({ COLUMNS: "many" }), await widest({}));
});

test("starts the description of a long flag on the next line", async (t) => {
  t.match(
    (await runCommand(["lint", "--help", "--all"])).stdout,
    /^ {2}--allowed-endpoint-hosts <HOST,\.\.\.>\n {30}host that the endpoint-url annotation/m,
  );
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
        'ack-role-resolver: --check "IRS-99=off": check "IRS-99" does not exist; similar ids: IRS-09',
    ),
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
  t.equal(stderr, "ack-role-resolver: ACK_ROLE_RESOLVER_FAIL_ON \"never\": expected one of deny, warn, unjudged\n");
  t.equal(
    (await runCommand(["lint", "--fail-on", "warn", "--allow-empty", "-"], {
      environment: { ACK_ROLE_RESOLVER_FAIL_ON: "never" },
    })).status,
    0,
  );
});

test("--version prints the version", async (t) => {
  t.match((await runCommand(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
});

test("the help text of every flag is a phrase that has no trailing full stop", (t) => {
  for (const [name] of DEFINITIONS) {
    for (const help of COMMANDS.map((command) => flagHelp(name, command))) {
      t.match(help, /^\S.*[^.\s]$/, name);
    }
  }
  t.end();
});
