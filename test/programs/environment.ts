import { homedir } from "node:os";
import path from "node:path";

/** The environment variables that determine where the programs of the tests are found, and whether they are built. */
export interface ProgramsEnvironment {
  /** `CI=true`: missing programs are built, and no test is skipped. */
  readonly ci: boolean;
  /** `KUBEBUILDER_ASSETS`: a folder with kube-apiserver, etcd and kubectl, as in controller-runtime's envtest. */
  readonly kubebuilderAssets: string | undefined;
  /** The cache of builds, in `$XDG_CACHE_HOME` (if absolute, per the XDG specification) or `~/.cache`. */
  readonly cacheFolder: string;
}

/** Reads the environment. An empty environment variable counts as unset. */
export function readEnvironment(): ProgramsEnvironment {
  const cacheHome = process.env["XDG_CACHE_HOME"] ?? "";
  const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
  return {
    ci: process.env["CI"] === "true",
    kubebuilderAssets: assets === "" ? undefined : path.resolve(assets),
    cacheFolder: path.join(
      path.isAbsolute(cacheHome) ? cacheHome : path.join(homedir(), ".cache"), "ack-role-resolver",
    ),
  };
}

/** Returns the folders of the PATH, without those that npm adds, such as the folder of the project's Node.js. */
export function readPath(): readonly string[] {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return folders.filter((folder) => !folder.split(path.sep).includes("node_modules"));
}

/** Whether `UPDATE_GOLDEN=1` asks a test to rewrite its expected output. In CI, tests rewrite nothing. */
export function updatesGolden(): boolean {
  return process.env["UPDATE_GOLDEN"] === "1" && process.env["CI"] !== "true";
}

/** Returns how long each endurance test runs: `ENDURANCE_MINUTES`. Null if unset: the tests then run for seconds. */
export function enduranceMinutes(): number | null {
  const minutes = Number(process.env["ENDURANCE_MINUTES"] ?? 0);
  return minutes > 0 ? minutes : null;
}
