import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runTool } from "../real/sdks/toolchains/built-client.ts";
import { buildImage } from "./node/images.ts";
import type { NodePrograms } from "./programs.ts";

const ROOT = path.join(import.meta.dirname, "../..");
/** The image of this checkout. */
export const PROJECT_IMAGE = "localhost/ack-role-resolver:test";

/** Builds this checkout, and writes its image as an OCI archive to `archive`. */
export async function buildProjectImage({ nodeImage }: NodePrograms, archive: string): Promise<void> {
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
