import { copyFile, cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { krewManifest } from "../krew.ts";
import { buildExecutable } from "./executable.ts";
import type { Inputs } from "./inputs.ts";
import { buildChartLayout, buildImage, imageDigest } from "./layouts.ts";
import { PLATFORMS } from "./platforms.ts";
import { digestOf, pack, run } from "./run.ts";
import { releaseNotes } from "./statement.ts";

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

async function renderInstall({ root, work, image }: Inputs, file: string): Promise<void> {
  const values = [`image.repository=${image}`, `image.digest=${await imageDigest(work)}`];
  const yaml = await run("helm", [
    "template", "ack-role-resolver", path.join(root, "manifests/chart"), "--namespace", "ack-role-resolver",
    "--kube-version", "1.30.0", ...values.flatMap((value) => ["--set", value]),
  ], work);
  await writeFile(file, `${yaml}\n`);
}

async function packChart({ root, work, epoch }: Inputs, file: string): Promise<void> {
  const folder = path.join(work, "chart");
  await cp(path.join(root, "manifests/chart"), path.join(folder, "ack-role-resolver"), { recursive: true });
  await pack(file, folder, ["ack-role-resolver"], epoch);
}
