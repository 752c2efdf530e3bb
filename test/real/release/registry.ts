import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Test } from "tap";
import { freePorts } from "../../free-ports.ts";
import { runTool } from "../../programs/run-program.ts";

/** Starts a registry on loopback, without TLS, until the test ends. Returns its host and port. */
export async function startRegistry(t: Test, program: string): Promise<string> {
  const [port = 0] = await freePorts(1);
  const server = spawn(program, ["-port", String(port)], { stdio: ["ignore", "ignore", "pipe"] });
  t.teardown(() => server.kill("SIGKILL"));
  // It logs its address when it listens.
  await once(server.stderr, "data");
  server.stderr.resume();
  return `localhost:${port}`;
}

/** Pushes an archive of an OCI layout as docs/release.md describes. `target` is a host, a name and a tag. */
export async function pushLayout(archive: string, target: string): Promise<void> {
  const flags = ["--all", "--preserve-digests", "--dest-tls-verify=false"];
  await runTool("skopeo", ["--insecure-policy", "copy", ...flags, `oci-archive:${archive}`, `docker://${target}`], "/");
}

/** Returns the manifest of an image in a registry. */
export async function manifestOf(image: string): Promise<string> {
  return (await runTool("skopeo", ["inspect", "--raw", "--tls-verify=false", `docker://${image}`], "/")).stdout;
}
