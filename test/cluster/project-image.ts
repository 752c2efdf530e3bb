import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Test } from "tap";
import { runTool } from "../real/sdks/toolchains/built-client.ts";
import { buildImage } from "./node/images.ts";
import type { NodePrograms } from "./programs.ts";

const ROOT = path.join(import.meta.dirname, "../..");
/** The image of this checkout. */
export const PROJECT_IMAGE = "localhost/ack-role-resolver:test";

/** Builds the image of this checkout. Returns the path of its OCI archive, which is removed when the test ends. */
export async function projectArchive(t: Test, programs: NodePrograms): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-image-"));
  t.teardown(() => rm(folder, { recursive: true }));
  const archive = path.join(folder, "project.tar");
  await buildProjectImage(programs, archive);
  return archive;
}

async function buildProjectImage({ nodeImage }: NodePrograms, archive: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-dist-"));
  try {
    const dist = path.join(folder, "dist");
    await runTool(process.execPath, [path.join(ROOT, "build.ts"), dist], ROOT);
    const entrypoint = ["/usr/local/bin/node", "/app/dist/ack-role-resolver.js"];
    await buildImage({ name: PROJECT_IMAGE, base: nodeImage, files: { "/app/dist": dist }, entrypoint }, archive);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
