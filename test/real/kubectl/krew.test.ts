import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { parse } from "yaml";
import { krewManifest } from "../../../build/krew.ts";
import { ARTIFACTS, fileName } from "../../../build/release/artifacts.ts";
import { PLUGIN_FILE } from "../../../cli/plugin.ts";
import manifest from "../../../package.json" with { type: "json" };
import { stringAt } from "../../../shared/formats/json.ts";
import { KREW } from "../../programs/krew.ts";
import { runProgram, runTool } from "../../programs/run-program.ts";
import { environmentWith, pack, ROOT, withoutTap } from "../ci/packed.ts";
import { findPrograms } from "../find-programs.ts";

const { version } = manifest;
const DOWNLOADS = "https://downloads.example/";

test("krew installs the plugin from the files of a release, and rejects another archive", async (t) => {
  const folders = await findPrograms(t, KREW);
  if (folders === null) return;
  const folder = t.testdir({ other: {}, release: {} });
  const [archive, yaml] = await releaseFiles(folder);
  const install = async (file: string): ReturnType<typeof runProgram> => {
    const args = ["install", `--manifest=${yaml}`, `--archive=${file}`];
    return await runProgram(...withoutTap(path.join(folders[0], "krew"), args), { cwd: folder, env });
  };
  const bin = path.join(folder, ".krew/bin");
  const env = { ...environmentWith(folder, bin), KREW_ROOT: path.join(folder, ".krew") };
  t.match(readFileSync(yaml, "utf8"), `uri: ${DOWNLOADS}${path.basename(archive)}\n`);

  const other = path.join(folder, "other.tar.gz");
  await runTool("tar", ["-czf", other, "-C", folder, "other"], folder);
  const rejected = await install(other);
  t.not(rejected.code, 0);
  t.match(rejected.stderr, "checksum");

  const { code, stderr } = await install(archive);
  t.equal(code, 0, stderr);
  t.match(stderr, /Installed plugin: ack-role\n[^]*kubectl ack-role why bucket\/NAME/);
  const ran = await runProgram(...withoutTap(PLUGIN_FILE, ["why", "bucket/b1"]), { cwd: folder, env });
  t.match(ran, { code: 2, stderr: /^kubectl ack-role: No kubeconfig and no Pod service account was found\./ });
  const help = await runProgram(...withoutTap(PLUGIN_FILE, ["--help"]), { cwd: folder, env });
  t.match(help.stdout, /^Usage: kubectl ack-role /);
});

test("the manifest has a homepage only if the package has one", (t) => {
  const archive = { uri: "https://a.example/a.tgz", sha256: "00" };
  for (const homepage of ["https://a.example", undefined]) {
    const yaml: unknown = parse(krewManifest({ version, ...(homepage !== undefined && { homepage }) }, archive));
    t.equal(stringAt(yaml, "spec", "homepage"), homepage ?? null);
  }
  t.end();
});

/** Builds the npm package and the krew manifest of a release. Returns their paths. */
async function releaseFiles(folder: string): Promise<readonly [archive: string, yaml: string]> {
  const { tarball } = await pack(folder);
  const files: string[] = [];
  const inputs = {
    root: ROOT, work: folder, version, revision: "0", epoch: "0", image: "", downloads: DOWNLOADS, tarball, dist: "",
    nodes: { x64: "", arm64: "" },
  };
  for (const artifact of ARTIFACTS.filter(({ name }) => /-npm-|^ack-role\.yaml$/.test(name))) {
    const file = path.join(folder, "release", fileName(artifact, version));
    await artifact.build(inputs, file);
    files.push(file);
  }
  const [archive = "", yaml = ""] = files;
  return [archive, yaml];
}
