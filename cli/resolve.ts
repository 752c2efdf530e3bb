import { findingLine } from "../shared/decisions/checks/finding.ts";
import { decisionSettings, type DecisionSettings } from "../shared/decisions/context.ts";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import { queryOf, type ResourceQuery } from "../shared/decisions/kubernetes/ack-resource.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { isACKGroup } from "../shared/decisions/kubernetes/kinds.ts";
import { apiVersionOf, objectMeta } from "../shared/decisions/kubernetes/object-meta.ts";
import { compareText, printable } from "../shared/decisions/kubernetes/text.ts";
import { explain, partText, type SelectorExplanation } from "../shared/decisions/resolution/explain.ts";
import { hypotheticalResources } from "../shared/decisions/resolution/hypothetical-resource.ts";
import { type Resolution, resolve } from "../shared/decisions/resolution/resolve.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { isUnreadable, readState, type State } from "./state.ts";
import { formatTable, type Paint, painter } from "./terminal.ts";

/** A resource and its resolution, in the shape of `-o json`. */
export interface ResolvedResource extends Resolution {
  /** `name` is null of one that is only asked for. */
  readonly resource: { readonly apiVersion: string; readonly kind: string; readonly namespace: string; readonly name: string | null };
  /** With `--explain`: every selector there is, sorted by name. */
  readonly explanation?: readonly SelectorExplanation[];
}

/** Prints nothing but the faults when anything could not be read: half a picture of roles is a wrong one. */
export async function runResolve(settings: SettingsFor<"resolve">, io: IO): Promise<ExitStatus> {
  const state = await readState(settings, io);
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const { inventory } = state;
  const resolved = queriesOf(state, settings).map((query) => {
    const one = resolveOne(query, inventory, decisionSettings(settings));
    return settings.explain ? { ...one, explanation: explain(inventory, query) } : one;
  });
  const paint = painter(io.stdout, io.environment);
  if (settings.output === "json") io.stdout.write(`${JSON.stringify(resolved, null, 2)}\n`);
  else writeLines(io.stdout, settings.explain ? explanationLines(resolved, paint) : resolutionTable(resolved, paint));
  warnOfVersions(resolved, inventory, io);
  if (settings.kind.length > 0) warnOfNamespace(settings.namespace, inventory, io);
  writeLines(io.stderr, faultySelectorLines(inventory));
  const undecided = resolved.some(({ outcome }) => outcome === "conflict" || outcome === "refused");
  return inventory.faulty.size > 0 || undecided ? EXIT.findings : EXIT.fine;
}

/** What is asked for with `--kind`, else every resource that is there. */
function queriesOf({ objects, inventory }: State, { kind, namespace, label }: SettingsFor<"resolve">): ResourceQuery[] {
  if (kind.length > 0) return hypotheticalResources({ kinds: kind, namespace, labels: label }, inventory);
  return resourceQueries(objects.map(({ object }) => object), namespace);
}

/** Every ACK resource among `objects`, in their order; one without a namespace is in `defaultNamespace`. */
function resourceQueries(objects: readonly JsonObject[], defaultNamespace: string): ResourceQuery[] {
  return objects.filter((object) => isACKGroup(objectMeta(object).group)).map((object) => queryOf(object, defaultNamespace));
}

/** Resolves every ACK resource among `objects`, in their order. */
export function resolveAll(objects: readonly JsonObject[], inventory: Inventory, settings: DecisionSettings, defaultNamespace: string): ResolvedResource[] {
  return resourceQueries(objects, defaultNamespace).map((query) => resolveOne(query, inventory, settings));
}

function resolveOne(query: ResourceQuery, inventory: Inventory, settings: DecisionSettings): ResolvedResource {
  return { resource: resourceName(query), ...resolve(inventory, query, settings) };
}

export function resourceName(query: ResourceQuery): ResolvedResource["resource"] {
  return { apiVersion: apiVersionOf(query), kind: query.kind, namespace: query.namespace, name: query.name };
}

/** Controllers compare the stored version; where several are served, a selector on another one selects nothing. */
function warnOfVersions(resolved: readonly ResolvedResource[], inventory: Inventory, io: IO): void {
  const kinds = new Map(resolved.map(({ resource }) => [`${resource.kind}.${objectMeta(resource).group}`, resource]));
  for (const [kind, resource] of kinds) {
    const versions = inventory.kindVersions(objectMeta(resource).group, resource.kind);
    if (versions === null || versions.served.length < 2) continue;
    io.stderr.write(`warning: ${kind} is served as ${versions.served.join(", ")}; selectors are compared with ${versions.storage}, the stored version\n`);
  }
}

/** Of a namespace that is not there nothing is known but its name. */
function warnOfNamespace(namespace: string, inventory: Inventory, io: IO): void {
  if (inventory.hasNamespace(namespace) || !inventory.readsNamespaceLabels) return;
  io.stderr.write(`warning: Namespace ${namespace} is not known, so selectors that look at its labels see its name alone\n`);
}

const OUTCOME_STYLE = { selected: "green", default: "yellow", conflict: "red", refused: "red" } as const;

/** A row a resource, as lines. One that is only asked for has no name. */
export function resolutionTable(resolved: readonly ResolvedResource[], paint: Paint): string[] {
  const rows = resolved.map(({ resource, outcome, roleARN, region, selectors }) => [
    resource.namespace, resource.name === null ? resource.kind : `${resource.kind}/${resource.name}`, outcome, selectors.map(({ name }) => name).join(", ") || "-",
    roleARN ?? (outcome === "default" ? "the controller's own" : "-"), region?.value ?? "-",
  ]);
  const [head = "", ...lines] = formatTable([["NAMESPACE", "RESOURCE", "OUTCOME", "SELECTORS", "ROLE", "REGION"], ...rows]);
  const painted = lines.map((line, i) => {
    const outcome = resolved[i]?.outcome ?? "refused";
    return line.replace(`  ${outcome}`, `  ${paint(OUTCOME_STYLE[outcome], outcome)}`);
  });
  return [paint("bold", head), ...painted];
}

/** A block a resource: how it resolves, then each selector, first those that select it, with every part of what they want. */
export function explanationLines(resolved: readonly ResolvedResource[], paint: Paint): string[] {
  return resolved.flatMap(({ resource, outcome, message, explanation = [] }, i) => [
    ...(i === 0 ? [] : [""]),
    `${paint("bold", printable(`${resource.kind} ${resource.namespace}${resource.name === null ? "" : `/${resource.name}`}`))}: ${paint(OUTCOME_STYLE[outcome], outcome)}`,
    `  ${printable(message)}`,
    ...(explanation.length === 0 ? ["  There is no IAMRoleSelector."] : []),
    ...explanation.toSorted((a, b) => Number(b.selects) - Number(a.selects)).flatMap((one) => selectorLines(one, paint)),
  ]);
}

function selectorLines({ selector, selects, malformed, parts, message }: SelectorExplanation, paint: Paint): string[] {
  const head = `  ${printable(selector)}: ${selects ? paint("green", "selects it") : "does not select it"}`;
  if (malformed || parts.length === 0) return [head, `    ${printable(message)}`];
  return [head, ...parts.map((one) => `    ${one.holds ? paint("green", "yes") : paint("yellow", "no ")} ${partText(one)}`)];
}

/** The selectors that take no part, and those that the webhook would refuse, with what is wrong and how to mend it. */
export function faultySelectorLines(inventory: Inventory): string[] {
  const sorted = [...inventory.faulty].toSorted(([a], [b]) => compareText(a, b));
  return sorted.flatMap(([name, { faults }]) => {
    const effect = inventory.malformed.has(name) ? "is malformed and takes no part" : "takes part, but no session is granted on it, and the webhook would refuse it";
    const denied = faults.filter(({ check }) => check.severity === "deny" && !check.waivable);
    return [
      `IAMRoleSelector ${printable(name)} ${effect}:`,
      ...denied.map(({ check, fault }) => `  ${findingLine({ code: check.id, path: fault.path, message: fault.message, fix: fault.fix ?? check.fix })}`),
    ];
  });
}
