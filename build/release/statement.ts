import type { Source } from "./inputs.ts";
import { LIBRARIES, NODE_VERSION, PLATFORMS } from "./platforms.ts";

/** A file of a release and its SHA-256, as hexadecimal digits. */
export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

/** What an artifact was built from: https://slsa.dev/spec/v1.0/provenance#resourcedescriptor */
interface Dependency {
  readonly uri: string;
  readonly digest: Readonly<Record<string, string>>;
}

/** The fields of package-lock.json that the provenance reads. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

interface Materials {
  readonly lock: Lock;
  /** The SHA-256 of each library of the image, by its path in the image of a platform. */
  readonly libraries: readonly Subject[];
  /** What builds: the URL of a workflow with its tag, or null on another machine. */
  readonly builder: string | null;
}

const BASE_URI = "https://ack-role-resolver.io/release";

/**
 * Returns a SLSA provenance in an in-toto statement (https://slsa.dev/spec/v1.0/provenance). It has no times and no
 * paths of the machine, so that everyone who builds the release gets the same statement.
 */
export function provenanceStatement(
  { version, revision, epoch, image, downloads }: Source, subjects: readonly Subject[],
  { lock, libraries, builder }: Materials,
): object {
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: `${BASE_URI}/v1`,
        externalParameters: { version, revision, image, downloads },
        internalParameters: { SOURCE_DATE_EPOCH: epoch },
        resolvedDependencies: [
          { uri: `pkg:generic/ack-role-resolver@${version}`, digest: { gitCommit: revision } },
          ...PLATFORMS.map(({ name, integrity }) => npmPackage(`node-linux-${name}`, NODE_VERSION, integrity)),
          ...lockedPackages(lock),
          ...libraries.map(({ name, sha256 }) => ({ uri: `pkg:generic/${name}`, digest: { sha256 } })),
        ],
      },
      runDetails: { builder: { id: builder ?? `${BASE_URI}/unsigned` } },
    },
  };
}

/** Returns the packages that `npm ci` installs: those that the artifacts contain, and those that build them. */
function lockedPackages({ packages }: Lock): Dependency[] {
  const found = Object.entries(packages).flatMap(([folder, { version, integrity }]) => {
    const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
    return version === undefined || integrity === undefined ? [] : [npmPackage(name, version, integrity)];
  });
  return [...new Map(found.map((one) => [one.uri, one])).values()].toSorted((a, b) => (a.uri < b.uri ? -1 : 1));
}

function npmPackage(name: string, version: string, integrity: string): Dependency {
  const sha512 = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
  return { uri: `pkg:npm/${name.replace("@", "%40")}@${version}`, digest: { sha512 } };
}

/** Returns the file names of the libraries of the image, by platform. */
export function libraryFiles(): readonly { readonly name: string; readonly file: string }[] {
  return PLATFORMS.flatMap(({ name, libraries, loader }) => (
    [...LIBRARIES, loader.slice(loader.lastIndexOf("/") + 1)].map((library) => (
      { name: `${library}?arch=${name}`, file: `${libraries}/${library}` }
    ))
  ));
}

/**
 * Returns the notes of a release: the section of the version in the changelog or, before the release, the section of
 * what is not released.
 */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const section = [`## ${version}`, "## Unreleased"]
    .map((heading) => sections.find((one) => one.startsWith(`${heading}\n`) || one.startsWith(`${heading} `)))
    .find((one) => one !== undefined);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  return `${section.trim().replace(/^## .*/, `# ack-role-resolver ${version}`)}\n`;
}

/** Returns the lines that `sha256sum --check` reads. */
export function checksums(subjects: readonly Subject[]): string {
  return subjects.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("");
}
