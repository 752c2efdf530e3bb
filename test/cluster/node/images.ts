import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runTool } from "../../real/sdks/toolchains/built-client.ts";

/** An image that is built from files of this machine. */
export interface ImageSource {
  /** The name and tag, such as `localhost/pause:1`. The API server adds a registry to a name without one. */
  readonly name: string;
  /** The files of the image by absolute path: an absolute path of this machine, which can be a folder. */
  readonly files: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  /** The OCI archive of the image to which the files are added. Default: an empty image. */
  readonly base?: string;
}

/** Builds an image and writes it as an OCI archive to `archive`. */
export async function buildImage({ name, files, entrypoint, base }: ImageSource, archive: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-image-"));
  try {
    for (const [target, source] of Object.entries(files)) {
      const file = path.join(folder, "root", target);
      await mkdir(path.dirname(file), { recursive: true });
      await cp(source, file, { recursive: true, dereference: true });
    }
    const from = base === undefined ? "scratch" : `oci-archive:${base}`;
    const containerfile = `FROM ${from}\nCOPY root /\nENTRYPOINT ${JSON.stringify(entrypoint)}\n`;
    await writeFile(path.join(folder, "Containerfile"), containerfile);
    await buildah(folder, ["build", "--tag", name, "--file", path.join(folder, "Containerfile"), folder]);
    await buildah(folder, ["push", "--disable-compression", name, `oci-archive:${archive}:${name}`]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs buildah with a storage in `folder`, so that images of the machine are neither used nor changed. */
async function buildah(folder: string, args: readonly string[]): Promise<void> {
  const storage = ["--root", path.join(folder, "storage"), "--runroot", path.join(folder, "run")];
  await runTool("buildah", [...storage, "--storage-driver", "overlay", ...args], folder);
}

/** Returns the shared libraries that a program loads, as files of an image. */
export async function sharedLibraries(program: string): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await runTool("ldd", [program], "/");
  const files = [...stdout.matchAll(/(?:^|\s)(\/\S+) \(0x/gmu)].map(([, file = ""]) => file);
  return Object.fromEntries(files.map((file) => [file, file]));
}
