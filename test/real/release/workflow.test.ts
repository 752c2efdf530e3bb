import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test } from "tap";
import { parse } from "yaml";
import { RELEASE_TOOLS } from "../../programs/release-tools.ts";
import { runProgram } from "../../programs/run-program.ts";
import { ROOT } from "../ci/packed.ts";
import { findPrograms } from "../find-programs.ts";
import { FILE, runJob } from "./workflow-job.ts";

test("actionlint accepts the workflow of a release, and finds a fault in a changed one", async (t) => {
  const tools = await findPrograms(t, RELEASE_TOOLS);
  if (tools === null) return;
  const lint = (input: string): ReturnType<typeof runProgram> => (
    runProgram(path.join(tools[0], "actionlint"), ["-no-color", "-"], { cwd: ROOT, input })
  );
  const text = readFileSync(FILE, "utf8");
  t.same(await lint(text), { code: 0, stdout: "", stderr: "" });
  t.match(await lint(text.replace("needs: build", "needs: built")), { code: 1, stdout: 'job "built"' });
});

test("the workflow of a release pins each action, and has only the permissions that each job needs", async (t) => {
  const text = readFileSync(FILE, "utf8");
  const uses = text.match(/uses: .*/g) ?? [];
  t.ok(uses.length >= 4);
  for (const one of uses) t.match(one, /^uses: actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  t.match(parse(text), {
    permissions: {},
    jobs: { build: { permissions: { contents: "read" } }, publish: { environment: "release" } },
  });
  t.equal(text.match(/: write$/gm)?.length, 4);
  t.notMatch(text, /run:.*\$\{\{/, "no expression is evaluated as shell code");
});

test("the workflow rejects a tag that is not the version of the package and of the changelog", async (t) => {
  const folder = t.testdir({ "package.json": '{"version": "1.2.3"}', "CHANGELOG.md": "# Changelog\n\n## 1.2.3\n" });
  const step = "Check that the tag, the package and the changelog have the same version";
  const run = (tag: string): Promise<void> => (
    runJob("build", folder, { PATH: process.env["PATH"] ?? "", GITHUB_REF_NAME: tag }, step)
  );
  await run("v1.2.3");
  for (const tag of ["v1.2.4", "1.2.3", "v1.2.3-rc.1"]) await t.rejects(run(tag), { message: `${step} exited with 1` });
  writeFileSync(path.join(folder, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n");
  await t.rejects(run("v1.2.3"), { message: `${step} exited with 1` });
});
