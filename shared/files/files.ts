import { normalize } from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ResolverError } from "../formats/errors.ts";
import { kindOf, KINDS } from "../kinds.ts";
import { objectReference } from "../formats/object-meta.ts";
import { isKustomization, type Kustomizations, readKustomizations } from "./kustomize.ts";
import type { GivenFolders } from "./given-folders.ts";
import { type FileListing, listManifestFiles, type ManifestFile, STDIN, unreadable } from "./listing.ts";
import { generateNames, setNamespaces } from "./object-key.ts";
import {
  formatInputFault, type InputFault, type Manifest, type ManifestResult, type ParsedManifests, parseValues,
  readManifests,
} from "./manifest-reader.ts";
import { findRoots } from "./find-roots.ts";
import { readText } from "./read-text.ts";
import type { Roots } from "./roots.ts";
import { reasonOf, type SkippedFile, type SkipReason } from "./skip.ts";
import { countHidden, hiddenIn, mentionsIn, type Unjudged, type UnjudgedReason } from "./unjudged.ts";
import type { DocumentLimit } from "./yaml-documents.ts";

interface ReadOptions {
  /** Lines of .gitignore that apply to each given folder. Default: none. */
  readonly ignore?: readonly string[];
  /** Whether to skip the faulty parts of files, instead of reporting their faults as errors. Default: false. */
  readonly skipUnreadable?: boolean;
  /** The namespace of namespaced objects that set none. Default: none is set, and decisions take `default`. */
  readonly namespace?: string | null;
  /** The version of CAPA that stores the objects. Default: that of its Deployment in the files, else the latest. */
  readonly capaVersion?: string | null;
  /**
   * The globs of the folders that are clusters of their own. If empty, sibling folders that hold the same objects are.
   * Default: all files belong to one cluster.
   */
  readonly roots?: readonly string[];
  /** The maximum number of documents in a file. */
  readonly documentLimit?: DocumentLimit;
  readonly stdin?: () => Promise<string>;
  /** The texts to read instead of those of the files, by path. Default: none. */
  readonly texts?: ReadonlyMap<string, string>;
}

/** The objects and faults of all files, and what was skipped. */
export interface ManifestInput extends ManifestResult {
  readonly skipped: readonly SkippedFile[];
  /** The faults of the skipped files whose reason is `unreadable`. */
  readonly skippedFaults: readonly InputFault[];
  readonly unjudged: readonly Unjudged[];
  /** Whether the namespace of the options was set on an object. */
  readonly isNamespaceUsed: boolean;
  /** The version of CAPA in its Deployment, and whether it changes an object; null if no Deployment states one. */
  readonly capa: { readonly version: string; readonly isUsed: boolean } | null;
  /** Null if all objects belong to one cluster. */
  readonly roots: Roots | null;
}

/**
 * Reads every object under `paths`. A path is a file of any name, a folder, or `-` for standard input. In folders,
 * reads `.yaml`, `.yml` and `.json` files recursively, and skips names that start with a dot, ignored files, and files
 * that are not Kubernetes manifests. The promise never rejects: an unreadable file causes a fault.
 */
export async function readManifestPaths(
  paths: readonly string[], options: ReadOptions = {},
): Promise<ManifestInput> {
  const { ignore = [], skipUnreadable = false, namespace = null, capaVersion = null, roots: globs } = options;
  const { stdin = readStdin, texts } = options;
  const listing = await listManifestFiles(paths, { ignore, fingerprints: false, gitIgnore: true });
  const { files, targets, unjudged: inKustomizations } = await withPatches(listing);
  const read = (content: string, file: string): ParsedManifests => readManifests(content, file, options.documentLimit);
  const readings = await readFiles({ files, given: listing.given }, { stdin, read, texts });
  const written = readings.flatMap((one) => one.manifests);
  const { stored, capa } = storedByCAPA(written, capaVersion);
  const named = generateNames(stored);
  const manifests = namespace === null ? named : setNamespaces(named, namespace);
  const isNamespaceUsed = manifests.some((one, i) => one !== named[i]);
  const found = [...listing.faults, ...readings.flatMap(({ skipped, faults }) => (skipped === null ? faults : []))];
  // A folder may contain other data than objects, also next to objects.
  const isSkipped = ({ file, isOther }: InputFault): boolean => (
    (skipUnreadable || isOther === true) && !paths.includes(file)
  );
  const skippedFaults = found.filter(isSkipped);
  const { roots, faults: ofRoots } = findRoots(manifests, paths, globs);
  const faults = [...found.filter((fault) => !isSkipped(fault)), ...ofRoots];
  const unread = new Set(skippedFaults.map(({ file }) => file));
  const skipped: readonly SkippedFile[] = [
    ...readings.flatMap(({ path, skipped: reason }) => (reason === null ? [] : [{ path, reason }])),
    ...listing.ignored.map((path) => ({ path, reason: "ignored" as const })),
    ...listing.gitIgnored.map((path) => ({ path, reason: "gitignored" as const })),
    ...Array.from(unread, (path) => ({ path, reason: "unreadable" as const })),
  ];
  const inFiles = readings.flatMap(({ path, unjudged }): readonly Unjudged[] => (
    unjudged.length === 0 && targets.has(path) ? [{ file: path, reason: "patch", count: 1 }] : unjudged
  ));
  const unjudged = [...inFiles, ...inKustomizations, ...unreadFiles(skippedFaults)];
  return { manifests, faults, skipped, skippedFaults, unjudged, isNamespaceUsed, capa, roots };
}

const FORM = KINDS.map(({ storedForm }) => storedForm).find((form) => form !== undefined);

/** Returns the manifests as CAPA stores them, and the version in its Deployment unless `stated` is set. */
function storedByCAPA(
  written: readonly Manifest[], stated: string | null,
): Pick<ManifestInput, "capa"> & { readonly stored: readonly Manifest[] } {
  if (stated !== null) return { stored: storedManifests(written, stated), capa: null };
  const version = FORM?.versionIn(written.map(({ object }) => object)) ?? null;
  const stored = storedManifests(written, version);
  return { stored, capa: version === null ? null : { version, isUsed: stored.some((one, i) => one !== written[i]) } };
}

/** Returns the manifests with their objects as a version of CAPA stores them; null stands for the latest. */
export function storedManifests(manifests: readonly Manifest[], capaVersion: string | null): readonly Manifest[] {
  if (capaVersion === null || FORM === undefined) return manifests;
  return manifests.map((one) => {
    const object = FORM.asStored(capaVersion, one.object);
    return object === one.object ? one : { ...one, object };
  });
}

interface PatchedFiles extends Pick<Kustomizations, "unjudged">, Pick<FileListing, "files"> {
  /** The paths of the patches whose targets can choose a role. */
  readonly targets: ReadonlySet<string>;
}

/** Returns the files, of which some are patches, and the objects in kustomizations that are not judged. */
async function withPatches({ files, given }: FileListing): Promise<PatchedFiles> {
  const paths = files.filter(({ path, place }) => place === "folder" && isKustomization(path)).map(({ path }) => path);
  if (paths.length === 0) return { files, targets: new Set(), unjudged: [] };
  const kustomizations: { path: string; text: string }[] = [];
  for (const path of paths) {
    // A file that cannot be read causes a fault later.
    // oxlint-disable-next-line no-await-in-loop
    kustomizations.push({ path, text: await readText(path, given).catch(() => "") });
  }
  const { patches, unjudged } = readKustomizations(kustomizations);
  const isPatch = ({ path, place }: ManifestFile): boolean => place === "folder" && patches.has(normalize(path));
  const marked = files.map((file) => (isPatch(file) ? { ...file, place: "patch" as const } : file));
  const targets = files.map(({ path }) => path).filter((path) => patches.get(normalize(path)) === true);
  return { files: marked, targets: new Set(targets), unjudged };
}

/** Returns the faulty objects of files that are skipped, of which some may choose a role. */
function unreadFiles(faults: readonly InputFault[]): Unjudged[] {
  return faults.filter(({ unread }) => unread !== true).map(({ file }) => ({ file, reason: "unreadable", count: 1 }));
}

/** Functions that read standard input and parse the text of a file. */
export interface ManifestParser {
  readonly stdin: () => Promise<string>;
  /** The texts to read instead of those of the files, by path. */
  readonly texts?: ReadonlyMap<string, string> | undefined;
  readonly read: (text: string, file: string) => ParsedManifests | Promise<ParsedManifests>;
}

/** The objects and faults of one file. */
export interface FileReading extends ManifestResult {
  readonly path: string;
  /**
   * Whether the operating system returned an error. After such an error, the fingerprint may stay the same when the
   * error disappears.
   */
  readonly unreadable: boolean;
  /** Why the file of a folder is not a manifest. Such a file has no objects, and a fault that states why. */
  readonly skipped: SkipReason | null;
  readonly unjudged: readonly Unjudged[];
}

/**
 * Reads the files of a listing. The promise never rejects: an unreadable file and an invalid object each cause a fault.
 */
export async function readFiles(
  { files, given }: Pick<FileListing, "files" | "given">, parser: ManifestParser,
): Promise<readonly FileReading[]> {
  const readings: FileReading[] = [];
  for (let i = 0; i < files.length; i += OPEN_FILES) {
    const batch = files.slice(i, i + OPEN_FILES).map((file) => readOne(file, given, parser));
    // Awaits each batch, because the number of open files is limited.
    // oxlint-disable-next-line no-await-in-loop
    for (const one of await Promise.all(batch)) readings.push(one);
    // Small files are read without a pause, and servers answer requests meanwhile.
    // oxlint-disable-next-line no-await-in-loop
    await nextTurn();
  }
  return readings;
}

const OPEN_FILES = 64;

/** Returns an error whose message has one line for each fault. */
export function inputError(faults: readonly InputFault[]): ResolverError {
  return new ResolverError("ERR_INPUT_UNREADABLE", faults.map(formatInputFault).join("\n"));
}

async function readOne(
  file: ManifestFile, given: GivenFolders, { stdin, read, texts }: ManifestParser,
): Promise<FileReading> {
  const { path, place } = file;
  const base = { path, manifests: [], unreadable: false, skipped: null, unjudged: [] };
  let content: string;
  try {
    content = path === STDIN
      ? await stdin()
      : texts?.get(path) ?? await readText(path, place === "given" ? null : given);
  } catch (error) {
    return { ...base, faults: [{ file: path, line: null, message: unreadable(error) }], unreadable: true };
  }
  if (place === "chart-templates" && content.includes("{{")) {
    const faults = [{ file: path, line: null, message: UNRENDERED }];
    return { ...base, faults, skipped: "helm-template", unjudged: mentioned(path, "unrendered", content) };
  }
  if (place === "patch") return { ...base, faults: [], skipped: "patch", unjudged: mentioned(path, "patch", content) };
  const parsed = await read(content, path);
  const reading = { ...base, ...(place === "given" ? asGiven(parsed, path) : asFound(parsed, path)) };
  return { ...reading, unjudged: unjudgedIn(reading, content) };
}

/** Returns the objects of a file that can choose a role, but that are not read as objects. */
function unjudgedIn({ path, manifests, skipped }: FileReading, content: string): Unjudged[] {
  if (isKustomization(path)) return [];
  if (skipped === "template") return mentioned(path, "unrendered", content);
  if (skipped !== null) return mentioned(path, "embedded", content).filter(() => isHiddenInData(content));
  // Visits the values only of objects that no check reads, because an object of ACK mentions its own group.
  const others = manifests.map(({ object }) => object).filter((object) => {
    const kind = kindOf(objectReference(object));
    return kind === null || kind.id === "cluster-part";
  });
  if (others.length === 0 || mentionsIn(content) === 0) return [];
  return others.flatMap(hiddenIn).map((hidden) => ({ file: path, ...hidden }));
}

/** Whether data that is not an object contains one that can choose a role, and does not only name its kind. */
function isHiddenInData(content: string): boolean {
  const values = parseValues(content);
  return values.length === 0 || countHidden(values) > 0;
}

function mentioned(file: string, reason: UnjudgedReason, content: string): Unjudged[] {
  const count = mentionsIn(content);
  return count === 0 ? [] : [{ file, reason, count }];
}

/** Returns the result for a file that the user named. */
function asGiven({ manifests, faults, notManifest }: ParsedManifests, path: string): ManifestResult {
  if (notManifest !== "template") return { manifests, faults };
  return { manifests: [], faults: [{ file: path, line: faults[0]?.line ?? null, message: UNRENDERED }] };
}

/**
 * Returns the result for a file of a folder. The folder may contain other files, and faulty objects of kinds that no
 * decision reads.
 */
function asFound(
  { manifests, faults, notManifest }: ParsedManifests, path: string,
): Pick<FileReading, "manifests" | "faults" | "skipped"> {
  if (notManifest !== null) return { manifests: [], faults, skipped: reasonOf(path, notManifest) };
  return { manifests, faults: faults.filter(({ unread }) => unread !== true), skipped: null };
}

const UNRENDERED = "a template, not a manifest; render it first, as in: "
  + "helm template . | ack-role-resolver lint -";

/** Reads standard input to its end. A second call would return no data, because standard input is at its end. */
export function readStdin(): Promise<string> {
  return text(process.stdin);
}
