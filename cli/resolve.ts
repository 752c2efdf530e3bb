import { decisionSettings, type DecisionSettings } from "../shared/contract/context.ts";
import { readReferrer, type Referrer, refersToIdentity } from "../shared/model/referrer.ts";
import { resolveObject } from "../shared/resolution/resolve-identity.ts";
import type { Inventory } from "../shared/inventory/inventory.ts";
import { queryOf, type ResourceQuery } from "../shared/contract/ack-resource.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { isACKGroup } from "../shared/contract/ack-groups.ts";
import { NAME_LABEL } from "../shared/formats/names.ts";
import { apiVersionOf, objectReference } from "../shared/formats/object-meta.ts";
import { explain } from "../shared/resolution/explain.ts";
import { hypotheticalResources } from "../shared/resolution/hypothetical-resource.ts";
import type { ComparedObject } from "../shared/resolution/impact.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { faultyIdentities, faultyIdentityLines, faultySelectorLines, faultySelectors } from "./input/faulty-objects.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "./io.ts";
import { coverageWithoutTemplates, isIncomplete, writeCoverage } from "./output/coverage.ts";
import { mapWithProgress } from "./output/progress.ts";
import { isUnreadable, readState, type State } from "./input/state.ts";
import {
  explanationLines, resolutionTable, type ResolvedResource, type ResourceName, tableFormat,
} from "./output/resolution-table.ts";
import { painter } from "./output/terminal.ts";

/** An ACK resource, or an object that refers to a CAPA identity. */
type Query = ResourceQuery | Referrer;

/** Prints the role of each resource. If any input is unreadable, prints only the faults of the input. */
export async function runResolve(settings: SettingsFor<"resolve">, io: IO): Promise<ExitStatus> {
  const state = await readState(settings, io, { stdinCommand: "resolve -" });
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const { inventory } = state;
  const resolved = mapWithProgress(queriesOf(state, settings), io, "resources resolved", (query) => {
    const resolution = resolveOne(query, inventory, decisionSettings(settings));
    if (!settings.explain || refersToIdentity(query)) return resolution;
    return { ...resolution, explanation: explain(inventory, query) };
  });
  const faulty = faultySelectors(inventory, state.origin);
  const identities = faultyIdentities(state, decisionSettings(settings));
  const paint = painter(io.stdout, io.environment);
  if (settings.output === "json") writeJSON(io, resolved);
  else if (resolved.length === 0) writeLines(io.stderr, [NO_RESOURCES]);
  else if (settings.explain) writeLines(io.stdout, explanationLines(resolved, paint));
  else writeLines(io.stdout, resolutionTable(resolved, tableFormat(settings.output, io), paint));
  writeLines(io.stderr, [
    ...versionWarnings(resolved, inventory),
    ...(settings.kind.length > 0 ? namespaceWarnings(settings.namespace, inventory) : []),
    ...faultySelectorLines(faulty),
    ...faultyIdentityLines(identities),
  ]);
  const hasUndecided = resolved.some(({ outcome }) => outcome === "conflict" || outcome === "refused");
  const isFaulty = identities.length > 0 || faulty.some(({ isRendered }) => isRendered);
  const coverage = coverageWithoutTemplates(state, state.unjudged);
  writeCoverage(coverage, io);
  const isFailed = isFaulty || hasUndecided || isIncomplete(coverage, settings.failOn);
  return isFailed ? EXIT.findings : EXIT.fine;
}

const NO_RESOURCES = "The input contains no ACK resource, and no object that refers to a Cluster API identity. "
  + "To resolve a resource that does not exist yet, set --kind, such as --kind Bucket.s3.services.k8s.aws.";

/** Returns the resources that --kind describes. Without --kind, returns every resource of the state. */
function queriesOf({ objects, inventory }: State, { kind, namespace, label }: SettingsFor<"resolve">): Query[] {
  if (kind.length > 0) return hypotheticalResources({ kinds: kind, namespace, labels: label }, inventory);
  return resourceQueries(objects.map(({ object }) => object), namespace);
}

/**
 * Returns every ACK resource and every object that refers to a CAPA identity, in input order. An object that sets no
 * namespace is in `defaultNamespace`.
 */
function resourceQueries(objects: readonly JsonObject[], defaultNamespace: string): Query[] {
  return objects.flatMap((object): Query[] => {
    const referrer = readReferrer(object, defaultNamespace);
    if (referrer !== null) return [referrer];
    return isACKGroup(objectReference(object).group) ? [queryOf(object, defaultNamespace)] : [];
  });
}

/** Resolves every resource in input order. A resource that sets no namespace is in the namespace `default`. */
export function resolveAll(
  objects: readonly JsonObject[], inventory: Inventory, settings: DecisionSettings,
): ResolvedResource[] {
  return resourceQueries(objects, "default").map((query) => resolveOne(query, inventory, settings));
}

function resolveOne(query: Query, inventory: Inventory, settings: DecisionSettings): ResolvedResource {
  return { resource: resourceName(query), ...resolveObject(inventory, query, settings) };
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
  if (inventory.namespaces.has(namespace) || !inventory.selectors.readsNamespaceLabels) return [];
  return [`warning: Namespace ${namespace} does not exist; selectors match it as if its only label were ${NAME_LABEL}`];
}
