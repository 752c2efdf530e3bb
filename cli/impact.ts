import { systemClock } from "../shared/core/clock.ts";
import { decisionSettings } from "../shared/core/context.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { STDIN } from "../shared/files/listing.ts";
import type { Manifest } from "../shared/files/manifest-reader.ts";
import { type ProposedState, stateAfterApply, stateAfterDelete } from "../shared/files/proposed-state.ts";
import { sumOfCounts } from "../shared/files/skip.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { countOf, printable } from "../shared/formats/text.ts";
import {
  compareInventories, countsOf, type Impact, type ImpactComparison, isDisruptive,
} from "../shared/diagnosis/impact.ts";
import { storedManifests } from "../shared/files/files.ts";
import type { ImpactPage, NewRoles, RoleReview } from "./feature.ts";
import { FEATURES, type ReviewedState, reviewRoles, reviewsRoles } from "./features.ts";
import { derivedFrom, withoutDerived } from "./input/derived-objects.ts";
import { CHANGE_FIELDS, Only } from "./input/only.ts";
import { OrderedChecks } from "./input/ordered-checks.ts";
import { isUnreadable } from "./input/input-faults.ts";
import { inventoryOf, readInput, readStates, type State, type States } from "./input/state.ts";
import { EXIT, type ExitStatus, type IO, isVerbose, withoutNotes, writeJSON, writeLines, writeText } from "./io.ts";
import { foldedLines, type LocatedFinding, locator } from "./output/located-finding.ts";
import { distinctObjects, mergeRoots, rootTitle } from "./output/by-root.ts";
import { coverageWithoutTemplates, isIncomplete, writeNotJudged } from "./output/coverage.ts";
import { impactMarkdown } from "./output/impact-markdown.ts";
import { comparisonLines } from "./output/impact-table.ts";
import { mapWithProgress, runWithProgress } from "./output/progress.ts";
import { tableFormat } from "./output/resolution-table.ts";
import { type Paint, painter, wrapLines } from "./output/terminal.ts";
import { resourceName } from "./resolve.ts";
import { foldersOfRoot, relativeRoot, Roots } from "../shared/files/roots.ts";

type Settings = SettingsFor<"impact">;

/** Prints the impact of applying or deleting the manifests. If any input is unreadable, prints only the faults. */
export async function runImpact(
  paths: readonly string[], settings: Settings, io: IO, clock = systemClock,
): Promise<ExitStatus> {
  checkPaths(paths, settings);
  // The manifests decide what is compared, so --namespace is only the namespace of those that set none.
  const only = new Only({ ...settings, namespace: null }, CHANGE_FIELDS);
  const input = await readInput(paths, settings, io, { stdinCommand: "impact - --from STATE" });
  if (isUnreadable(input.faults, settings, io)) return EXIT.usage;
  const options = { stdinCommand: "impact --from - CHANGE", readsControllers: reviewsRoles(settings) };
  const states = await readStates(settings, io, options);
  const [{ faults, unjudged, skippedFiles, inventory, capaVersion }] = states;
  if (isUnreadable(faults, settings, io)) return EXIT.usage;
  // The CAPA of the state also stores the change, unless the change has another one.
  const isOfState = settings.capaVersion === null && input.capa === null;
  const change = { ...input, manifests: storedManifests(input.manifests, isOfState ? capaVersion : null) };
  const pairs = rootPairs({ paths, ...change }, states, settings.from);
  const notes = withoutNotes(io, settings);
  const reviewed = await reviewRoles(pairs.map(({ state }) => state), settings, notes, clock.now());
  const parts = { review: reviewed.review, page: await pageOf(settings) };
  const results = reviewed.states.map((state, i) => (
    impactOf({ state, manifests: pairs[i]?.manifests ?? [] }, { ...parts, only, settings, io })
  ));
  const shown = results.flatMap(({ comparison }) => comparison.impacts).length;
  writeText(notes.stderr, only.unmatchedLines(shown, "change"), io);
  const judged = { objects: [...change.manifests, ...distinctObjects(states)], inventory };
  const covered = coverageWithoutTemplates(judged, [...change.unjudged, ...unjudged]);
  await parts.page?.write(io);
  if (settings.output === "json") {
    const counts = sumOfCounts(change.skippedFiles, skippedFiles);
    writeJSON(io, { ...impactJSON(results), skippedFiles: counts, coverage: covered.coverage });
  } else printResults(results, parts, settings, io);
  writeText(notes.stderr, [...new Set(results.flatMap(({ absent }) => absent.map(absentWarning)))], io);
  writeNotJudged(covered, settings, io);
  const hasFailed = results.some((result) => isFailed(result, settings));
  return hasFailed || isIncomplete(covered, settings.failOn) ? EXIT.findings : EXIT.fine;
}

/** What features add to the report. */
interface Parts {
  readonly review: RoleReview | null;
  readonly page: ImpactPage | null;
}

async function pageOf(settings: Settings): Promise<ImpactPage | null> {
  const pages = await Promise.all(FEATURES.flatMap(({ impactPage }) => impactPage?.(settings) ?? []));
  return pages.find((page) => page !== null) ?? null;
}

function isFailed({ comparison, findings, newRoles }: RootImpact, { failOn }: Settings): boolean {
  const verdicts = newRoles?.verdicts ?? new Set();
  const isOpen = verdicts.has("unknown") && failOn.includes("unjudged");
  return findings.some(isDenial) || comparison.impacts.some(isDisruptive) || verdicts.has("no") || isOpen;
}

/** The state of a root, who can assume its roles, and the manifests that are applied to it. */
type ReviewedPair = RootPair & { readonly state: ReviewedState };

interface RootImpact extends Pick<State, "root"> {
  readonly comparison: ImpactComparison;
  readonly findings: readonly LocatedFinding[];
  readonly absent: ProposedState["absent"];
  /** Whether the new roles can be assumed; null without exports of IAM. */
  readonly newRoles: NewRoles | null;
}

interface ImpactContext extends Parts {
  readonly only: Only;
  readonly settings: Settings;
  readonly io: IO;
}

function impactOf({ state, manifests }: ReviewedPair, context: ImpactContext): RootImpact {
  const { review, page, only, settings, io } = context;
  const proposed = propose(state, manifests.map(({ object }) => object), settings.delete);
  const after = inventoryOf(proposed.objects, { runtime: settings.runtime, origin: state.origin });
  const decisions = decisionSettings(settings);
  const work = compareInventories(state.inventory, after, decisions);
  const all = runWithProgress(work, io, (compared) => `${countOf(compared, "resource")} compared`);
  const impacts = all.impacts.filter((impact) => isReported(impact, only));
  const comparison = { impacts, resources: all.resources - all.impacts.length + impacts.length };
  const findings = checkManifests(manifests, state, settings, io);
  page?.add(state, { objects: proposed.objects, inventory: after, impacts }, io);
  const newRoles = review?.judgeChange({ before: state.inventory, after, impacts }, state.evidence, decisions) ?? null;
  return { root: state.root, comparison, findings, absent: proposed.absent, newRoles };
}

function isReported({ resource, before, after }: Impact, only: Only): boolean {
  const roles = [before, after].filter((one) => one !== null);
  return only.hasSubject({ ...resource, labelOf: () => null }) && only.hasRole(roles);
}

function printResults(
  results: readonly RootImpact[], { review, page }: Parts, { output, logLevel }: Settings, io: IO,
): void {
  if (output === "markdown") {
    const roots = results.map((result) => ({ ...result, denials: result.findings.filter(isDenial) }));
    return void io.stdout.write(impactMarkdown(roots, review?.openRoles() ?? [], page));
  }
  const paint = painter(io.stdout, io.environment);
  const format = tableFormat(output === "wide" ? "wide" : "text", io);
  writeLines(io.stdout, results.flatMap((result) => [
    ...rootTitle(result, paint), ...comparisonLines(result, format, paint), ...newRoleLines(result.newRoles, io, paint),
    ...wrapLines(denialLines(result.findings.filter(isDenial), isVerbose({ logLevel }), paint), format.width),
  ]));
  writeLines(io.stdout, page === null ? [] : ["", printable(`${page.title}: ${page.file}`)]);
}

function isDenial({ severity }: LocatedFinding): boolean {
  return severity === "deny";
}

function checkPaths(paths: readonly string[], { from, delete: isDelete }: Settings): void {
  if (paths.length === 0) {
    const message = `no manifests to ${isDelete ? "delete" : "apply"}: pass files or folders, or - for standard input`;
    throw new ResolverError("ERR_CONFIG_INVALID", message);
  }
  if (paths.includes(STDIN) && from.includes(STDIN)) {
    const message = "--from -: the manifests are already read from standard input; pass a file or folder to --from";
    throw new ResolverError("ERR_CONFIG_INVALID", message);
  }
}

function propose({ objects, origin }: State, manifests: readonly JsonObject[], isDelete: boolean): ProposedState {
  const stored = withoutDerived(objects).map(({ object }) => object);
  const after = isDelete ? stateAfterDelete(stored, manifests) : stateAfterApply(stored, manifests, origin);
  return { ...after, objects: [...after.objects, ...derivedFrom(after.objects)] };
}

/** Returns the findings that the webhook would report if the manifests were applied or deleted in this order. */
function checkManifests(manifests: readonly Manifest[], state: State, settings: Settings, io: IO): LocatedFinding[] {
  const checks = new OrderedChecks(state, decisionSettings(settings));
  const locate = locator(settings.output, manifests);
  const findings = mapWithProgress(manifests, io, "manifests checked", (manifest) => {
    const { object } = manifest;
    const found = settings.delete ? checks.findingsOfDelete(object) : checks.findingsOfApply(object);
    return found.map((finding) => locate(finding, manifest));
  });
  checks.undo();
  return findings.flat();
}

function absentWarning(object: JsonObject): string {
  const { kind, namespace, name } = objectReference(object);
  const fullName = namespace === "" ? name : `${namespace}/${name}`;
  return `warning: ${kind} ${fullName} does not exist, so there is nothing to delete`;
}

/**
 * Returns the result for `-o json`. The fields `before` and `after` are resolutions, or null if the resource does not
 * exist. With several roots, the summary of each root is separate.
 */
function impactJSON(results: readonly RootImpact[]): object {
  const findings = mergeRoots(results.map(({ root, findings: items }) => ({ root, items })));
  const changes = mergeRoots(results.map(({ root, comparison: { impacts }, newRoles }) => (
    { root, items: impacts.map((impact) => changeJSON(impact, newRoles)) }
  )));
  const rows = results.map(({ root, newRoles }) => ({ root, items: newRoles?.answers() ?? [] }));
  const roles = results.every(({ newRoles }) => newRoles === null) ? {} : { roles: mergeRoots(rows) };
  const [first, ...others] = results.map(({ root, comparison: { impacts, resources } }) => (
    { root, summary: { resources, unchanged: resources - impacts.length, ...countsOf(impacts) } }
  ));
  const lists = { changes, ...roles, findings };
  if (first === undefined || others.length > 0) return { roots: [first, ...others].filter(Boolean), ...lists };
  return { summary: first.summary, ...lists };
}

function changeJSON({ resource, ...impact }: Impact, newRoles: NewRoles | null): object {
  const assumable = newRoles === null ? {} : { assumable: newRoles.of({ ...impact, resource }) };
  return { resource: resourceName(resource), ...impact, ...assumable };
}

/** Returns who can assume the new roles, as `trust` prints it. */
function newRoleLines(newRoles: NewRoles | null, io: IO, paint: Paint): string[] {
  const lines = newRoles?.lines(io) ?? [];
  return lines.length === 0 ? [] : ["", paint("bold", "Who can assume the new roles"), ...lines];
}

/** Returns the lines of the findings of severity deny. */
function denialLines(denials: readonly LocatedFinding[], isComplete: boolean, paint: Paint): string[] {
  if (denials.length === 0) return [];
  return ["", paint("bold", "The webhook would deny"), ...foldedLines(denials, isComplete, paint)];
}

interface Change {
  readonly paths: readonly string[];
  readonly manifests: readonly Manifest[];
  readonly roots: Roots | null;
}

/** The state of a root, and the manifests that are applied to it. */
interface RootPair {
  readonly state: State;
  readonly manifests: readonly Manifest[];
}

/**
 * Returns each root that manifests change, with these manifests and those that are in no root. Roots of the state and
 * of the change are the same if their paths in the given folders are the same, so that checkouts can be compared.
 */
function rootPairs({ paths, manifests, roots }: Change, states: States, from: readonly string[]): RootPair[] {
  const [first] = states;
  const known = new Map(states.flatMap((state) => (
    state.root === null ? [] : [[relativeRoot(state.root, from), state] as const]
  )));
  const keys = new Set([...known.keys(), ...(roots?.names ?? []).map((name) => relativeRoot(name, paths))]);
  if (keys.size === 0) return [{ state: first, manifests }];
  const files = new Set(manifests.map(({ file }) => file));
  const folders = [...paths.filter((path) => !files.has(path)), ...from];
  const foldersOf = (key: string): string[] => foldersOfRoot(key, folders);
  const split = new Roots([...keys].flatMap(foldersOf));
  const pairs = Array.from(keys, (key) => ({
    state: known.get(key) ?? { ...(known.size === 0 ? first : sharedState(states)), root: key },
    manifests: split.itemsOf(foldersOf(key), manifests),
  }));
  return pairs.filter((pair) => pair.manifests.length > 0);
}

/** Returns the state of a root that does not exist yet: the objects that all roots share. */
function sharedState(states: States): State {
  const [first, ...others] = states;
  const sets = others.map(({ objects }) => new Set(objects));
  const objects = first.objects.filter((one) => sets.every((set) => set.has(one)));
  const { runtime, origin } = first.inventory;
  return { ...first, objects, inventory: inventoryOf(objects.map(({ object }) => object), { runtime, origin }) };
}
