import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { type KrewArchive, krewManifest } from "../../../build/krew.ts";
import { PLUGIN_FILE } from "../../../cli/plugin.ts";
import manifest from "../../../package.json" with { type: "json" };
import { KREW } from "../../programs/krew.ts";
import { runProgram, runTool } from "../../programs/run-program.ts";
import { environmentWith, ROOT, withoutTap } from "../ci/packed.ts";
import { findPrograms } from "../find-programs.ts";

const PLATFORMS = (["linux", "darwin"] as const).flatMap((os) => (
  (["amd64", "arm64"] as const).map((arch) => ({ os, arch }))
));

test("krew installs the plugin from a local archive, and rejects another archive", async (t) => {
  const folders = await findPrograms(t, KREW);
  if (folders === null) return;
  const folder = t.testdir({ other: {} });
  await runTool(process.execPath, ["build.ts", path.join(folder, "dist")], ROOT);
  const archive = path.join(folder, "ack-role.tar.gz");
  await runTool("tar", ["-czf", archive, "-C", folder, "dist"], folder);
  const sha256 = createHash("sha256").update(readFileSync(archive)).digest("hex");
  const one = { uri: "https://downloads.example/ack-role.tar.gz", sha256, bin: `dist/${PLUGIN_FILE}.js` };
  const install = async (archives: readonly KrewArchive[], file: string): ReturnType<typeof runProgram> => {
    const yaml = path.join(folder, "ack-role.yaml");
    writeFileSync(yaml, krewManifest(manifest.version, archives));
    const args = ["install", `--manifest=${yaml}`, `--archive=${file}`];
    return await runProgram(...withoutTap(path.join(folders[0], "krew"), args), { cwd: folder, env });
  };
  const bin = path.join(folder, ".krew/bin");
  const env = { ...environmentWith(folder, bin), KREW_ROOT: path.join(folder, ".krew") };
  const archives = PLATFORMS.map((platform) => ({ ...platform, ...one }));

  const other = path.join(folder, "other.tar.gz");
  await runTool("tar", ["-czf", other, "-C", folder, "other"], folder);
  const rejected = await install(archives, other);
  t.not(rejected.code, 0);
  t.match(rejected.stderr, "checksum");

  const { code, stderr } = await install(archives, archive);
  t.equal(code, 0, stderr);
  t.match(stderr, /Installed plugin: ack-role\n[^]*kubectl ack-role why bucket\/NAME/);
  const ran = await runProgram(...withoutTap(PLUGIN_FILE, ["why", "bucket/b1"]), { cwd: folder, env });
  t.match(ran, { code: 2, stderr: /^kubectl ack-role: No kubeconfig and no Pod service account was found\./ });
  const help = await runProgram(...withoutTap(PLUGIN_FILE, ["--help"]), { cwd: folder, env });
  t.match(help.stdout, /^Usage: kubectl ack-role /);
});
