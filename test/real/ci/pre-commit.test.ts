import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { parse } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import { SUPPORTED_NODES } from "../../programs/node-versions.ts";
import { runProgram } from "../../programs/run-program.ts";
import { setTimeLimit } from "../time-limit.ts";
import { installGlobally, pack, ROOT } from "./packed.ts";

const LIMIT_MS = 5 * 60_000;

interface Hook {
  readonly id: string;
  readonly entry: string;
  readonly args: readonly string[];
  readonly language_version: string;
}

// pre-commit installs the tarball of `npm pack`, and runs entry and args in the root of the user's repository:
// https://pre-commit.com/#node
test("the pre-commit hook checks the folders in its args with the installed command", async (t) => {
  setTimeLimit(t, LIMIT_MS);
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the test checks the keys
  const hooks: readonly Hook[] = parse(readFileSync(path.join(ROOT, ".pre-commit-hooks.yaml"), "utf8"));
  const common = { language: "node", types: ["yaml"], pass_filenames: false };
  t.match(hooks, [{ id: "ack-role-resolver-lint", ...common }, { id: "ack-role-resolver-fix", ...common }]);
  t.equal(hooks.length, 2);
  t.equal(hooks[1]?.entry, `${hooks[0]?.entry} --fix`);
  t.equal(hooks[1]?.language_version, hooks[0]?.language_version);
  // test/real/ci/package.test.ts runs the package with each of these versions.
  t.ok(SUPPORTED_NODES.some(({ name }) => name === `node-${hooks[0]?.language_version}`));
  const { entry = "", args = [] } = hooks[0] ?? {};
  const [command = "", ...fixed] = entry.split(" ");
  t.ok(Object.hasOwn(manifest.bin, command), "the package installs the command");
  const folder = t.testdir({ packed: {}, installed: {} });
  const { tarball } = await pack(path.join(folder, "packed"));
  const env = await installGlobally(tarball, path.join(folder, "installed"), path.dirname(process.execPath));
  const run = (...folders: readonly string[]): ReturnType<typeof runProgram> =>
    runProgram(command, [...fixed, ...folders], { cwd: path.join(ROOT, "manifests/examples"), env });
  t.match(await run(...args), { code: 1, stdout: /^(\.\/)?analytics\/iamroleselectors\.yaml:\d+: deny IRS-02 /m });
  t.match(await run("payments"), { code: 0 });
});
