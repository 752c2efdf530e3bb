import { homedir } from "node:os";
import path from "node:path";

/** What the tests under test/real read from the process environment: the one place that does. */
export interface RealEnvironment {
  /** `CI=true`: what a test needs is built or the test fails, and nothing is skipped. */
  readonly ci: boolean;
  /** `KUBEBUILDER_ASSETS`: a folder with kube-apiserver, etcd and kubectl, as controller-runtime's envtest takes it. */
  readonly kubebuilderAssets: string | undefined;
  /** Where builds are kept between runs and checkouts: `$XDG_CACHE_HOME` (absolute, by the XDG specification), else `~/.cache`. */
  readonly cacheFolder: string;
}

/** Reads the environment afresh; an empty variable counts as an unset one. */
export function readEnvironment(): RealEnvironment {
  const cacheHome = process.env["XDG_CACHE_HOME"] ?? "";
  const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
  return {
    ci: process.env["CI"] === "true",
    kubebuilderAssets: assets === "" ? undefined : path.resolve(assets),
    cacheFolder: path.join(path.isAbsolute(cacheHome) ? cacheHome : path.join(homedir(), ".cache"), "ack-role-resolver"),
  };
}
