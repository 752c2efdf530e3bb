import { resolve } from "../shared/core/resolve.ts";
import { SELECTORS } from "../shared/ack/selectors.ts";
import { decisionSettings, type DecisionSettings } from "../shared/core/context.ts";
import type { Inventory, RoleObject } from "../shared/core/inventory.ts";
import { isUnrestricted, NO_EXTRAS } from "../shared/core/session.ts";
import type { Resolution } from "../shared/core/resolution.ts";
import { type JsonObject, parseJSON } from "../shared/formats/json.ts";
import { roleObjectOf } from "../shared/kinds.ts";
import { NAME_LABEL } from "../shared/formats/names.ts";
import { apiVersionOf, DEFAULT_NAMESPACE, objectReference } from "../shared/formats/object-meta.ts";
import { hypotheticalResources } from "../shared/diagnosis/hypothetical-resource.ts";
import type { ComparedObject } from "../shared/diagnosis/impact.ts";
import type { SettingsFor } from "../shared/core/settings.ts";
import { explainContext, explainResource, hypotheticalObject } from "./input/explained-resource.ts";
import { faultyIdentities, faultyIdentityLines, faultySelectorLines, faultySelectors } from "./input/faulty-objects.ts";
import { Only, RESOURCE_FIELDS, ROLE_FIELDS } from "./input/only.ts";
import {
  EXIT, type ExitStatus, type IO, isVerbose, withoutNotes, writeJSON, writeLines, writeText,
} from "./io.ts";
import { mergeRoots, rootTitle, unionOf } from "./output/by-root.ts";
import { coverageWithoutTemplates, isIncomplete, writeNotJudged } from "./output/coverage.ts";
import { mapWithProgress } from "./output/progress.ts";
import { isUnreadable } from "./input/input-faults.ts";
import { readStates, type State, type StateObject } from "./input/state.ts";
import { type ExplainedResource, explanationLines } from "./output/explanation.ts";
import { resolutionTable, type ResolvedResource, type ResourceName, tableFormat } from "./output/resolution-table.ts";
import { painter } from "./output/terminal.ts";

/** Prints the role of each resource. If any input is unreadable, prints only the faults of the input. */
export async function runResolve(settings: SettingsFor<"resolve">, io: IO): Promise<ExitStatus> {
  // The flags describe a hypothetical resource whole.
  const only = settings.kind.length > 0
    ? new Only({ ...settings, namespace: null }, ROLE_FIELDS)
    : new Only(settings, RESOURCE_FIELDS);
  const states = await readStates(settings, io, { stdinCommand: "resolve -" });
  const [{ faults, unjudged }] = states;
  if (isUnreadable(faults, settings, io)) return EXIT.usage;
  const notes = withoutNotes(io, settings);
  const results = states.map((state) => resolveRoot(state, only, settings, notes));
  writeText(notes.stderr, only.unmatchedLines(results.flatMap(({ resolved }) => resolved).length, "resource"), io);
  if (settings.output === "json") {
    writeJSON(io, mergeRoots(results.map(({ root, resolved: items }) => ({ root, items }))));
  } else if (results.some(({ resolved }) => resolved.length > 0)) printText(results, settings, io);
  else if (!only.isSet) writeText(notes.stderr, [NO_RESOURCES], io);
  writeText(notes.stderr, distinct(results.flatMap(({ warnings }) => warnings)), io);
  writeText(io.stderr, distinct(results.flatMap(({ faults: ofRoot }) => ofRoot)), io);
  const covered = coverageWithoutTemplates(unionOf(states), unjudged);
  writeNotJudged(covered, settings, io);
  return results.some(({ isFailed }) => isFailed) || isIncomplete(covered, settings.failOn)
    ? EXIT.findings
    : EXIT.fine;
}

function distinct(lines: readonly string[]): string[] {
  return [...new Set(lines)];
}

interface RootResult extends Pick<State, "root"> {
  readonly resolved: readonly ExplainedResource[];
  readonly warnings: readonly string[];
  /** The selectors and identities that the webhook would deny. */
  readonly faults: readonly string[];
  readonly isFailed: boolean;
}

function resolveRoot(state: State, only: Only, settings: SettingsFor<"resolve">, io: IO): RootResult {
  const { inventory, root } = state;
  const decisions = decisionSettings(settings);
  const isJSON = settings.output === "json";
  const context = settings.explain
    ? explainContext(state, decisions, { isWhole: false, isComplete: isJSON || isVerbose(settings) }) : null;
  const queries = queriesOf(state, only, settings);
  const resolved = mapWithProgress(queries, io, "resources resolved", ({ query, found }): ExplainedResource => {
    if (context === null) return resolveOne(query, inventory, decisions);
    const { session, reported, causes, nearMisses, omitted, ...resolution } = explainResource(query, found, context);
    if (isJSON) return { ...resolution, ...limitsOf(query, resolution, inventory, decisions) };
    return { ...resolution, omitted, session, reported, causes, nearMisses };
  }).filter((one) => only.hasRole([one]));
  const faulty = faultySelectors(inventory, state.origin);
  const identities = faultyIdentities(state, decisions);
  const warnings = [
    ...versionWarnings(resolved, inventory),
    ...(settings.kind.length > 0 ? namespaceWarnings(settings.namespace ?? DEFAULT_NAMESPACE, inventory) : []),
  ];
  const hasUndecided = resolved.some(({ outcome }) => outcome === "conflict" || outcome === "refused");
  const isFaulty = identities.length > 0 || faulty.some(({ isRendered }) => isRendered);
  const faults = [...faultySelectorLines(faulty), ...faultyIdentityLines(identities)];
  return { root, resolved, warnings, faults, isFailed: isFaulty || hasUndecided };
}

function printText(results: readonly RootResult[], settings: SettingsFor<"resolve">, io: IO): void {
  const paint = painter(io.stdout, io.environment);
  const format = tableFormat(settings.output === "wide" ? "wide" : "text", io);
  writeLines(io.stdout, results.filter(({ resolved }) => resolved.length > 0).flatMap((result) => [
    ...rootTitle(result, paint),
    ...(settings.explain
      ? explanationLines(result.resolved, paint, format.width)
      : resolutionTable(result.resolved, format, paint)),
  ]));
}

const NO_RESOURCES = "The input contains no ACK resource, and no object that refers to a Cluster API identity. "
  + "To resolve a resource that does not exist yet, set --kind, such as --kind Bucket.s3.services.k8s.aws.";

/** Returns the resources that --kind describes. Without --kind, returns every resource of the state. */
function queriesOf(state: State, only: Only, settings: SettingsFor<"resolve">): Asked[] {
  const { kind: kinds, label: labels } = settings;
  const namespace = settings.namespace ?? DEFAULT_NAMESPACE;
  if (kinds.length === 0) return resourcesIn(only.objectsOf(state));
  const queries = hypotheticalResources({ kinds, namespace, labels }, state.inventory);
  return queries.map((query) => ({ query, found: hypotheticalObject(query) }));
}

/** A resource, and its object. */
interface Asked {
  readonly query: RoleObject;
  readonly found: StateObject;
}

/** Returns every object that has a role, in input order. */
export function resourcesIn(objects: readonly StateObject[]): Asked[] {
  return objects.flatMap((found) => {
    const query = roleObjectOf(found.object);
    return query === null ? [] : [{ query, found }];
  });
}

/** Resolves every resource in input order. */
export function resolveAll(
  objects: readonly JsonObject[], inventory: Inventory, settings: DecisionSettings,
): ResolvedResource[] {
  const queries = objects.flatMap((object) => roleObjectOf(object) ?? []);
  return queries.map((query) => resolveOne(query, inventory, settings));
}

function resolveOne(query: RoleObject, inventory: Inventory, settings: DecisionSettings): ResolvedResource {
  const resolution = resolve(inventory, query, settings);
  return { resource: resourceName(query), ...resolution, ...limitsOf(query, resolution, inventory, settings) };
}

/** Returns what limits the sessions of the role, if anything does. */
function limitsOf(
  query: RoleObject, resolution: Resolution, inventory: Inventory, settings: DecisionSettings,
): Pick<ResolvedResource, "limits"> {
  const session = inventory.sourceOf(query, settings).sessionOf?.(resolution, inventory)?.settings;
  const { policy, policyARNs, scope } = { ...NO_EXTRAS, ...session };
  if (scope === null && isUnrestricted({ policy, policyARNs })) return {};
  return { limits: { scope, policyARNs, policy: policy === null ? null : parseJSON(policy) } };
}

/** Returns the fields that identify a resource in JSON output. */
export function resourceName(query: ComparedObject): ResourceName {
  return { apiVersion: apiVersionOf(query), kind: query.kind, namespace: query.namespace, name: query.name };
}

/** Returns a warning for each kind that has several served versions. Selectors match only the stored version. */
function versionWarnings(resolved: readonly ResolvedResource[], inventory: Inventory): string[] {
  const ofACK = resolved.filter(({ chain }) => chain === undefined);
  const kinds = new Map(ofACK.map(({ resource }) => (
    [`${resource.kind}.${objectReference(resource).group}`, resource]
  )));
  return [...kinds].flatMap(([kind, resource]) => {
    const versions = inventory.kinds.versions(objectReference(resource).group, resource.kind);
    if (versions === null || versions.served.length < 2) return [];
    const { served, storage } = versions;
    return [`warning: ${kind} has versions ${served.join(", ")}; selectors match only the stored version, ${storage}`];
  });
}

function namespaceWarnings(namespace: string, inventory: Inventory): string[] {
  if (inventory.namespaces.has(namespace) || !inventory.of(SELECTORS).readsNamespaceLabels) return [];
  return [`warning: Namespace ${namespace} does not exist; selectors match it as if its only label were ${NAME_LABEL}`];
}
