import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Metafile } from "esbuild";

/** A package whose code the build contains. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** The SPDX expression in package.json, such as `MIT`. */
  readonly license: string;
  /** The license and notice files of the package. */
  readonly texts: readonly string[];
  /** The SHA-512 of the package's tarball, as hexadecimal digits. */
  readonly sha512: string;
  /** The bundled packages that this package depends on: the indexes in the list of bundled packages. */
  readonly dependencies: readonly number[];
}

/** The fields of package-lock.json that the build reads. The keys are folders, such as `node_modules/a`. */
export interface PackageLock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** What the build contains: the packages, sorted by name, and the indexes of those that this project itself imports. */
export interface BundledPackages {
  readonly packages: readonly BundledPackage[];
  readonly direct: readonly number[];
}

const LICENSE_FILE = /^(licen[sc]e|notice|copying|copyright)/i;
const PACKAGE_FOLDER = /^.*?(?<folder>node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//;

/** Returns the packages of which the outputs of esbuild contain code. `root` is the folder of package-lock.json. */
export function bundledPackages(metafile: Metafile, lock: PackageLock, root: string): BundledPackages {
  const folders = bundledFolders(metafile);
  const indexes = (from: string, names: Iterable<string>): number[] => {
    const found = [...names].map((name) => folders.indexOf(resolveFolder(lock, from, name)));
    return [...new Set(found)].filter((index) => index >= 0).toSorted((a, b) => a - b);
  };
  const packages = folders.map((folder) => {
    const locked = lockedPackage(lock, folder);
    return {
      ...describe(folder, locked), texts: licenseTexts(path.join(root, folder)),
      dependencies: indexes(folder, dependencyNames(locked)),
    };
  });
  return { packages, direct: indexes("", dependencyNames(lockedPackage(lock, ""))) };
}

/** Returns the folders of the packages in the outputs, such as `node_modules/a`, sorted. */
function bundledFolders({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const folders = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([file]) => PACKAGE_FOLDER.exec(file)?.groups?.["folder"] ?? []);
  return [...new Set(folders)].toSorted();
}

function lockedPackage({ packages }: PackageLock, folder: string): LockedPackage {
  const locked = packages[folder];
  if (locked === undefined) throw new Error(`package-lock.json has no ${folder}; run \`npm ci\``);
  return locked;
}

function describe(
  folder: string, { version, license, integrity = "" }: LockedPackage,
): Pick<BundledPackage, "name" | "version" | "license" | "sha512"> {
  const [, hash] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (version === undefined || license === undefined || hash === undefined) {
    throw new Error(`package-lock.json: ${folder} has no version, no license or no SHA-512`);
  }
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  return { name, version, license, sha512: Buffer.from(hash, "base64").toString("hex") };
}

function dependencyNames(locked: LockedPackage): string[] {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = locked;
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies });
}

/** Returns the folder from which Node.js loads a package for code in `from`, or "" if no such folder exists. */
function resolveFolder(lock: PackageLock, from: string, name: string): string {
  const candidate = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
  if (candidate in lock.packages) return candidate;
  if (from === "") return "";
  return resolveFolder(lock, from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
}

function licenseTexts(folder: string): string[] {
  const files = readdirSync(folder).filter((name) => LICENSE_FILE.test(name)).toSorted();
  return files.map((name) => readFileSync(path.join(folder, name), "utf8").replaceAll("\r\n", "\n").trim());
}
