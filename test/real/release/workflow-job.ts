import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { runProgram } from "../../programs/run-program.ts";
import { ROOT, withoutTap } from "../ci/packed.ts";

export const FILE = path.join(ROOT, ".github/workflows/release.yaml");

interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly "working-directory"?: string;
}

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>;
}

/** The values of the expressions in the `env` of steps. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  "secrets.GITHUB_TOKEN": "token-of-job", "github.repository": "Team/Resolver",
};

/**
 * Runs the scripts of a job of the workflow for releases as GitHub does, or only the one of `step`. `env` replaces the
 * `env` of the steps. Rejects if a script fails.
 */
export async function runJob(
  job: string, cwd: string, env: Readonly<Record<string, string>>, step?: string,
): Promise<void> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- actionlint has checked the file
  const { jobs } = parse(readFileSync(FILE, "utf8")) as Workflow;
  const scripts = (jobs[job]?.steps ?? []).filter(({ name, run }) => run !== undefined && (step ?? name) === name);
  for (const { name = "", run = "", env: own = {}, "working-directory": folder = "." } of scripts) {
    const values = Object.entries(own).map(([key, value]) => [key, valueOf(value)] as const);
    const options = { cwd: path.join(cwd, folder), env: { ...Object.fromEntries(values), ...env } };
    const { code, stdout, stderr } = await runProgram(...withoutTap("bash", ["-e", "-c", run]), options);
    if (code !== 0) throw new Error(`${name} exited with ${code}: ${stdout}${stderr}`);
  }
}

function valueOf(text: string): string {
  return text.replace(/\$\{\{ ([\w.]+) \}\}/g, (_all, expression: string) => {
    const value = EXPRESSIONS[expression];
    if (value === undefined) throw new Error(`the value of ${expression} is unknown`);
    return value;
  });
}
