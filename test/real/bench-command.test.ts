import process from "node:process";
import { test } from "tap";
import { runProgram } from "../programs/run-program.ts";

const MAIN = new URL("../../bench/main.ts", import.meta.url).pathname;

test("rejects unknown rows, and does not write the results of a quick run", async (t) => {
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await runProgram(process.execPath, [MAIN, ...args], { cwd: import.meta.dirname });
    t.equal(code, 1);
    return stderr;
  };
  t.match(await run("no-such-row"), /no such row; the rows are admission-mutate,/);
  t.match(await run("--quick", "--write", "identity"), /too little to be written/);
});
