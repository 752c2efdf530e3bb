import { copyFile, cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { krewManifest } from "../krew.ts";
import type { Inputs } from "./inputs.ts";
import { buildChartLayout, buildImage, imageDigest } from "./layouts.ts";
import { type Platform, PLATFORMS } from "./platforms.ts";
import { digestOf, pack, run } from "./run.ts";
import { releaseNotes } from "./statement.ts";
import process from "node:process";

/** A file of a release. docs/release.md describes each. */
export interface Artifact {
  /** The file name, in which VERSION stands for the version. */
  readonly name: string;
  /** Writes the file. */
  build(inputs: Inputs, file: string): Promise<void>;
}

const CHART = "ack-role-resolver-chart-VERSION.tgz";
const PACKAGE = "ack-role-resolver-npm-VERSION.tgz";

/** The files in the order in which they are built, because some contain or name others. */
export const ARTIFACTS: readonly Artifact[] = [
  { name: PACKAGE, build: ({ tarball }, file) => copyFile(tarball, file) },
  ...PLATFORMS.map((platform): Artifact => ({
    name: `ack-role-resolver-VERSION-linux-${platform.name}.tar.gz`,
    build: (inputs, file) => buildExecutable(inputs, platform, file),
  })),
  { name: "ack-role-resolver-image-VERSION.oci.tar", build: buildImage },
  { name: CHART, build: packChart },
  {
    name: "ack-role-resolver-chart-VERSION.oci.tar",
    build: (inputs, file) => buildChartLayout(
      inputs, path.join(path.dirname(file), fileName({ name: CHART }, inputs.version)), file,
    ),
  },
  { name: "install.yaml", build: renderInstall },
  { name: "ack-role.yaml", build: writeKrewManifest },
  { name: "sbom.cdx.json", build: ({ dist }, file) => copyFile(path.join(dist, "sbom.cdx.json"), file) },
  {
    name: "notes.md",
    async build({ root, version }, file) {
      await writeFile(file, releaseNotes(await readFile(path.join(root, "CHANGELOG.md"), "utf8"), version));
    },
  },
];

/** Returns the file name of an artifact. */
export function fileName({ name }: Pick<Artifact, "name">, version: string): string {
  return name.replace("VERSION", version);
}

async function writeKrewManifest({ version, downloads }: Inputs, file: string): Promise<void> {
  const name = fileName({ name: PACKAGE }, version);
  const sha256 = await digestOf(path.join(path.dirname(file), name));
  await writeFile(file, krewManifest(manifest, { uri: `${downloads}${name}`, sha256 }));
}

async function renderInstall({ work, version }: Inputs, file: string): Promise<void> {
  const chart = path.join(path.dirname(file), fileName({ name: CHART }, version));
  const args = ["template", "ack-role-resolver", chart, "--namespace", "ack-role-resolver", "--kube-version", "1.30.0"];
  await writeFile(file, `${await run("helm", args, work)}\n`);
}

/** Packs the chart with the image of the release as its default, which users of a clone build themselves. */
async function packChart({ root, work, epoch, image }: Inputs, file: string): Promise<void> {
  const folder = path.join(work, "chart");
  await cp(path.join(root, "manifests/chart"), path.join(folder, "ack-role-resolver"), { recursive: true });
  const values = path.join(folder, "ack-role-resolver/values.yaml");
  const text = await readFile(values, "utf8");
  const released = text
    .replace("\n  repository: ack-role-resolver\n", `\n  repository: ${image}\n`)
    .replace("\n  digest: \"\"\n", `\n  digest: ${await imageDigest(work)}\n`);
  await writeFile(values, released);
  await pack(file, folder, ["ack-role-resolver"], epoch);
}

const EXECUTABLE = "ack-role-resolver";

/**
 * Writes an archive with a single executable: Node.js with the files of dist, which the program reads through a virtual
 * file system. https://nodejs.org/api/single-executable-applications.html
 */
async function buildExecutable(inputs: Inputs, { name }: Platform, archive: string): Promise<void> {
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
