import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Test } from "tap";
import { runTool } from "../programs/run-program.ts";
import { buildArchive, withFolder } from "../programs/images.ts";
import type { NodePrograms } from "./programs.ts";

const ROOT = path.join(import.meta.dirname, "../..");
/** The image of this checkout. */
export const PROJECT_IMAGE = "localhost/ack-role-resolver:test";

/**
 * Builds the Containerfile of this checkout, with an image of Node.js as its base. Returns the path of the OCI archive,
 * which is removed when the test ends.
 */
export async function projectArchive(t: Test, { nodeImage }: NodePrograms): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-archive-"));
  t.teardown(() => rm(folder, { recursive: true }));
  const archive = path.join(folder, "project.tar");
  await withFolder(async (context) => {
    await runTool(process.execPath, [path.join(ROOT, "build.ts"), path.join(context, "dist")], ROOT);
    await copyFile(path.join(ROOT, "LICENSE"), path.join(context, "LICENSE"));
    const containerfile = path.join(ROOT, "Containerfile");
    const build = { BASE: `oci-archive:${nodeImage}`, VERSION: "0.0.0-test", REVISION: "test" };
    await buildArchive({ name: PROJECT_IMAGE, context, containerfile, build }, archive);
  });
  return archive;
}
