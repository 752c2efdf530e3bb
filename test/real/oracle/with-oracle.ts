import { type Test, test } from "tap";
import { runProgram } from "../../programs/run-program.ts";
import { ACK_RUNTIME, ackProgramsIn } from "../../programs/ack-runtime.ts";
import { findPrograms } from "../find-programs.ts";

/** Sends all queries to the oracle, and returns the results in the order of the queries. */
type QueryOracle = <Result>(queries: readonly object[]) => Promise<readonly Result[]>;

/**
 * Registers a test that uses the oracle. Skips the test if the oracle is not built, unless `CI=true`, which builds it.
 */
export function withOracle(name: string, body: (t: Test, query: QueryOracle) => Promise<void>): void {
  test(name, async (t) => {
    const folders = await findPrograms(t, ACK_RUNTIME);
    if (folders !== null) await body(t, (queries) => queryAll(ackProgramsIn(folders[0]).oracle, queries));
  });
}

/** @throws if the oracle fails or omits a result. */
async function queryAll<Result>(program: string, queries: readonly object[]): Promise<readonly Result[]> {
  const input = queries.map((query) => `${JSON.stringify(query)}\n`).join("");
  const { code, stdout, stderr } = await runProgram(program, [], { cwd: import.meta.dirname, input });
  if (code !== 0) throw new Error(`the oracle exited with ${code}: ${stderr}`);
  const lines = stdout.split("\n").filter((line) => line !== "");
  if (lines.length !== queries.length) {
    throw new Error(`the oracle returned ${lines.length} results for ${queries.length} queries`);
  }
  return lines.map((line): Result => JSON.parse(line));
}
