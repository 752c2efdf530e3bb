import type { KubernetesAPI } from "../shared/api/api.ts";
import { ACK_03 } from "../shared/ack/resource-selection.ts";
import { decisionSettings } from "../shared/core/context.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { DEFAULT_NAMESPACE, objectReference } from "../shared/formats/object-meta.ts";
import { controllersOfGroup } from "../shared/controllers/controller-deployment.ts";
import { type Settlement, settleSettings } from "../shared/controllers/controller-settings.ts";
import { openCluster } from "./input/connection.ts";
import { explainContext, explainResource } from "./input/explained-resource.ts";
import { findNamed, parseNamedResource, readNamed } from "./input/named-resource.ts";
import { conditionReports, isError, type Reported, reportedEvents } from "./input/reported.ts";
import { isUnreadable } from "./input/input-faults.ts";
import { readStates, type State, type StateObject } from "./input/state.ts";
import { EXIT, type ExitStatus, type IO, isVerbose, withoutNotes, writeJSON, writeLines } from "./io.ts";
import { settlementLines } from "./output/controllers.ts";
import { type ExplainedCause, type Explanation, explanationLines } from "./output/explanation.ts";
import type { LocatedFinding } from "./output/located-finding.ts";
import { type ResolvedResource, tableFormat } from "./output/resolution-table.ts";
import { painter } from "./output/terminal.ts";
import { resourcesIn } from "./resolve.ts";

type Settings = SettingsFor<"why">;
type SettledSettings = Settings & Settlement["settings"];

/** Prints why one resource has its role, what is reported about it, and what to do. */
export async function runWhy(words: readonly string[], settings: Settings, io: IO): Promise<ExitStatus> {
  const { api, contexts } = settings.cluster ? await openCluster(settings, io) : { api: undefined, contexts: null };
  const namespace = settings.namespace ?? contexts?.namespace ?? DEFAULT_NAMESPACE;
  const wanted = parseNamedResource(words, namespace);
  // With a kind, --namespace is that of the resource, so no notice says that it has no effect on the manifests.
  const input = { ...settings, kind: [wanted.type] };
  const [state] = await readStates(input, io, {
    stdinCommand: "why RESOURCE --from -", withoutResources: true, readsControllers: true,
  });
  if (isUnreadable(state.faults, settings, io)) return EXIT.usage;
  const found = api === undefined ? findNamed(state, wanted) : await readNamed(state, wanted, api);
  const controllers = controllersOfGroup(state.controllers, objectReference(found.object).group);
  const settlement = settleSettings(settings, controllers);
  const explained = await explain(found, state, { ...settings, ...settlement.settings }, io);
  const result = { ...explained, reported: await reportedAbout(found, explained, api) };
  if (settings.output === "json") writeJSON(io, { ...result, causes: result.causes.map(withoutText) });
  else writeText(io, { ...result, reported: shownOf(result, settings) });
  const notes = withoutNotes(io, settings).stderr;
  writeLines(notes, settlementLines(settlement, painter(io.stderr, io.environment)));
  return isWrong(result) ? EXIT.findings : EXIT.fine;
}

/** Whether something is denied or refused, or a selector probably should select the resource. */
function isWrong({ causes, nearMisses, reported }: Explanation): boolean {
  return nearMisses.length > 0 || reported.some(isError) || causes.some(({ severity }) => severity === "deny");
}

/** Returns a cause in the format of the findings of `lint -o json`. */
function withoutText({ isOfResource: _isOfResource, ways: _ways, ...finding }: ExplainedCause): LocatedFinding {
  return finding;
}

/** Returns what is reported, without what is past unless the user asks for everything. */
function shownOf({ reported }: Explanation, { logLevel }: Settings): readonly Reported[] {
  return reported.filter(({ meaning }) => meaning !== "past" || logLevel === "debug");
}

function writeText(io: IO, result: Parameters<typeof explanationLines>[0][number]): void {
  const { width } = tableFormat("text", io);
  writeLines(io.stdout, explanationLines([result], painter(io.stdout, io.environment), width));
}

/**
 * Explains the resource. If a change of another object is a repair, the other resources of a cluster are read too,
 * because the repair must not change their roles unseen.
 */
async function explain(
  found: StateObject, state: State, settings: SettledSettings, io: IO,
): Promise<ResolvedResource & Explanation> {
  const isFile = state.origin === "file";
  const explained = explanationOf(found, state, settings, isFile);
  if (isFile || !explained.causes.some(concernsOthers)) return explained;
  const quiet = withoutNotes(io, { logLevel: "error" });
  const [whole] = await readStates(settings, quiet, { stdinCommand: "why RESOURCE --from -", readsControllers: true });
  return explanationOf(found, whole, settings, whole.unjudged.length === 0);
}

/** Whether a change of an object other than the resource, whose kind has another name, can correct the cause. */
function concernsOthers({ code, isOfResource, kind, repairs = [] }: ExplainedCause): boolean {
  return !isOfResource || code === ACK_03.id
    || repairs.some(({ changes }) => changes.some(({ object }) => object.kind !== kind));
}

/** Omits what nearly selects the resource if something does, or probably should. */
function explanationOf(
  found: StateObject, state: State, settings: SettledSettings, isWhole: boolean,
): ResolvedResource & Explanation {
  const [asked] = resourcesIn([found]);
  if (asked === undefined) throw new Error("the object is no resource");
  const isComplete = isVerbose(settings);
  const context = explainContext(state, decisionSettings(settings), { isWhole, isComplete });
  const { explanation, ...explained } = explainResource(asked.query, found, context);
  if (explanation === undefined) return explained;
  const missed = new Set(explained.nearMisses.map(({ selector }) => selector));
  const isShort = explained.outcome !== "default" || missed.size > 0;
  if (isComplete || !isShort) return { ...explained, explanation };
  const shown = explanation.filter((one) => one.selects || one.chosen === true || missed.has(one.selector));
  return { ...explained, omitted: 0, ...((shown.length > 0 || explanation.length === 0) && { explanation: shown }) };
}

async function reportedAbout(
  found: StateObject, { selectors }: ResolvedResource, api: KubernetesAPI | undefined,
): Promise<readonly Reported[]> {
  const conditions = conditionReports(found.object);
  if (api === undefined) return conditions;
  return [...conditions, ...await reportedEvents(api, found.object, selectors.map(({ name }) => name))];
}
