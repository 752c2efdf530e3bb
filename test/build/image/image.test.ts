import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { type Test, test } from "tap";
import manifest from "../../../package.json" with { type: "json" };
import { loadCommands, pushCommands } from "../../../build/image/commands.ts";
import { type ProgramResult, runProgram } from "../../programs/run-program.ts";

const ROOT = path.join(import.meta.dirname, "../../..");
const DIGEST = `sha256:${"a".repeat(64)}`;
/** Records its arguments, and writes the digest as the tools do. */
const FAKE = `#!/bin/sh
echo "\${0##*/} $*" >> "$CALLS"
while [ $# -gt 0 ]; do
  [ "$1" = --digestfile ] && printf '%s' '${DIGEST}' > "$2"
  [ "$1" = --metadata-file ] && printf '%s' '{"containerimage.digest":"${DIGEST}"}' > "$2"
  [ "$1" = --fail ] && exit 3
  [ "$1" = "$BROKEN" ] && exit 1
  shift
done
exit 0
`;

interface Ran extends ProgramResult {
  /** The command lines of the tools, without the temporary folder. */
  readonly calls: readonly string[];
}

/** Runs `npm run image` with these tools only. */
async function image(t: Test, tools: readonly string[], args: readonly string[], broken = ""): Promise<Ran> {
  const folder = t.testdir({ bin: Object.fromEntries(tools.map((tool) => [tool, FAKE])), calls: "" });
  for (const tool of tools) chmodSync(path.join(folder, "bin", tool), 0o755);
  const calls = path.join(folder, "calls");
  writeFileSync(calls, "");
  const env = { PATH: path.join(folder, "bin"), CALLS: calls, BROKEN: broken };
  const result = await runProgram(process.execPath, ["build/image/main.ts", ...args], { cwd: ROOT, env });
  const lines = readFileSync(calls, "utf8")
    .replaceAll(/\/\S+-image-\w+\//g, "TEMP/").split("\n");
  return { ...result, calls: lines.filter((line) => line !== "" && !line.endsWith(" version")) };
}

const ARGS = `--file Containerfile --build-arg VERSION=${manifest.version} --build-arg REVISION=unknown`;
const INSTALL = "helm install ack-role-resolver manifests/chart --namespace ack-role-resolver --create-namespace "
  + "--wait \\\n  --set profile=observe";
const NAME = "registry.example.com/platform/resolver";

test("builds for both architectures, pushes, and prints the command that installs it", async (t) => {
  const installs = `\n${INSTALL} \\\n  --set image.repository=${NAME} \\\n  --set image.digest=${DIGEST}\n`;
  const docker = await image(t, ["docker", "podman", "buildah"], ["--push", NAME]);
  t.same([docker.code, docker.stdout], [0, installs], docker.stderr);
  t.same(docker.calls, [`docker buildx build --platform linux/amd64,linux/arm64 ${ARGS} --output type=registry `
    + `--metadata-file TEMP/digest --tag ${NAME}:${manifest.version} .`]);
  // A list of a push that failed would have the images of both builds.
  const list = `${NAME}:1.2.3-all-platforms`;
  const { code, stdout, calls } = await image(t, ["docker", "buildah"], [
    "--push", `${NAME}:1.2.3`, "--plain-http",
  ], "buildx");
  t.same([code, stdout], [0, installs], "docker without buildx is no tool");
  t.same(calls, [
    `buildah manifest rm ${list}`,
    `buildah build --platform linux/amd64,linux/arm64 ${ARGS} --manifest ${list} .`,
    `buildah manifest push --all --digestfile TEMP/digest --tls-verify=false ${list} docker://${NAME}:1.2.3`,
    `buildah manifest rm ${list}`,
  ]);
  const built = { image: NAME, buildArgs: [], platforms: "linux/amd64", digestFile: "d", isPlain: false };
  t.same(pushCommands("podman", built).map(([tool, ...args]) => `${tool} ${args.slice(0, 2).join(" ")}`), [
    "podman build --platform", "podman manifest push", "podman manifest rm",
  ]);
});

test("loads the image into a cluster on this machine", async (t) => {
  const loaded = `docker.io/library/ack-role-resolver:${manifest.version}`;
  const { code, stdout, calls, stderr } = await image(t, ["podman", "k3d"], ["--load", "k3d:dev"]);
  t.same([code, stdout], [0, `\n${INSTALL}\n`], stderr);
  t.same(calls, [
    `podman build ${ARGS} --tag ${loaded} .`, `podman save --output TEMP/image.tar ${loaded}`,
    "k3d image import TEMP/image.tar --cluster dev",
  ]);
  const parts = { image: "a:1", buildArgs: [], archive: "a.tar", cluster: null } as const;
  t.same(loadCommands("docker", { ...parts, loader: "kind" }).slice(1), [
    ["docker", "save", "--output", "a.tar", "a:1"], ["kind", "load", "image-archive", "a.tar"],
  ]);
  t.same(loadCommands("buildah", { ...parts, loader: "minikube" }).slice(1), [
    ["buildah", "push", "a:1", "docker-archive:a.tar:a:1"], ["minikube", "image", "load", "a.tar"],
  ]);
});

test("says what is wrong before it builds, and which tool failed", async (t) => {
  const fault = async (tools: readonly string[], args: readonly string[]): Promise<string> => {
    const { code, stderr, stdout, calls } = await image(t, tools, args);
    t.same([code, stdout, calls], [1, "", []]);
    return stderr;
  };
  t.match(await fault(["docker"], ["--pull", NAME]), /^Unknown option '--pull'[^]*usage: npm run image/);
  t.match(await fault(["docker"], []), /^usage: npm run image -- --push REGISTRY/);
  t.match(await fault(["docker"], ["--push", NAME, "--load", "kind"]), /^usage: /);
  t.match(await fault(["docker"], ["--push", "resolver"]), /^--push resolver: expected a name such as registry/);
  t.match(await fault(["docker"], ["--load", "k4d"]), /^--load k4d: expected kind, k3d, minikube/);
  t.match(await fault(["docker"], ["--load", "kind"]), /^--load kind: kind is not installed/);
  t.match(await fault([], ["--push", NAME]), /^none of docker, podman, buildah works here/);
  t.match(await fault(["docker"], ["--push", NAME, "--tool", "img"]), /^--tool img: expected docker, podman, buildah/);
  const failed = await image(t, ["podman"], ["--push", NAME, "--build-arg", "A=1", "--platform=--fail"]);
  t.same([failed.code, failed.stdout], [1, ""]);
  t.match(failed.stderr, /podman failed: exit status 3\n$/);
});
