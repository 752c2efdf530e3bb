import { runProgram } from "./run-program.ts";

interface GoBuildOptions {
  /** The folder of the Go module. */
  readonly module: string;
  /** The packages to build, such as `./kubectl`. Default: the package in the folder of the module. */
  readonly packages?: readonly string[];
  /** Values that the linker writes to variables, by the name of the variable. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Whether the programs need no shared libraries. */
  readonly isStatic?: true;
}

/** Builds programs of a Go module with the versions in go.sum. `output` is a file, or a folder that ends in a slash. */
export async function goBuild(output: string, options: GoBuildOptions): Promise<void> {
  const { module, packages = ["."], variables = {}, isStatic } = options;
  const values = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
  // With -buildvcs=false, the binaries do not depend on the commit, and the build does not need git.
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", ["-s", "-w", ...values].join(" ")];
  const environment = isStatic === undefined ? [] : ["CGO_ENABLED=0"];
  const args = [...environment, "go", "build", ...flags, "-o", output, ...packages];
  const { code, stderr } = await runProgram("env", args, { cwd: module });
  if (code === 0) return;
  if (code === 127) throw new Error("cannot start `go`; install Go >= 1.25 and add it to the PATH");
  throw new Error(`go build in ${module} exited with ${code}:\n${stderr}`);
}
