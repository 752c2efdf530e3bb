import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Test, test } from "tap";
import manifest from "../../../package.json" with { type: "json" };
import { setTimeLimit } from "../time-limit.ts";
import { type ActionResult, type ActionRun, readAction, runAction, valuesOf } from "./composite.ts";
import { copyOfCheckout, environmentWith, pack, ROOT } from "./packed.ts";

const LIMIT_MS = 10 * 60_000;
const ACTION = readAction();
/** The start of the workflow command with which GitHub annotates the typo in the examples. */
const ANNOTATION = /^::error file=manifests\/analytics\/iamroleselectors\.yaml,line=\d+,title=IRS-02::"arn:/m;

type Act = (inputs: Readonly<Record<string, string>>) => Promise<ActionResult>;

test("action.yml is a composite action with documented inputs and outputs, and uses no other action", (t) => {
  t.equal(ACTION.runs.using, "composite");
  for (const [name, { description }] of Object.entries({ ...ACTION.inputs, ...ACTION.outputs })) {
    t.match(name, /^[a-z-]+$/);
    t.match(description, /^[A-Z0-9].*\.$/, name);
  }
  t.same(valuesOf(ACTION, "uses"), []);
  t.match(ACTION.inputs["package"]?.description, `Node.js ${manifest.engines.node.replace(">=", "")} or later`);
  t.end();
});

test("the action checks a repository if its input is a tarball of npm pack", async (t) => {
  setTimeLimit(t, LIMIT_MS);
  const run = await preparedRun(t);
  const { tarball } = await pack(run.temporary);
  await cp(tarball, path.join(run.workspace, "resolver.tgz"));
  const act: Act = (inputs) => runAction(ACTION, { ...run, inputs: { package: "resolver.tgz", ...inputs } });
  await t.test("the action reports findings and fails", (tt) => reportsFindings(tt, act));
  await t.test("the action succeeds if no finding is a denial", (tt) => succeeds(tt, act));
  await t.test("the action passes each line of an input as one argument, and never runs it as a command", (tt) => (
    passesLines(tt, act, run.workspace)
  ));
  await t.test("the action writes the page of the roles", (tt) => writesMap(tt, act));
  await t.test("the action repairs the files with --fix", (tt) => repairs(tt, act, run.workspace));
  await t.test("the action rejects invalid inputs", (tt) => rejectsInputs(tt, act));
});

async function reportsFindings(t: Test, act: Act): Promise<void> {
  const { code, stdout, summary, outputs } = await act({ path: "manifests" });
  t.match({ code, outputs }, { code: 1, outputs: { "exit-status": "1" } });
  t.match(stdout, ANNOTATION);
  t.match(summary, /^\*\*IAM roles: [1-9].*\n[^]*\n\| \*\*deny\*\* \| IRS-02 \| /);
  t.match(await readFile(outputs["sarif-file"] ?? "", "utf8"), '"ruleId": "IRS-02"');
}

async function succeeds(t: Test, act: Act): Promise<void> {
  const { code, stdout, outputs } = await act({ path: "manifests/payments" });
  t.match({ code, outputs }, { code: 0, outputs: { "exit-status": "0" } });
  t.notMatch(stdout, "::error");
}

async function writesMap(t: Test, act: Act): Promise<void> {
  const { code, outputs } = await act({ path: "manifests/payments\nmanifests/platform", "map-file": "role-map.html" });
  t.match({ code, outputs }, { code: 0, outputs: { "map-file": "role-map.html" } });
  const args = "--ignore=*\n--allow-empty\n--no-webhook";
  const mapped = await act({ path: "manifests", args, "map-file": "role-map.html" });
  t.match(mapped, { code: 0 }, "also the map reads nothing");
  const failing = await act({ path: "manifests", "map-file": "no folder/role-map.html" });
  t.match(failing, { code: 1, outputs: { "map-file": "" }, stderr: /cannot write no folder/ });
}

async function passesLines(t: Test, act: Act, workspace: string): Promise<void> {
  const result = await act({
    path: "\nmanifests/payments\nno such; touch injected\n$(touch injected)\n",
    args: "--check=IRS-02=off\n--fail-on=warn\n",
    annotations: "false",
    "sarif-file": "findings.sarif",
  });
  t.match(result, { code: 2, outputs: { "sarif-file": "findings.sarif", "exit-status": "2" } });
  t.notMatch(result.stdout, "::error");
  for (const file of ["no such; touch injected", "$(touch injected)"]) t.ok(result.stderr.includes(file), file);
  t.same((await readdir(workspace)).toSorted(), ["findings.sarif", "manifests", "resolver.tgz"]);
}

async function repairs(t: Test, act: Act, workspace: string): Promise<void> {
  const file = path.join(workspace, "typo.yaml");
  await cp(path.join(ROOT, "docs/ci/typo/iamroleselector.yaml"), file);
  t.match(await act({ path: "typo.yaml", args: "--fix\n--dry-run" }), { code: 0, stderr: /^\+ +kind: Bucket #/m });
  t.match(await readFile(file, "utf8"), "kind: Buckets #");
  t.match(await act({ path: "typo.yaml", args: "--fix", "map-file": "role-map.html" }), { code: 0 });
  t.match(await readFile(file, "utf8"), "kind: Bucket #");
}

async function rejectsInputs(t: Test, act: Act): Promise<void> {
  t.match(await act({ args: "--no-such-flag" }), {
    code: 2, stderr: /unknown option '--no-such-flag'/, outputs: { "exit-status": "2" },
  });
  for (const name of ["ack-role-resolver", "ack-role-resolver@0.1.0", "missing.tgz", "manifests"]) {
    t.same(await act({ package: name }), {
      code: 2,
      stdout: "",
      stderr: `ack-role-resolver: the input package is "${name}", not the path of a .tgz file; `
        + "create it with npm pack\n",
      summary: "",
      outputs: { "sarif-file": "", "map-file": "", "exit-status": "" },
    });
  }
}

test("the action builds its own version if no package is given", async (t) => {
  setTimeLimit(t, LIMIT_MS);
  const run = await preparedRun(t);
  const actionPath = await copyOfCheckout(run.temporary);
  // The real npm ci would install hundreds of packages. This fake npm only checks its arguments, and builds the program
  // as `npm ci` does.
  const bin = path.join(run.temporary, "bin");
  await mkdir(bin);
  const npm = `#!/bin/sh\n[ "$1" = ci ] && exec "${process.execPath}" build.ts\n`;
  await writeFile(path.join(bin, "npm"), npm, { mode: 0o755 });
  t.match(manifest.scripts, { prepare: "node prepare.js", build: "node build.ts" });
  const environment = environmentWith(run.environment.HOME, bin);
  const result = await runAction(ACTION, { ...run, actionPath, environment });
  t.match(result, { code: 1, stdout: ANNOTATION, outputs: { "exit-status": "1" } });
});

async function preparedRun(t: Test): Promise<ActionRun> {
  const folder = t.testdir({ workspace: {}, temporary: {}, home: {} });
  const workspace = path.join(folder, "workspace");
  await cp(path.join(ROOT, "manifests/examples"), path.join(workspace, "manifests"), { recursive: true });
  return {
    actionPath: ROOT, workspace, temporary: path.join(folder, "temporary"),
    environment: environmentWith(path.join(folder, "home")), inputs: {},
  };
}
