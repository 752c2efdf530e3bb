import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

/** Runs a tool and returns its standard output. Rejects unless it exits with status 0; its errors are printed. */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  if (child.exitCode !== 0) throw new Error(`${command} ${args.join(" ")} failed (${child.exitCode}):\n${output}`);
  return output.trim();
}

/**
 * Packs files of a folder into a tar archive that depends only on their contents, names and modes. A name that ends in
 * gz is compressed.
 */
export async function pack(archive: string, folder: string, files: readonly string[], epoch: string): Promise<void> {
  const fixed = ["--sort=name", "--format=ustar", `--mtime=@${epoch}`, "--owner=0", "--group=0", "--numeric-owner"];
  const compressed = archive.endsWith("gz") ? ["--use-compress-program=gzip -n"] : [];
  await run("tar", [...fixed, "--mode=go=u,go-w", ...compressed, "-cf", archive, ...files], folder);
}

/** Returns the hash of a file as hexadecimal digits. */
export async function digestOf(file: string, algorithm: "sha256" | "sha512" = "sha256"): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
