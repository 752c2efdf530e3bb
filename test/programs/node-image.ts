import { copyFile, mkdir } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Recipe } from "./cache.ts";
import { buildImage, withFolder } from "./images.ts";
import { runProgram } from "./run-program.ts";

/** An image that contains only Node.js, at `/usr/local/bin/node`, and the libraries that it loads. */
export const NODE_IMAGE = "localhost/node:1";

/** The OCI archive of NODE_IMAGE. The tests run with the Node.js of the npm package `node`, and so do the Pods. */
export const NODE_IMAGE_ARCHIVE: Recipe = {
  name: "node-image",
  group: "cluster",
  needs: "buildah, once, about 10 seconds",
  sources: import.meta.dirname,
  files: ["images.ts"],
  variant: async () => process.version,
  async build(folder) {
    await withFolder(async (files) => {
      await nodeFilesystem(files);
      await buildImage({ name: NODE_IMAGE, files: { "/": files }, entrypoint: ["node"] }, nodeImageIn(folder));
    });
  },
};

/** Returns the archive in the folder of NODE_IMAGE_ARCHIVE. */
export function nodeImageIn(folder: string): string {
  return path.join(folder, "image.tar");
}

/** Writes a root filesystem with Node.js and the libraries that it loads to `folder`. It replaces the base image. */
export async function nodeFilesystem(folder: string): Promise<void> {
  const libraries = await sharedLibraries(process.execPath);
  await Promise.all(libraries.map((file) => copyInto(folder, file, file)));
  await copyInto(folder, process.execPath, "/usr/local/bin/node");
}

/** Returns the absolute paths of the shared libraries that a program loads. A static program loads none. */
export async function sharedLibraries(program: string): Promise<readonly string[]> {
  const { stdout } = await runProgram("ldd", [program], { cwd: "/" });
  return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, file = ""]) => file);
}

async function copyInto(folder: string, file: string, target: string): Promise<void> {
  await mkdir(path.join(folder, path.dirname(target)), { recursive: true });
  await copyFile(file, path.join(folder, target));
}
