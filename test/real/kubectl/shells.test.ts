import { symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Test, test } from "tap";
import { COMPLETION_FILE, PLUGIN_FILE } from "../../../cli/plugin.ts";
import { SCRIPTS } from "../../../cli/completion/scripts.ts";
import { readEnvironment } from "../../programs/environment.ts";
import { KUBERNETES } from "../../programs/kubernetes.ts";
import { findPackages } from "../../programs/packages.ts";
import { type ProgramResult, runProgram, runTool } from "../../programs/run-program.ts";
import { environmentWith, ROOT, withoutTap } from "../ci/packed.ts";
import { findPrograms } from "../find-programs.ts";

/** A shell in a terminal waits for its output without an end. */
const LIMIT_MS = 60_000;

/** Builds the program, and makes its three commands in a folder. Returns how to run a shell with them in the PATH. */
async function installed(t: Test): Promise<(command: string, ...args: string[]) => Promise<ProgramResult>> {
  const folder = t.testdir({});
  await runTool(process.execPath, ["build.ts", path.join(folder, "dist")], ROOT);
  for (const name of ["ack-role-resolver", PLUGIN_FILE, COMPLETION_FILE]) {
    symlinkSync(path.join(folder, "dist", `${name}.js`), path.join(folder, name));
  }
  for (const [shell, script] of Object.entries(SCRIPTS)) writeFileSync(path.join(folder, `script.${shell}`), script);
  const env = { ...environmentWith(folder, folder), TERM: "dumb" };
  return (command, ...args) => runProgram(...withoutTap(command, args), {
    cwd: folder, env, signal: AbortSignal.timeout(LIMIT_MS),
  });
}

const CASES = [
  ["ack-role-resolver res", ["resolve"]],
  ["ack-role-resolver trust w", ["who"]],
  ["ack-role-resolver resolve -o ", ["json", "text", "wide"]],
  [`${PLUGIN_FILE} why buck`, ["bucket/"]],
] as const;

test("bash completes commands, values, and values after =, and offers files", async (t) => {
  const run = await installed(t);
  const complete = async (line: string): Promise<string[]> => {
    const typed = "source script.bash; COMP_LINE=$1 COMP_POINT=${#1}; _ack_role_resolver";
    const script = `${typed}; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run("bash", "--norc", "-c", script, "bash", line);
    return stdout.trim().split("\n").toSorted();
  };
  for (const [line, expected] of CASES) t.same(await complete(line), expected, line);
  t.same(await complete("ack-role-resolver resolve --output=w"), ["wide"], "bash keeps what is before =");
  const registered = "source script.bash; complete -p ack-role-resolver kubectl-ack_role";
  const { stdout } = await run("bash", "--norc", "-c", registered);
  t.match(stdout, /-F _ack_role_resolver ack-role-resolver\n.* kubectl-ack_role\n/);
});

/** Returns the paths of the shells. Skips the test and returns null if they are missing; with `CI=true`, it fails. */
async function shells(t: Test): Promise<{ readonly fish: string; readonly zsh: string } | null> {
  const found = await findPackages("shells");
  if (!("fault" in found)) return found.paths;
  if (readEnvironment().ci) throw new Error(found.fault);
  t.plan(0, found.fault);
  return null;
}

test("fish completes commands, values and files", async (t) => {
  const found = await shells(t);
  if (found === null) return;
  const run = await installed(t);
  const complete = async (line: string): Promise<string[]> => {
    const { stdout } = await run(found.fish, "--no-config", "-c", `source script.fish; complete -C "${line}"`);
    return stdout.trim().split("\n").map((one) => one.split("\t")[0] ?? "").toSorted();
  };
  for (const [line, expected] of CASES) t.same(await complete(line), expected, line);
  t.same(await complete("ack-role-resolver resolve --output=w"), ["--output=wide"]);
  t.same(await complete("ack-role-resolver lint script.b"), ["script.bash"]);
});

/** Types a line and a tab in a terminal of zsh, until the terminal shows the pattern. */
const ZSH = `zmodload zsh/zpty
zpty shell $0 -f -i
zpty -w shell 'unsetopt beep; autoload -Uz compinit; compinit -u -D; source script.zsh; print set''up'
zpty -r shell shown '*setup*'
zpty -w -n shell "$1"$'\\t'
zpty -r shell shown "$2" && print found
`;

test("zsh completes commands, values and files in a terminal", async (t) => {
  const found = await shells(t);
  if (found === null) return;
  const run = await installed(t);
  for (const [line, pattern] of [
    ["ack-role-resolver res", "*resolve *"], ["ack-role-resolver resolve -o ", "*json  text  wide*"],
    ["ack-role-resolver resolve --output=w", "*--output=wide*"], [`${PLUGIN_FILE} why buck`, "*why bucket/*"],
    ["ack-role-resolver lint script.ba", "*lint script.bash*"],
  ] as const) {
    t.match((await run(found.zsh, "-f", "-c", ZSH, found.zsh, line, pattern)).stdout, /found\n$/, line);
  }
});

test("kubectl completes the plugin, and runs it", async (t) => {
  const folders = await findPrograms(t, KUBERNETES);
  if (folders === null) return;
  const run = await installed(t);
  const kubectl = path.join(folders[0], "kubectl");
  const complete = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await run(kubectl, "__complete", "ack-role", ...words);
    return stdout.trim().split("\n").map((one) => one.split("\t")[0] ?? "");
  };
  t.same(await complete("res"), ["resolve", ":4"]);
  t.same(await complete("why", "buck"), ["bucket/", ":6"]);
  t.same(await complete("resolve", "-o", ""), ["text", "wide", "json", ":4"]);
  t.match((await run(kubectl, "ack-role", "why", "--help")).stdout, /^Usage: kubectl ack-role why /);
  t.match((await run(kubectl, "ack-role", "why", "bucket/b1")).stderr, /^kubectl ack-role: No kubeconfig and no Pod/);
});
