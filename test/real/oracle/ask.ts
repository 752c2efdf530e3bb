import { t as root, type Test, test } from "tap";
import { runProgram } from "../apiserver/run-program.ts";
import { readEnvironment } from "../environment.ts";
import { findOracle } from "./binary.ts";

const BUILD_LIMIT_MS = 30 * 60_000;
const TEST_LIMIT_MS = 2 * 60_000;

/** Asks all questions at once and gives the answers in the same order. */
export type Ask = <Answer>(questions: readonly object[]) => Promise<readonly Answer[]>;

/** Registers one test with the oracle, skipped in one line where it is not built and may not be. */
export function withOracle(name: string, body: (t: Test, ask: Ask) => Promise<void>): void {
  test(name, async (t) => {
    limit(t, BUILD_LIMIT_MS);
    const oracle = await findOracle(readEnvironment());
    limit(t, TEST_LIMIT_MS);
    if (!oracle.found) {
      t.plan(0, oracle.reason);
      return;
    }
    await body(t, (questions) => askAll(oracle.program, questions));
  });
}

/** @throws when the oracle fails or does not answer every question: nothing may pass for agreement. */
async function askAll<Answer>(program: string, questions: readonly object[]): Promise<readonly Answer[]> {
  const input = questions.map((question) => `${JSON.stringify(question)}\n`).join("");
  const { code, stdout, stderr } = await runProgram(program, [], { cwd: import.meta.dirname, input });
  if (code !== 0) throw new Error(`the oracle ended with ${code}: ${stderr}`);
  const lines = stdout.split("\n").filter((line) => line !== "");
  if (lines.length !== questions.length) throw new Error(`the oracle gave ${lines.length} answers to ${questions.length} questions`);
  return lines.map((line): Answer => JSON.parse(line));
}

/** tap ends a file after 30 s by default; only the root test tells its runner of another limit. */
function limit(t: Test, limitMs: number): void {
  root.setTimeout(limitMs);
  t.setTimeout(limitMs);
}
