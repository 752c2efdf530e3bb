import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import manifest from "../../package.json" with { type: "json" };
import { NODE_VERSION, type Platform, PLATFORMS } from "./platforms.ts";
import { run } from "./run.ts";

/** What a build of the artifacts reads. Two builds with the same commit, time and packages have the same bytes. */
export interface Inputs extends Source {
  /** A folder for files between two steps. */
  readonly work: string;
  /** The tarball of the npm package, and the folder dist in it, which all other artifacts contain. */
  readonly tarball: string;
  readonly dist: string;
  /** The unpacked npm package of Node.js for each platform. */
  readonly nodes: Readonly<Record<Platform["name"], string>>;
}

/** What is built. */
export interface Source {
  /** The folder of the checkout. */
  readonly root: string;
  readonly version: string;
  /** The commit. */
  readonly revision: string;
  /** The time of the commit, in seconds since 1970, which is the time of all files. */
  readonly epoch: string;
  /** The repository of the image in `install.yaml`. */
  readonly image: string;
  /** What precedes the name of a file in `ack-role.yaml`: the URL of a folder with its slash, or nothing. */
  readonly downloads: string;
}

/**
 * Reads the commit from the environment, or from git. Rejects if the checkout differs from the commit, because nobody
 * could build the release again.
 */
export async function readSource(root: string, environment: Readonly<NodeJS.ProcessEnv>): Promise<Source> {
  const { REVISION, SOURCE_DATE_EPOCH, IMAGE: image = "ack-role-resolver", DOWNLOADS } = environment;
  const downloads = DOWNLOADS === undefined ? "" : `${DOWNLOADS.replace(/\/$/, "")}/`;
  const source = { root, version: manifest.version, image, downloads };
  if (REVISION !== undefined && SOURCE_DATE_EPOCH !== undefined) {
    return { ...source, revision: REVISION, epoch: SOURCE_DATE_EPOCH };
  }
  const changed = await run("git", ["status", "--porcelain"], root);
  if (changed !== "") throw new Error(`the checkout has changes; commit or remove them:\n${changed}`);
  const [revision = "", epoch = ""] = (await run("git", ["log", "-1", "--format=%H %ct"], root)).split(" ");
  return { ...source, revision, epoch };
}

/** Builds the npm package, and unpacks it and those of Node.js. npm takes a package from its cache if it can. */
export async function prepareInputs(source: Source, work: string): Promise<Inputs> {
  if (process.versions.node !== NODE_VERSION) {
    throw new Error(`Node.js is ${process.versions.node}, but build/release/platforms.ts has the hashes of `
      + `${NODE_VERSION}; update them, or run \`npm ci\``);
  }
  await mkdir(work, { recursive: true });
  const packed = await run("npm", ["pack", "--loglevel=error", "--pack-destination", work], source.root);
  const tarball = path.join(work, packed.split("\n").at(-1) ?? "");
  const dist = path.join(await unpack(tarball, path.join(work, "npm")), "dist");
  const [x64, arm64] = await Promise.all(PLATFORMS.map((platform) => nodeOf(platform, work)));
  return { ...source, work, tarball, dist, nodes: { x64: x64 ?? "", arm64: arm64 ?? "" } };
}

async function nodeOf({ name, integrity }: Platform, work: string): Promise<string> {
  const spec = `node-linux-${name}@${NODE_VERSION}`;
  await run("npm", ["pack", "--loglevel=error", "--prefer-offline", "--pack-destination", work, spec], work);
  const tarball = path.join(work, `node-linux-${name}-${NODE_VERSION}.tgz`);
  const hash = createHash("sha512").update(await readFile(tarball)).digest("base64");
  if (`sha512-${hash}` !== integrity) throw new Error(`${spec} has the hash sha512-${hash}, not ${integrity}`);
  return await unpack(tarball, path.join(work, `node-${name}`));
}

/** Unpacks a tarball of npm. Returns the folder of the package. */
async function unpack(tarball: string, folder: string): Promise<string> {
  await mkdir(folder);
  await run("tar", ["-xzf", tarball], folder);
  return path.join(folder, "package");
}
