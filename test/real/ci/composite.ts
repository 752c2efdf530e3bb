import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";
import { ROOT, withoutTap } from "./packed.ts";

/** The keys of the metadata syntax that action.yml uses. */
interface ActionMetadata {
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default: string }>>;
  readonly outputs: Readonly<Record<string, { readonly description: string; readonly value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly ActionStep[] };
}
interface ActionStep {
  readonly id: string;
  readonly shell: string;
  readonly env: Readonly<Record<string, string>>;
  readonly run: string;
}

/** Returns action.yml. @throws if it is not valid YAML. */
export function readAction(): ActionMetadata {
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the tests check the keys
  const metadata: ActionMetadata = parse(readFileSync(path.join(ROOT, "action.yml"), "utf8"), { strict: true });
  return metadata;
}

/** The folders, the environment and the inputs with which the action runs. */
export interface ActionRun {
  /** The folder of the action's own files. */
  readonly actionPath: string;
  /** The checked-out repository: the working directory of the steps. */
  readonly workspace: string;
  readonly temporary: string;
  readonly environment: Readonly<Record<"PATH" | "HOME", string>>;
  readonly inputs: Readonly<Record<string, string>>;
}

/** The result of the last step that ran, the summaries of all steps, and the outputs of the action. */
export interface ActionResult extends ProgramResult {
  readonly summary: string;
  readonly outputs: Readonly<Record<string, string>>;
}

/**
 * Runs the steps of action.yml as the runner of GitHub does: `bash --noprofile --norc -eo pipefail FILE`. Evaluates
 * expressions only in `env`. Stops after a step that fails. Source:
 * https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
 */
export async function runAction(action: ActionMetadata, run: ActionRun): Promise<ActionResult> {
  const values = new Map(Object.entries(action.inputs).map(([name, one]) => [`inputs.${name}`, one.default]));
  for (const [name, value] of Object.entries(run.inputs)) {
    if (!values.has(`inputs.${name}`)) throw new Error(`action.yml has no input ${name}`);
    values.set(`inputs.${name}`, value);
  }
  const outputs = (): Record<string, string> => Object.fromEntries(
    Object.entries(action.outputs).map(([name, { value }]) => [name, evaluate(value, values)]),
  );
  let result: ProgramResult = { code: 0, stdout: "", stderr: "" };
  await writeFile(summaryFile(run), "");
  for (const step of action.runs.steps) {
    result = await runStep(step, values, run);
    if (result.code !== 0) break;
  }
  return { ...result, summary: await readFile(summaryFile(run), "utf8"), outputs: outputs() };
}

function summaryFile({ temporary }: ActionRun): string {
  return path.join(temporary, "summary.md");
}

async function runStep(step: ActionStep, values: Map<string, string>, run: ActionRun): Promise<ProgramResult> {
  if (step.run.includes("${{")) throw new Error(`step ${step.id} evaluates an expression as shell code`);
  const script = path.join(run.temporary, `${step.id}.sh`);
  const output = path.join(run.temporary, `${step.id}.output`);
  await Promise.all([writeFile(script, step.run), writeFile(output, "")]);
  const env = {
    ...run.environment,
    GITHUB_ACTION_PATH: run.actionPath, GITHUB_WORKSPACE: run.workspace, GITHUB_OUTPUT: output,
    RUNNER_TEMP: run.temporary, GITHUB_STEP_SUMMARY: summaryFile(run),
    ...Object.fromEntries(Object.entries(step.env).map(([name, value]) => [name, evaluate(value, values)])),
  };
  const result = await runProgram(...withoutTap(step.shell, ["--noprofile", "--norc", "-eo", "pipefail", script]), {
    cwd: run.workspace, env,
  });
  for (const line of (await readFile(output, "utf8")).split("\n").filter((one) => one !== "")) {
    const [name = "", ...value] = line.split("=");
    values.set(`steps.${step.id}.outputs.${name}`, value.join("="));
  }
  return result;
}

/**
 * Replaces each expression. Returns "" for an output that no step has set. @throws if the expression is not supported.
 */
function evaluate(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\{\{ *([^}]*?) *\}\}/g, (_, expression: string) => {
    const value = values.get(expression);
    if (value !== undefined) return value;
    if (/^steps\.[\w-]+\.outputs\.[\w-]+$/.test(expression)) return "";
    throw new Error(`unknown expression ${expression}`);
  });
}

/** Returns the values of a key at any depth of a parsed YAML file. */
export function valuesOf(node: unknown, key: string): readonly unknown[] {
  if (Array.isArray(node)) return node.flatMap((item) => valuesOf(item, key));
  if (!isJsonObject(node)) return [];
  const object: JsonObject = node;
  return Object.entries(object).flatMap(([name, value]) => [...(name === key ? [value] : []), ...valuesOf(value, key)]);
}
