import { INVENTORY_KINDS, SEPARATE_STORES } from "../../shared/kinds.ts";
import { text } from "node:stream/consumers";
import type { Origin } from "../../shared/core/context.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { type ManifestInput, readManifestPaths } from "../../shared/files/files.ts";
import { STDIN } from "../../shared/files/listing.ts";
import type { InputFault, Manifest, ManifestResult } from "../../shared/files/manifest-reader.ts";
import { countSkipped, type SkipCounts, skipName, skipText } from "../../shared/files/skip.ts";
import type { Roots } from "../../shared/files/roots.ts";
import type { Unjudged } from "../../shared/files/unjudged.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { CAPA_DEPLOYMENT } from "../../shared/core/capa-kinds.ts";
import { type Controllers, readControllers } from "../../shared/controllers/controller-deployment.ts";
import { commonMode } from "../../shared/controllers/controller-settings.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { compareText, countOf, printable } from "../../shared/formats/text.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import type { InstalledSidecars } from "../../webhook/sidecar-pods.ts";
import { type IO, isVerbose, withoutNotes, writeLines, writeStartNotices, writeText } from "../io.ts";
import { Progress, showElapsed } from "../output/progress.ts";
import { openCluster } from "./connection.ts";
import { type DerivedCoverage, unjudgedWith, withDerived } from "./derived-objects.ts";
import { faultLines } from "./input-faults.ts";
import { readWorkloads, withoutManagedFields } from "./workloads.ts";

type InputSettings = Pick<
  SettingsFor<"lint">, "ignore" | "skipUnreadable" | "allowEmpty" | "logLevel" | "namespace" | "maxDocuments"
> & Partial<Pick<SettingsFor<"lint">, "root" | "only" | "capaVersion">> & Partial<Pick<SettingsFor<"resolve">, "kind">>;

/** The objects and faults of the input, the number of skipped files by reason, and what is not judged. */
interface Input extends ManifestResult {
  readonly skippedFiles: SkipCounts;
  readonly unjudged: readonly Unjudged[];
  readonly capa: ManifestInput["capa"];
  readonly roots: Roots | null;
}

/**
 * Reads manifests from files, folders and standard input. Reports skipped files to stderr. `stdinCommand` is the
 * command, such as `lint -`, that reads the same manifests from standard input.
 */
export async function readInput(
  paths: readonly string[], settings: InputSettings, streams: IO,
  { stdinCommand, texts = NO_TEXTS }: Pick<ReadOptions, "stdinCommand" | "texts">,
): Promise<Input> {
  const io = withoutNotes(streams, settings);
  const { ignore, skipUnreadable, namespace, root: roots, maxDocuments, capaVersion = null } = settings;
  const documentLimit = { documents: Number(maxDocuments), fix: "use several files, or pass --max-documents N" };
  const options = {
    texts, ignore, skipUnreadable, namespace, capaVersion, documentLimit, ...(roots !== undefined && { roots }),
  };
  const reading = readManifestPaths(paths, { ...options, stdin: () => text(io.stdin) });
  // A progress line would overwrite what a user types as standard input.
  const input = paths.includes(STDIN) ? await reading : await showElapsed("reading manifests", io, reading);
  const { manifests, faults, unjudged } = input;
  const isEmpty = manifests.length === 0 && faults.length === 0 && !settings.allowEmpty;
  const isListed = isVerbose(settings);
  const skipped = isListed || isEmpty ? skippedLines(input, isListed, stdinCommand) : [];
  const notes = [...rootLines(input.roots, isListed), ...namespaceLines(input, paths, settings)];
  const warnings = skippedFaultLines(input, isListed);
  writeText(io.stderr, [...warnings, ...skipped, ...notes, ...capaLines(input, isListed)], io);
  const empty = { file: paths.join(", "), line: null, message: EMPTY };
  const skippedFiles = countSkipped(input.skipped);
  const { capa, roots: found } = input;
  return { manifests, faults: isEmpty ? [empty] : faults, skippedFiles, unjudged, capa, roots: found };
}

/** States that --namespace changes nothing, unless it is also the namespace of the resource that --kind describes. */
function namespaceLines(
  { isNamespaceUsed, manifests }: ManifestInput, paths: readonly string[],
  { namespace, kind = [], only }: InputSettings,
): string[] {
  if (namespace === null || isNamespaceUsed || kind.length > 0 || manifests.length === 0) return [];
  const places = paths.map((path) => (path === STDIN ? "standard input" : printable(path))).join(", ");
  const hint = only === undefined ? "" : `; to report only one namespace, pass --only namespace=${namespace}`;
  return [`--namespace ${namespace} has no effect on ${places}, where each namespaced object has a namespace${hint}`];
}

function capaLines({ capa }: ManifestInput, isListed: boolean): string[] {
  if (!isListed || capa === null || !capa.isUsed) return [];
  return [`identities are judged as CAPA ${capa.version} stores them, the version in Deployment ${CAPA_DEPLOYMENT} `
    + "(--capa-version states another)"];
}

/** The number of roots that are named without `--verbose`. */
const MAX_ROOTS = 3;

function rootLines(roots: Roots | null, isListed: boolean): string[] {
  if (roots === null) return [];
  const names = roots.names.map(printable);
  const isCut = !isListed && names.length > MAX_ROOTS;
  const shown = isCut ? `${names.slice(0, MAX_ROOTS).join(", ")}, ...` : names.join(", ");
  const hint = `${isCut ? "-v lists all; " : ""}--root GLOB chooses others`;
  return [`${countOf(names.length, "root")}, each judged as a cluster: ${shown} (${hint})`];
}

const NO_TEXTS: ReadonlyMap<string, string> = new Map();
const EMPTY = "no Kubernetes object found; pass other files or folders, or pass --allow-empty if this is expected";

const HELM_TEMPLATE = "helm template . | ack-role-resolver";

/** Returns what --skip-unreadable skipped. */
function skippedFaultLines({ skipped, skippedFaults }: ManifestInput, isListed: boolean): string[] {
  if (skippedFaults.length === 0) return [];
  const unreadable = countOf(countSkipped(skipped).unreadable ?? 0, "file");
  return [
    ...faultLines(skippedFaults, isListed, "warning: "),
    `warning: ${unreadable} skipped as unreadable; the result may be wrong`,
  ];
}

/** Returns the number of skipped files for each reason, after the files if they are listed. */
function skippedLines({ skipped }: ManifestInput, isListed: boolean, stdinCommand: string): string[] {
  if (skipped.length === 0) return [];
  const counts = countSkipped(skipped);
  const hints = [
    ...(isListed ? [] : ["-v lists them"]),
    ...(counts["helm-template"] === undefined ? [] : [`to read a chart: ${HELM_TEMPLATE} ${stdinCommand}`]),
  ];
  return [
    ...(isListed ? skipped.map(({ path, reason }) => printable(`skipped ${path}: ${skipName(reason)}`)) : []),
    `skipped ${skipText(counts)}${hints.length === 0 ? "" : ` (${hints.join("; ")})`}`,
  ];
}

/** An object and its position in the input. The field `file` is null for an object of a cluster. */
export interface StateObject
  extends Pick<Manifest, "object" | "lineOf" | "at">, Partial<Pick<Manifest, "document">> {
  readonly file: string | null;
  /** The object from which a controller creates this one, which no file contains. Absent for all others. */
  readonly from?: StateObject;
}

/** The current state: the objects of manifests or of a cluster. */
export interface State {
  readonly objects: readonly StateObject[];
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** The version of CAPA that its Deployment in the manifests states; null if none does, and for a cluster. */
  readonly capaVersion: string | null;
  /** The controllers among the objects. For a cluster, only if they are requested. */
  readonly controllers: Controllers;
  /** The Pods with a sidecar, and the profile of the installation; null if they are not requested, or for manifests. */
  readonly sidecars: InstalledSidecars | null;
  /** The folder whose objects are a cluster of their own; null if all objects are one cluster. */
  readonly root: string | null;
  /** Faults of the manifests; empty for a cluster. An unreachable cluster is an error, not a fault. */
  readonly faults: readonly InputFault[];
  /** The number of skipped files by reason; empty for a cluster. */
  readonly skippedFiles: SkipCounts;
  /** The objects in files, and the kinds of a cluster, that can choose a role but are not in `objects`. */
  readonly unjudged: readonly Unjudged[];
}

type StateSettings = InputSettings & Pick<
  SettingsFor<"audit">,
  "from" | "cluster" | "kubeconfig" | "context" | "runtime" | "mode" | "ackSystemNamespace" | "extraGroups"
> & Partial<Pick<SettingsFor<"audit">, "identitySecretNamespace">>;

interface ReadOptions {
  /** The command, such as `lint -`, that reads the manifests of --from from standard input. */
  readonly stdinCommand: string;
  /**
   * Whether to read the CARM maps in all namespaces of a cluster, and the FieldExports, because CM-07 and FE-01 check
   * them. Default: false.
   */
  readonly inAllNamespaces?: boolean;
  /** Whether to read the Deployments of the controllers in a cluster. Default: false. */
  readonly readsControllers?: boolean;
  /** Whether to read the Pods with a sidecar in a cluster. Default: false. */
  readonly readsSidecars?: boolean;
  /** Whether to omit the ACK resources and the clusters of a cluster. Default: false. */
  readonly withoutResources?: boolean;
  /** The texts to read instead of those of the files, by path. Default: none. */
  readonly texts?: ReadonlyMap<string, string> | undefined;
}

/**
 * Reads the state of each root from --from, or the state from --cluster. If the settings have no roots, returns one
 * state. The field `faults` and the numbers of files concern all roots.
 * @throws ResolverError if the cluster is unreachable, or denies access to a required kind.
 */
export async function readStates(settings: StateSettings, streams: IO, options: ReadOptions): Promise<States> {
  const io = withoutNotes(streams, settings);
  writeStartNotices(settings, io);
  if (settings.cluster) return [await readCluster(settings, io, options)];
  return await readManifestStates(settings, io, options);
}

export type States = readonly [State, ...State[]];

async function readManifestStates(settings: StateSettings, io: IO, options: ReadOptions): Promise<States> {
  const { from, runtime, ackSystemNamespace } = settings;
  const input = await readInput(from, settings, io, options);
  const { manifests, faults, skippedFiles, unjudged, capa, roots } = input;
  const all: DerivedCoverage[] = [];
  const stateOf = (root: string | null, manifestsOfRoot: readonly Manifest[]): State => {
    const derived = withDerived(manifestsOfRoot);
    const objects = derived.objects.map(({ object }) => object);
    const inventory = inventoryOf(objects, { runtime, origin: "file" });
    const controllers = readControllers(objects, ackSystemNamespace);
    all.push(derived);
    return {
      root, objects: derived.objects, faults, skippedFiles, unjudged, origin: "file", inventory, controllers,
      capaVersion: capa?.version ?? null, sidecars: null,
    };
  };
  const [first = stateOf(null, manifests), ...others] = (roots?.names ?? [])
    .map((name) => stateOf(name, roots?.itemsOf([name], manifests) ?? []));
  const ofAll = unjudgedWith(unjudged, all);
  return [{ ...first, unjudged: ofAll }, ...others.map((state) => ({ ...state, unjudged: ofAll }))];
}

/** Reads the objects of a cluster. Imports the Kubernetes client on demand: `--from` does not need the client. */
async function readCluster(
  settings: StateSettings, io: IO, options: ReadOptions,
): Promise<State> {
  const { inAllNamespaces = false, withoutResources = false } = options;
  const { runtime, mode, ackSystemNamespace, extraGroups, identitySecretNamespace } = settings;
  const { loadCluster } = await import("../../shared/sources/load-cluster.ts");
  const progress = new Progress(io);
  try {
    const { api } = await openCluster(settings, io);
    const { found, sidecars, checked } = await readWorkloads(api, ackSystemNamespace, options);
    // Decides which lists must not fail.
    const isCARM = (mode ?? commonMode(readControllers(found.objects, ackSystemNamespace).controllers)) === "carm";
    const { inventory, objects } = await loadCluster({
      runtime, api, resources: withoutResources ? undefined : { extraGroups }, identities: true,
      identitySecretNamespace, fieldExports: inAllNamespaces,
      carmMaps: { namespace: ackSystemNamespace, isRequired: isCARM, inAllNamespaces },
      collect: withoutManagedFields,
      onProgress: ({ kinds, listed, objects: seen }) =>
        progress.update(`reading the cluster: ${listed} of ${countOf(kinds, "kind")}, ${countOf(seen, "object")}`),
    });
    progress.clear();
    const unlisted = SEPARATE_STORES.flatMap((one) => [...inventory.unlisted(one)]);
    writeLines(io.stderr, unlisted.map((kind) => `warning: cannot list ${kind}; the result omits its objects`));
    const unjudged = unlisted.map(() => ({ file: null, reason: "unlisted", count: 1 } as const));
    // Kinds are listed concurrently, in an order that varies. The objects are sorted, so that the output is the same in
    // each run.
    const sorted = [...objects, ...checked].toSorted(byName)
      .map((object) => ({ object, file: null, lineOf: () => null }));
    const { controllers, others } = readControllers([...found.objects, ...objects], ackSystemNamespace);
    const absent = `namespace ${ackSystemNamespace} has no Deployment of an ACK controller (--ack-system-namespace)`;
    const unread = found.unread ?? (options.readsControllers === true && controllers.length === 0 ? absent : null);
    return {
      objects: sorted, inventory, origin: "cluster", controllers: { controllers, others, unread }, root: null,
      capaVersion: null, sidecars, faults: [], skippedFiles: {}, unjudged,
    };
  } finally {
    progress.clear();
  }
}

function byName(one: JsonObject, other: JsonObject): number {
  const [a, b] = [objectReference(one), objectReference(other)];
  return compareText(a.group, b.group) || compareText(a.kind, b.kind) || compareText(a.namespace, b.namespace)
    || compareText(a.name, b.name);
}

interface InventoryContext {
  readonly runtime: "ack" | "extended";
  readonly origin: Origin;
}

/** Returns an inventory of the objects. */
export function inventoryOf(objects: readonly JsonObject[], context: InventoryContext): Inventory {
  const inventory = new Inventory(context, INVENTORY_KINDS);
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  return inventory;
}
