import { join } from "node:path";
import { test } from "tap";
import { runProgram } from "../apiserver/run-program.ts";
import { readEnvironment } from "../environment.ts";
import { findBotocore } from "./botocore.ts";
import { readsTheSidecar } from "./reads-the-sidecar.ts";

const PROGRAM = join(import.meta.dirname, "clients", "botocore_client.py");

test("botocore reads the sidecar", async (t) => {
  const found = await findBotocore(readEnvironment());
  if (!found.found) {
    t.plan(0, found.reason);
    return;
  }
  const { python, folder } = found.botocore;
  await readsTheSidecar(t, {
    run: (endpoint, variables) => {
      const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1", ...variables };
      return runProgram(python, [PROGRAM, endpoint], { cwd: import.meta.dirname, env });
    },
    // It shows the whole answer.
    refusal: (code) => new RegExp(`"code": ?"${code}"`),
  });
});
