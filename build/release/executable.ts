import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Inputs } from "./inputs.ts";
import type { Platform } from "./platforms.ts";
import { pack, run } from "./run.ts";

const EXECUTABLE = "ack-role-resolver";

/**
 * Writes an archive with a single executable: Node.js with the files of dist, which the program reads through a virtual
 * file system. https://nodejs.org/api/single-executable-applications.html
 */
export async function buildExecutable(inputs: Inputs, { name }: Platform, archive: string): Promise<void> {
  const { dist, epoch, work } = inputs;
  const folder = path.join(work, `executable-${name}`);
  await mkdir(folder);
  // An executable contains the path of its main module, so all paths are relative.
  const relative = (...segments: readonly string[]): string => path.relative(folder, path.join(...segments));
  const files = (await readdir(dist)).filter((file) => file !== "main.js").toSorted();
  await writeFile(path.join(folder, "sea.json"), JSON.stringify({
    main: relative(dist, "main.js"), mainFormat: "module", useVfs: true, disableExperimentalSEAWarning: true,
    executable: relative(inputs.nodes[name], "bin/node"), output: EXECUTABLE,
    assets: Object.fromEntries(files.map((file) => [file, relative(dist, file)])),
  }));
  await run(process.execPath, ["--build-sea", "sea.json"], folder);
  const licenses = [
    ["LICENSE", path.join(inputs.root, "LICENSE")], ["LICENSE-node", path.join(inputs.nodes[name], "LICENSE")],
    ["THIRD-PARTY-LICENSES.txt", path.join(dist, "THIRD-PARTY-LICENSES.txt")],
  ] as const;
  await Promise.all(licenses.map(([file, source]) => copyFile(source, path.join(folder, file))));
  await pack(archive, folder, [EXECUTABLE, ...licenses.map(([file]) => file)], epoch);
}
