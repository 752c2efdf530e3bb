import { createHash } from "node:crypto";
import { copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import { field, stringAt } from "../../shared/formats/json.ts";
import type { Inputs } from "./inputs.ts";
import { LIBRARIES, PLATFORMS, type Platform } from "./platforms.ts";
import { pack, run } from "./run.ts";

const LAYOUT_FILES = ["blobs", "index.json", "oci-layout"];
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
/** The image contains only Node.js, the libraries that it loads, and dist: no shell and no package manager. */
const BASE = "FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin\n";

/** Writes the image of all platforms as an archive of an OCI layout. */
export async function buildImage(inputs: Inputs, archive: string): Promise<void> {
  const { work, epoch, version, revision, root } = inputs;
  const folder = path.join(work, "image");
  const context = path.join(folder, "context");
  await mkdir(context, { recursive: true });
  await Promise.all([
    cp(inputs.dist, path.join(context, "dist"), { recursive: true }),
    copyFile(path.join(root, "LICENSE"), path.join(context, "LICENSE")),
  ]);
  // The images of the machine are neither used nor changed.
  const storage = ["--root", path.join(folder, "root"), "--runroot", path.join(folder, "run")];
  const buildah = (...args: readonly string[]): Promise<string> => (
    run("buildah", [...storage, "--storage-driver", "overlay", ...args], folder)
  );
  const fixed = ["build", "--quiet", "--pull-never", "--no-cache", "--timestamp", epoch];
  await buildah("manifest", "create", "release");
  // One after the other, because the order of the platforms is a part of the digest.
  // oxlint-disable no-await-in-loop
  for (const platform of PLATFORMS) {
    const names = ["base", "image"].map((name) => `localhost/${name}:${platform.image}`);
    const [base = "", image = ""] = names;
    const rootfs = await baseFiles(inputs, platform);
    const on = [...fixed, "--platform", `linux/${platform.image}`];
    await buildah(...on, "--file", path.join(folder, "Containerfile"), "--tag", base, rootfs);
    const values = [`BASE=${base}`, `VERSION=${version}`, `REVISION=${revision}`];
    const args = values.flatMap((value) => ["--build-arg", value]);
    await buildah(...on, ...args, "--file", path.join(root, "Containerfile"), "--tag", image, context);
    await buildah("manifest", "add", "release", image);
  }
  // oxlint-enable no-await-in-loop
  await buildah("manifest", "push", "--quiet", "--all", "release", `oci:${path.join(folder, "layout")}:${version}`);
  await pack(archive, path.join(folder, "layout"), LAYOUT_FILES, epoch);
}

/** Writes the root file system of the base image. Returns its folder. */
async function baseFiles({ nodes, work }: Inputs, platform: Platform): Promise<string> {
  const rootfs = path.join(work, "image", `base-${platform.image}`);
  const files = [
    [path.join(nodes[platform.name], "bin/node"), "/usr/local/bin/node"],
    [path.join(platform.libraries, path.basename(platform.loader)), platform.loader],
    ...LIBRARIES.map((name) => [path.join(platform.libraries, name), `/lib/${name}`] as const),
  ] as const;
  await Promise.all(files.map(async ([source, target]) => {
    await mkdir(path.join(rootfs, path.dirname(target)), { recursive: true });
    await copyFile(source, path.join(rootfs, target));
  }));
  await writeFile(path.join(work, "image/Containerfile"), BASE);
  return rootfs;
}

/**
 * Writes a chart as an archive of an OCI layout, with the media types of `helm push`:
 * https://helm.sh/docs/topics/registries/#helm-chart-manifest
 */
export async function buildChartLayout({ root, work, epoch }: Inputs, chart: string, archive: string): Promise<void> {
  const metadata: unknown = parse(await readFile(path.join(root, "manifests/chart/Chart.yaml"), "utf8"));
  const [name, version, description] = ["name", "version", "description"].map((key) => stringAt(metadata, key) ?? "");
  const folder = path.join(work, "chart-layout");
  const blobs = path.join(folder, "blobs/sha256");
  await mkdir(blobs, { recursive: true });
  const add = async (mediaType: string, content: Buffer | string): Promise<object> => {
    const digest = createHash("sha256").update(content).digest("hex");
    await writeFile(path.join(blobs, digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  };
  const content = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
  const manifest = await add(MANIFEST, JSON.stringify({
    schemaVersion: 2, mediaType: MANIFEST,
    config: await add("application/vnd.cncf.helm.config.v1+json", JSON.stringify(metadata)),
    layers: [await add(content, await readFile(chart))],
    annotations: {
      "org.opencontainers.image.title": name, "org.opencontainers.image.version": version,
      "org.opencontainers.image.description": description,
    },
  }));
  const annotations = { "org.opencontainers.image.ref.name": version };
  await writeFile(path.join(folder, "index.json"), JSON.stringify({
    schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [{ ...manifest, annotations }],
  }));
  await writeFile(path.join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await pack(archive, folder, LAYOUT_FILES, epoch);
}

/** Returns the digest of the image, which is the only entry in the index of its OCI layout. */
export async function imageDigest(work: string): Promise<string> {
  const index: unknown = JSON.parse(await readFile(path.join(work, "image/layout/index.json"), "utf8"));
  const manifests = field(index, "manifests");
  const digest = Array.isArray(manifests) ? stringAt(manifests[0], "digest") : null;
  if (digest === null) throw new Error("the layout of the image is empty");
  return digest;
}
