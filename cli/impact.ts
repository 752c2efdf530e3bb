import { runChecks } from "../shared/decisions/checks/run.ts";
import { decisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { objectMeta } from "../shared/decisions/kubernetes/object-meta.ts";
import {
  type Change, CHANGES, compareInventories, countsOf, GRAVE, type ImpactComparison, isGrave,
} from "../shared/decisions/resolution/impact.ts";
import type { Resolution } from "../shared/decisions/resolution/resolve.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { STDIN } from "../shared/inventory/manifests/files.ts";
import { identityKey, identityOf } from "../shared/inventory/manifests/identity.ts";
import { type ProposedState, stateWith, stateWithout } from "../shared/inventory/manifests/proposed-state.ts";
import type { Manifest } from "../shared/inventory/manifests/reader.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { findingLines, locate, type LocatedFinding } from "./located-finding.ts";
import { resourceName } from "./resolve.ts";
import { inventoryOf, isUnreadable, readInput, readState, type State } from "./state.ts";
import { formatTable, type Paint, painter } from "./terminal.ts";

/** Prints nothing but the faults when anything could not be read. */
export async function runImpact(paths: readonly string[], settings: SettingsFor<"impact">, io: IO): Promise<ExitStatus> {
  checkPaths(paths, settings);
  const { manifests, faults } = await readInput(paths, io);
  if (isUnreadable(faults, io)) return EXIT.usage;
  const state = await readState(settings, io);
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const proposed = propose(state, manifests.map(({ object }) => object), settings.delete);
  const after = inventoryOf(proposed.objects, { runtime: settings.runtime, origin: state.origin });
  const comparison = compareInventories(state.inventory, after, decisionSettings(settings));
  const findings = judgeManifests(manifests, state, settings);
  const denials = findings.filter(({ severity }) => severity === "deny");
  if (settings.output === "json") io.stdout.write(`${JSON.stringify({ ...impactJSON(comparison), findings }, null, 2)}\n`);
  else writeLines(io.stdout, impactLines(comparison, denials, painter(io.stdout, io.environment)));
  writeLines(io.stderr, proposed.absent.map(absentLine));
  return denials.length > 0 || comparison.impacts.some(isGrave) ? EXIT.findings : EXIT.fine;
}

/** What the webhook would say of each manifest by itself, were it applied or deleted as things are. */
function judgeManifests(manifests: readonly Manifest[], { objects, inventory }: State, settings: SettingsFor<"impact">): LocatedFinding[] {
  const stored = new Map(objects.map(({ object }) => [keyOf(object), object]));
  return manifests.flatMap((manifest) => {
    const old = stored.get(keyOf(manifest.object)) ?? null;
    if (settings.delete && old === null) return [];
    const change = settings.delete ? { object: old ?? {}, old: null, operation: "DELETE" as const } : { object: manifest.object, old };
    const { findings } = runChecks({ ...change, requester: null, origin: "file", inventory }, decisionSettings(settings));
    return findings.map((finding) => locate(finding, manifest));
  });
}

/** Null of an object without a name, which is always new. */
function keyOf(object: JsonObject): string | null {
  const identity = identityOf(object);
  return identity === null ? null : identityKey(identity);
}

function checkPaths(paths: readonly string[], { from, delete: deleting }: SettingsFor<"impact">): void {
  if (paths.length === 0) {
    throw new ResolverError("ERR_CONFIG_INVALID", `no manifests to ${deleting ? "delete" : "apply"}: name files or folders, or - for standard input`);
  }
  if (paths.includes(STDIN) && from.includes(STDIN)) {
    throw new ResolverError("ERR_CONFIG_INVALID", "--from -: standard input is read once, and it holds the manifests already; name a file or a folder for one of them");
  }
}

function propose({ objects, origin }: State, given: readonly JsonObject[], deleting: boolean): ProposedState {
  const stored = objects.map(({ object }) => object);
  return deleting ? stateWithout(stored, given) : stateWith(stored, given, origin);
}

function absentLine(object: JsonObject): string {
  const { kind, namespace, name } = objectMeta(object);
  return `warning: ${kind} ${namespace === "" ? "" : `${namespace}/`}${name} is not there, so there is nothing of it to delete`;
}

/** The stable shape of `-o json`: `before` and `after` as `resolve -o json` has them, null where the resource is not. */
function impactJSON({ impacts, resources }: ImpactComparison): object {
  return {
    summary: { resources, unchanged: resources - impacts.length, ...countsOf(impacts) },
    changes: impacts.map(({ resource, change, before, after }) => ({ resource: resourceName(resource), change, before, after })),
  };
}

/** As a person says it, after a count and as a cell. */
const SAID: Readonly<Record<Change, string>> = {
  conflict: "to conflict", refused: "to refusal", default: "to default", account: "other account", role: "other role", region: "other region",
  selected: "selected now", selector: "other selector", added: "new", removed: "gone",
};

/** The counts, a row a resource that changes, and what of the manifests the webhook would refuse. */
export function impactLines(comparison: ImpactComparison, denials: readonly LocatedFinding[], paint: Paint): string[] {
  const refused = denials.length === 0 ? [] : ["", paint("bold", "The webhook would refuse"), ...denials.flatMap((denial) => findingLines(denial, paint))];
  return [...comparisonLines(comparison, paint), ...refused];
}

function comparisonLines({ impacts, resources }: ImpactComparison, paint: Paint): string[] {
  const counts = countsOf(impacts);
  const said = CHANGES.filter((change) => counts[change] > 0).map((change) => `${counts[change]} ${SAID[change]}`);
  const summary = `${resources} resources: ${[...said, `${resources - impacts.length} unchanged`].join(", ")}`;
  if (impacts.length === 0) return [summary];
  const rows = impacts.map(({ resource, change, before, after }) => [
    resource.namespace, `${resource.kind}/${resource.name ?? ""}`, SAID[change], resolutionCell(before, change), "->", resolutionCell(after, change),
  ]);
  const [head = "", ...lines] = formatTable([["NAMESPACE", "RESOURCE", "CHANGE", "BEFORE", "", "AFTER"], ...rows]);
  const painted = lines.map((line, i) => {
    const change = impacts[i]?.change ?? "role";
    return line.replace(`  ${SAID[change]}`, `  ${paint(GRAVE.has(change) ? "red" : "yellow", SAID[change])}`);
  });
  return [summary, "", paint("bold", head), ...painted];
}

/** The account first, since that is what matters; the region only where it is what changes. */
function resolutionCell(resolution: Resolution | null, change: Change): string {
  if (resolution === null) return "-";
  const { outcome, code, selectors, region } = resolution;
  if (outcome === "conflict") return `conflict of ${selectors.map(({ name }) => name).join(", ")}`;
  if (outcome === "refused") return `refused: ${code ?? ""}`;
  return change === "region" ? `${roleText(resolution)} in ${region?.value ?? "no region"}` : roleText(resolution);
}

function roleText({ outcome, accountID, roleARN, selectors }: Resolution): string {
  const account = accountID ?? "account not known";
  if (outcome === "default") return `${account}, the controller's own`;
  const role = (roleARN ?? "").split(":").at(-1) ?? "";
  return [account, role, ...selectors.map(({ name }) => `by ${name}`)].join(" ");
}
