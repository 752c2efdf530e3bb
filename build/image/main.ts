// Builds the image with docker, podman or buildah, whichever is there, and prints the command that installs the chart:
// `npm run image -- --push REGISTRY/NAME[:TAG]` for amd64 and arm64, in a registry (--plain-http: without TLS);
// `npm run image -- --load kind|k3d|minikube[:CLUSTER]` for this machine, in a cluster on it. --tool chooses the tool.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { field, parseJSON } from "../../shared/formats/json.ts";
import manifest from "../../package.json" with { type: "json" };
import {
  type Command, installCommand, isLoader, listOf, loadCommands, LOADER_NAMES, pushCommands, type Tool, TOOL_PROBES,
  TOOLS,
} from "./commands.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const NAME = manifest.name;
const PLATFORMS = "linux/amd64,linux/arm64";
const USAGE = "usage: npm run image -- --push REGISTRY/NAME[:TAG] [--plain-http] [--platform linux/amd64,...]\n"
  + `       npm run image -- --load ${LOADER_NAMES.join("|")}[:CLUSTER]\n`
  + `both:  [--tool ${TOOLS.join("|")}] [--build-arg NAME=VALUE]...`;
const REPOSITORY = /^([^:/]+(?::\d+)?\/[^:]+)(?::(.+))?$/;

const OPTIONS = {
  push: { type: "string" }, load: { type: "string" }, tool: { type: "string" }, "plain-http": { type: "boolean" },
  "build-arg": { type: "string", multiple: true }, platform: { type: "string" },
} as const;
type Flags = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

// The tools get a folder of their own, so that another build of the checkout does not disturb them.
const folder = mkdtempSync(path.join(tmpdir(), `${NAME}-image-`));
try {
  const { values } = parseArgs({ options: OPTIONS });
  const { push, load } = values;
  if (push !== undefined && load === undefined) pushImage(push, values);
  else if (load !== undefined && push === undefined) loadImage(load, values);
  else throw new Error(USAGE);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const isUsage = error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  process.stderr.write(isUsage ? `${message}\n${USAGE}\n` : `${message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

function pushImage(target: string, values: Flags): void {
  const [, repository = "", tag = manifest.version] = REPOSITORY.exec(target) ?? [];
  if (repository === "") throw new Error(`--push ${target}: expected a name such as registry.example.com/${NAME}`);
  const digestFile = path.join(folder, "digest");
  const image = { image: `${repository}:${tag}`, platforms: values.platform ?? PLATFORMS, digestFile };
  const tool = toolOf(values);
  build();
  if (tool !== "docker") spawnSync(tool, ["manifest", "rm", listOf(image)], { stdio: "ignore" });
  runAll(pushCommands(tool, { ...image, buildArgs: buildArgs(values), isPlain: values["plain-http"] === true }));
  const written = readFileSync(digestFile, "utf8").trim();
  const digest = tool === "docker" ? String(field(parseJSON(written), "containerimage.digest")) : written;
  process.stdout.write(`\n${installCommand({ repository, digest })}\n`);
}

function loadImage(target: string, values: Flags): void {
  const [loader = "", cluster = null] = target.split(":");
  if (!isLoader(loader)) throw new Error(`--load ${target}: expected ${LOADER_NAMES.join(", ")}, or one with :CLUSTER`);
  if (!succeeds([loader, "version"])) throw new Error(`--load ${loader}: ${loader} is not installed`);
  // The name that nodes complete `ack-role-resolver` to, the default of the chart.
  const image = `docker.io/library/${NAME}:${manifest.version}`;
  const tool = toolOf(values);
  build();
  const archive = path.join(folder, "image.tar");
  runAll(loadCommands(tool, { image, buildArgs: buildArgs(values), archive, loader, cluster }));
  process.stdout.write(`\n${installCommand(null)}\n`);
}

function toolOf({ tool: wanted }: Flags): Tool {
  const named = TOOLS.find((tool) => tool === wanted);
  if (wanted !== undefined && named === undefined) throw new Error(`--tool ${wanted}: expected ${TOOLS.join(", ")}`);
  const found = named ?? TOOLS.find((tool) => TOOL_PROBES[tool].every(succeeds));
  if (found === undefined) {
    throw new Error(`none of ${TOOLS.join(", ")} works here; install one of them (docker: with its daemon and buildx)`);
  }
  return found;
}

function succeeds([program, ...args]: Command): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function build(): void {
  for (const file of ["Containerfile", "LICENSE"]) copyFileSync(path.join(ROOT, file), path.join(folder, file));
  runAll([[process.execPath, "build.ts", path.join(folder, "dist")]], ROOT);
}

function buildArgs(values: Flags): readonly string[] {
  const { stdout, status } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" });
  const revision = status === 0 ? stdout.trim() : "unknown";
  return [`VERSION=${manifest.version}`, `REVISION=${revision}`, ...values["build-arg"] ?? []];
}

function runAll(commands: readonly Command[], cwd = folder): void {
  for (const [program, ...args] of commands) {
    process.stderr.write(`$ ${[path.basename(program), ...args].join(" ")}\n`);
    const { status, error } = spawnSync(program, args, { cwd, stdio: ["ignore", 2, 2] });
    if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? `exit status ${status}`}`);
  }
}
