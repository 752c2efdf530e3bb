import { cp, readdir, symlink } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "../../programs/run-program.ts";
import { readPath } from "../../programs/environment.ts";

export const ROOT = path.join(import.meta.dirname, "../../..");
const NOT_COPIED = new Set([".git", ".tap", "coverage", "dist", "node_modules", "release"]);

/** The environment variables of every program: the PATH, and a home folder without the settings of the user. */
export type ProgramEnvironment = Readonly<Record<"PATH" | "HOME", string>>;

/** Returns an environment whose PATH starts with the given folders and ends with the PATH of this process. */
export function environmentWith(home: string, ...folders: readonly string[]): ProgramEnvironment {
  return { PATH: [...folders, path.dirname(process.execPath), ...readPath()].join(path.delimiter), HOME: home };
}

/**
 * tap adds NODE_OPTIONS to the environment of each child process, but an old Node.js, or a process in another root
 * folder, cannot load tap's module.
 */
export function withoutTap(command: string, args: readonly string[]): readonly [string, string[]] {
  return ["env", ["-u", "NODE_OPTIONS", command, ...args]];
}

/** Copies the checkout, because `npm pack` replaces the folder dist. The copy uses the packages of the checkout. */
export async function copyOfCheckout(folder: string): Promise<string> {
  const copy = path.join(folder, "checkout");
  const names = (await readdir(ROOT)).filter((name) => !NOT_COPIED.has(name));
  await Promise.all(names.map((name) => cp(path.join(ROOT, name), path.join(copy, name), { recursive: true })));
  await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  return copy;
}

/** Runs `npm pack` offline in a copy of the checkout. Returns the standard output and the path of the tarball. */
export async function pack(folder: string): Promise<{ readonly stdout: string; readonly tarball: string }> {
  const cwd = await copyOfCheckout(folder);
  const stdout = await npm(["pack", "--pack-destination", folder], { cwd, env: environmentWith(folder) });
  return { stdout, tarball: path.join(folder, stdout.trim()) };
}

/**
 * Installs the tarball offline in an empty folder. Returns an environment whose PATH contains the installed command.
 */
export async function installGlobally(tarball: string, folder: string, node: string): Promise<ProgramEnvironment> {
  const env = environmentWith(folder, node);
  await npm(["install", "-g", "--prefix", folder, tarball], { cwd: folder, env });
  return environmentWith(folder, path.join(folder, "bin"), node);
}

/** Runs npm without network access and with an empty cache. */
async function npm(
  args: readonly string[], { cwd, env }: { readonly cwd: string; readonly env: ProgramEnvironment },
): Promise<string> {
  const flags = ["--offline", "--cache", path.join(env.HOME, "npm-cache")];
  const { code, stdout, stderr } = await runProgram(...withoutTap("npm", [...args, ...flags]), { cwd, env });
  if (code !== 0) throw new Error(`npm ${args.join(" ")} exited with ${code}:\n${stdout}${stderr}`);
  return stdout;
}
