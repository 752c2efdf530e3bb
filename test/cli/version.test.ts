import { test } from "tap";
import manifest from "../../package.json" with { type: "json" };
import { runCommand } from "./run-command.ts";

test("version prints the versions of the program and of Node.js as text or JSON", async (t) => {
  const { version } = manifest;
  const { node } = process.versions;
  t.same(await runCommand(["version"]), {
    status: 0, stdout: `ack-role-resolver ${version}\nNode.js ${node}\n`, stderr: "",
  });
  t.same(JSON.parse((await runCommand(["version", "-o", "json"])).stdout), { version, node });
});
