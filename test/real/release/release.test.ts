import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { type Test, test } from "tap";
import { runProgram, runTool } from "../../programs/run-program.ts";
import { NAMESPACE, objectsIn, RELEASE } from "../chart/helm.ts";
import { environmentWith, ROOT, withoutTap } from "../ci/packed.ts";
import { manifestOf, startRegistry } from "./registry.ts";
import { buildRelease, type Release, REVISION, textOf, VERSION } from "./release.ts";
import { runJob } from "./workflow-job.ts";

const ARM64_ROOT = "/usr/aarch64-linux-gnu";
const EXAMPLES = path.join(ROOT, "manifests/examples");

// `npm run release` builds everything twice, and fails if the builds differ.
test("npm run release", async (t) => {
  const release = await buildRelease(t);
  if (release === null) return;
  await t.test("has the files of docs/release.md, whose checksums and provenance are right", async (tt) => (
    hasFiles(tt, release)
  ));
  await t.test("the npm tarball installs without a warning", async (tt) => {
    const tarball = path.join(release.folder, `ack-role-resolver-npm-${VERSION}.tgz`);
    const home = tt.testdir({});
    const env = environmentWith(home, path.join(home, "bin"));
    const args = ["install", "--global", "--offline", "--no-audit", "--no-fund", "--prefix", home, tarball];
    const installed = await runProgram(...withoutTap("npm", args), { cwd: home, env });
    tt.equal(installed.code, 0, installed.stderr);
    tt.notMatch(installed.stderr, /warn/i);
    const version = await runProgram(...withoutTap("ack-role-resolver", ["--version"]), { cwd: home, env });
    tt.same(version, { code: 0, stdout: `${VERSION}\n`, stderr: "" });
  });
  await t.test("the executable for x64 runs commands and parses in a thread", async (tt) => runsX64(tt, release));
  await t.test("the executable for arm64 starts", async (tt) => {
    const program = await executable(tt, release, "arm64");
    const started = await runProgram(...withoutTap("qemu-aarch64", ["-L", ARM64_ROOT, program, "--version"]), {
      cwd: ROOT,
    });
    tt.same(started, { code: 0, stdout: `${VERSION}\n`, stderr: "" });
  });
  await t.test("the workflow pushes image and chart, and helm renders this chart like the tarball", async (tt) => (
    rendersAlike(tt, release)
  ));
});

async function hasFiles(t: Test, release: Release): Promise<void> {
  const { folder } = release;
  const files = await readdir(folder);
  const page = await readFile(path.join(ROOT, "docs/release.md"), "utf8");
  for (const file of files) t.match(page, `\`${file.replace(VERSION, "VERSION")}\``, file);
  await runTool("sha256sum", ["--check", "--strict", "SHA256SUMS"], folder);
  const sums = (await textOf(release, "SHA256SUMS")).trim().split("\n").map((line) => line.split("  "));
  t.same(new Set(sums.map(([, name]) => name)), new Set(files.filter((file) => file !== "SHA256SUMS")));
  const statement = await textOf(release, "provenance.json");
  const subjects = sums.filter(([, name]) => name !== "provenance.json");
  t.match(JSON.parse(statement), {
    subject: subjects.map(([sha256, name]) => ({ name, digest: { sha256 } })),
    predicate: { buildDefinition: { externalParameters: { version: VERSION, revision: REVISION } } },
  });
  t.notMatch(statement, ROOT, "the provenance contains no path of this machine");
  t.match(await textOf(release, "notes.md"), `# ack-role-resolver ${VERSION}\n`);
  t.match(JSON.parse(await textOf(release, "sbom.cdx.json")), { bomFormat: "CycloneDX" });
}

/** Unpacks an executable, and returns its path. */
async function executable(t: Test, { folder }: Release, platform: string): Promise<string> {
  const target = t.testdir({});
  const archive = path.join(folder, `ack-role-resolver-${VERSION}-linux-${platform}.tar.gz`);
  await runTool("tar", ["-xzf", archive], target);
  const files = ["LICENSE", "LICENSE-node", "THIRD-PARTY-LICENSES.txt", "ack-role-resolver"];
  t.same(new Set(await readdir(target)), new Set(files));
  return path.join(target, "ack-role-resolver");
}

async function runsX64(t: Test, release: Release): Promise<void> {
  const program = await executable(t, release, "x64");
  const home = path.dirname(program);
  // No node is in this PATH.
  const env = { HOME: home, PATH: "/nonexistent" };
  const run = (...args: readonly string[]): ReturnType<typeof runProgram> => (
    runProgram(program, args, { cwd: home, env })
  );
  t.same(await run("--version"), { code: 0, stdout: `${VERSION}\n`, stderr: "" });
  t.match(await run("lint", path.join(EXAMPLES, "payments")), { code: 0, stdout: "checked, 0 denied" });
  t.match(await run("lint", EXAMPLES), { code: 1, stdout: " deny IRS-17 " });
  for (const server of ["webhook", "sidecar"]) t.match(await run(server, "--help"), { code: 0, stdout: `Usage: ` });
  t.match(await run("manifests", "rbac"), { code: 0, stdout: "kind: ClusterRole" });
  t.match(await run("map", "--html", "map.html", EXAMPLES), { code: 1 }, "the examples have faults");
  t.match(await readFile(path.join(home, "map.html"), "utf8"), "<script", "the page is in the executable");
  await servesMany(t, program, env);
}

/** The servers parse the files of a folder in a thread. */
async function servesMany(t: Test, program: string, env: Readonly<Record<string, string>>): Promise<void> {
  const folder = path.join(env["HOME"] ?? "", "many");
  await mkdir(folder);
  const namespace = (name: string): string => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`;
  for (let i = 0; i < 300; i++) await writeFile(path.join(folder, `${i}.yaml`), namespace(`n${i}`));
  const local = spawn(program, ["local", "--from", folder, "--listen", "127.0.0.1:0"], { cwd: folder, env });
  t.teardown(() => local.kill("SIGKILL"));
  const closed = once(local, "close");
  let errors = "";
  local.stderr.on("data", (data) => (errors += String(data)));
  for await (const line of createInterface(local.stdout)) if (line.endsWith("Press Ctrl-C to stop.")) break;
  local.stdout.resume();
  local.kill("SIGINT");
  t.same(await closed, [0, null], "local mode starts and stops");
  t.notMatch(errors, "cannot be parsed");
}

/** Publishes the release with the workflow. Verifies the draft of the release. */
async function publish(t: Test, folder: string, host: string): Promise<void> {
  const home = t.testdir({
    bin: { gh: t.fixture("file", '#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/gh"\n') },
    ".config": {
      containers: {
        "policy.json": JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }),
        "registries.conf": `[[registry]]\nlocation = "${host}"\ninsecure = true\n`,
      },
    },
    release: t.fixture("symlink", folder),
  });
  await chmod(path.join(home, "bin/gh"), 0o755);
  await runJob("publish", home, {
    ...environmentWith(home, path.join(home, "bin")), REGISTRY: host, REGISTRY_AUTH_FILE: path.join(home, "auth.json"),
    GITHUB_REF_NAME: `v${VERSION}`, GITHUB_ACTOR: "jane", GITHUB_REPOSITORY: "Team/Resolver",
  });
  const [files, draft] = [await readdir(folder), await readFile(path.join(home, "gh"), "utf8")];
  const flags = ["--draft", "--verify-tag", "--notes-file", "notes.md"];
  t.same(draft.trim().split("\n"), ["release", "create", `v${VERSION}`, ...flags, "--", ...files.toSorted()]);
}

async function rendersAlike(t: Test, release: Release): Promise<void> {
  const { folder, helm, registry } = release;
  const home = t.testdir({});
  const env = environmentWith(home);
  const host = await startRegistry(t, registry);
  const image = `${host}/team/resolver`;
  await publish(t, folder, host);
  const index = await manifestOf(`${image}:${VERSION}`);
  t.match(JSON.parse(index), {
    manifests: ["amd64", "arm64"].map((architecture) => ({ platform: { os: "linux", architecture } })),
  });
  const render = async (...chart: readonly string[]): Promise<string> => {
    const args = ["template", RELEASE, ...chart, "--namespace", NAMESPACE, "--kube-version", "1.30.0"];
    const { code, stdout, stderr } = await runProgram(helm, args, { cwd: home, env });
    t.equal(code, 0, stderr);
    return stdout;
  };
  const remote = [`oci://${image}/charts/ack-role-resolver`, "--version", VERSION, "--plain-http"];
  const rendered = await render(...remote);
  t.equal(rendered, await render(path.join(folder, `ack-role-resolver-chart-${VERSION}.tgz`)));
  const digest = `sha256:${createHash("sha256").update(index).digest("hex")}`;
  const named = `registry.example.com/a:${VERSION}@${digest}`;
  t.equal(rendered.split(named).length - 1, 2, "the chart names the image with its digest");
  t.same(objectsIn(await textOf(release, "install.yaml")), objectsIn(rendered));
}
