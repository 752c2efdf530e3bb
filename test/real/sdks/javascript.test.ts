import { join } from "node:path";
import { test } from "tap";
import { runProgram } from "../apiserver/run-program.ts";
import { readsTheSidecar } from "./reads-the-sidecar.ts";

const PROGRAM = join(import.meta.dirname, "clients", "javascript.ts");

test("the AWS SDK for JavaScript reads the sidecar", async (t) => {
  await readsTheSidecar(t, {
    run: (endpoint, env) => runProgram(process.execPath, [PROGRAM, endpoint], { cwd: import.meta.dirname, env }),
    // It tells that no provider had credentials, and not why.
    refusal: () => /CredentialsProviderError: Could not load credentials from any providers/,
  });
});
