import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runTool } from "./run-program.ts";

/** An image that is built from nothing. */
export interface ImageSource {
  /** The name and tag, such as `localhost/pause:1`. The API server adds a registry to a name without one. */
  readonly name: string;
  /** The files of the image by absolute path: an absolute path of this machine, which can be a folder. */
  readonly files: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
}

/** Builds an image and writes it as an OCI archive to `archive`. */
export async function buildImage({ name, files, entrypoint }: ImageSource, archive: string): Promise<void> {
  await withFolder(async (context) => {
    for (const [target, source] of Object.entries(files)) {
      const file = path.join(context, "root", target);
      await mkdir(path.dirname(file), { recursive: true });
      await cp(source, file, { recursive: true, dereference: true });
    }
    const lines = ["FROM scratch", "COPY root /", ENVIRONMENT, `ENTRYPOINT ${JSON.stringify(entrypoint)}`, ""];
    const containerfile = path.join(context, "Containerfile");
    await writeFile(containerfile, lines.join("\n"));
    await buildArchive({ name, context, containerfile, build: {} }, archive);
  });
}

const ENVIRONMENT = "ENV PATH=/usr/local/bin:/usr/bin:/bin";

/** The build of a Containerfile. */
interface ContainerfileBuild {
  readonly name: string;
  /** The folder with the files that the Containerfile copies. */
  readonly context: string;
  readonly containerfile: string;
  /** The arguments of the build. A base image can be `oci-archive:` and a path. */
  readonly build: Readonly<Record<string, string>>;
}

/** Builds a Containerfile and writes the image as an OCI archive to `archive`. */
export async function buildArchive(
  { name, context, containerfile, build }: ContainerfileBuild, archive: string,
): Promise<void> {
  const args = Object.entries(build).map(([key, value]) => `--build-arg=${key}=${value}`);
  await withFolder(async (folder) => {
    // The images of the machine are neither used nor changed.
    const storage = ["--root", path.join(folder, "root"), "--runroot", path.join(folder, "run")];
    const buildah = async (...command: readonly string[]): Promise<void> => {
      await runTool("buildah", [...storage, "--storage-driver", "overlay", ...command], folder);
    };
    await buildah("build", ...args, "--tag", name, "--file", containerfile, context);
    await buildah("push", name, `oci-archive:${archive}:${name}`);
  });
}

/** Runs `body` with a temporary folder, and removes the folder. */
export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-image-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
