import { judge } from "../shared/decisions/checks/judge.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { compareInventories, countsOf, type ImpactComparison, isGrave } from "../shared/decisions/impact.ts";
import type { JsonObject } from "../shared/decisions/json.ts";
import { objectMeta } from "../shared/decisions/object-meta.ts";
import { decisionSettings, type SettingsFor } from "../shared/decisions/settings.ts";
import { identityKey, identityOf } from "../shared/inventory/duplicates.ts";
import { STDIN } from "../shared/inventory/manifest-files.ts";
import type { Manifest } from "../shared/inventory/manifest-reader.ts";
import { type ProposedState, stateWith, stateWithout } from "../shared/inventory/proposed-state.ts";
import { impactLines } from "./impact-text.ts";
import { readInput } from "./input.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { locate, type LocatedFinding } from "./located-finding.ts";
import { painter } from "./paint.ts";
import { resourceName } from "./resolve.ts";
import { inventoryOf, isUnreadable, readState, type State } from "./state.ts";

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
    const { findings } = judge({ ...change, requester: null, origin: "file", inventory }, decisionSettings(settings));
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
