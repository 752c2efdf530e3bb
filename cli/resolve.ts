import { USE_SELECTOR_ANNOTATION } from "../shared/decisions/annotation-keys.ts";
import { decisionSettings, type DecisionSettings } from "../shared/decisions/context.ts";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import { queryOf, type ResourceQuery } from "../shared/decisions/kubernetes/ack-resource.ts";
import { parseRoleARN } from "../shared/decisions/kubernetes/arn.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { isACKGroup } from "../shared/decisions/kubernetes/kinds.ts";
import { NAME_LABEL } from "../shared/decisions/kubernetes/names.ts";
import { apiVersionOf, objectReference } from "../shared/decisions/kubernetes/object-meta.ts";
import { printable } from "../shared/decisions/kubernetes/text.ts";
import { explain, partText, type SelectorExplanation } from "../shared/decisions/resolution/explain.ts";
import { hypotheticalResources } from "../shared/decisions/resolution/hypothetical-resource.ts";
import { type Resolution, resolve } from "../shared/decisions/resolution/resolve.ts";
import type { SettingsFor } from "../shared/decisions/settings.ts";
import { faultySelectorLines, faultySelectors } from "./input/faulty-selectors.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { mapWithProgress } from "./output/progress.ts";
import { isUnreadable, readState, type State } from "./input/state.ts";
import { formatTable, type Paint, painter, widthOf } from "./output/terminal.ts";

/** A resource and its resolution, in the format of `resolve -o json`. */
interface ResolvedResource extends Resolution {
  readonly resource: ResourceName;
  /** The explanation of every selector, sorted by name. The field is present only with --explain. */
  readonly explanation?: readonly SelectorExplanation[];
}

type ResourceName = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  /** The name of the resource; null for the hypothetical resource that --kind describes. */
  readonly name: string | null;
};

/** Prints the role of each resource. If any input is unreadable, prints only the faults of the input. */
export async function runResolve(settings: SettingsFor<"resolve">, io: IO): Promise<ExitStatus> {
  const state = await readState(settings, io, { stdinCommand: "resolve -" });
  if (isUnreadable(state.faults, io)) return EXIT.usage;
  const { inventory } = state;
  const resolved = mapWithProgress(queriesOf(state, settings), io, "resources resolved", (query) => {
    const resolution = resolveOne(query, inventory, decisionSettings(settings));
    return settings.explain ? { ...resolution, explanation: explain(inventory, query) } : resolution;
  });
  const faulty = faultySelectors(inventory, state.origin);
  const paint = painter(io.stdout, io.environment);
  if (settings.output === "json") io.stdout.write(`${JSON.stringify(resolved, null, 2)}\n`);
  else if (resolved.length === 0) writeLines(io.stderr, [NO_RESOURCES]);
  else if (settings.explain) writeLines(io.stdout, explanationLines(resolved, paint));
  else writeLines(io.stdout, resolutionTable(resolved, tableFormat(settings.output, io), paint));
  writeLines(io.stderr, [
    ...versionWarnings(resolved, inventory),
    ...(settings.kind.length > 0 ? namespaceWarnings(settings.namespace, inventory) : []),
    ...faultySelectorLines(faulty),
  ]);
  const hasUndecided = resolved.some(({ outcome }) => outcome === "conflict" || outcome === "refused");
  return faulty.some(({ isRendered }) => isRendered) || hasUndecided ? EXIT.findings : EXIT.fine;
}

const NO_RESOURCES = "The input contains no ACK resource. "
  + "To resolve a resource that does not exist yet, set --kind, such as --kind Bucket.s3.services.k8s.aws.";

/** Returns the resources that --kind describes. Without --kind, returns every ACK resource of the state. */
function queriesOf({ objects, inventory }: State, { kind, namespace, label }: SettingsFor<"resolve">): ResourceQuery[] {
  if (kind.length > 0) return hypotheticalResources({ kinds: kind, namespace, labels: label }, inventory);
  return resourceQueries(objects.map(({ object }) => object), namespace);
}

/** Returns every ACK resource in input order. A resource that sets no namespace is in `defaultNamespace`. */
function resourceQueries(objects: readonly JsonObject[], defaultNamespace: string): ResourceQuery[] {
  const resources = objects.filter((object) => isACKGroup(objectReference(object).group));
  return resources.map((object) => queryOf(object, defaultNamespace));
}

/** Resolves every ACK resource in input order. A resource that sets no namespace is in the namespace `default`. */
export function resolveAll(
  objects: readonly JsonObject[], inventory: Inventory, settings: DecisionSettings,
): ResolvedResource[] {
  return resourceQueries(objects, "default").map((query) => resolveOne(query, inventory, settings));
}

function resolveOne(query: ResourceQuery, inventory: Inventory, settings: DecisionSettings): ResolvedResource {
  return { resource: resourceName(query), ...resolve(inventory, query, settings) };
}

/** Returns the fields that identify a resource in JSON output. */
export function resourceName(query: ResourceQuery): ResourceName {
  return { apiVersion: apiVersionOf(query), kind: query.kind, namespace: query.namespace, name: query.name };
}

/** Returns a warning for each kind that has several served versions. Selectors match only the stored version. */
function versionWarnings(resolved: readonly ResolvedResource[], inventory: Inventory): string[] {
  const kinds = new Map(resolved.map(({ resource }) => (
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

const TABLE_HEADER = ["NAMESPACE", "RESOURCE", "OUTCOME", "ROLE OR REASON"];
const WIDE_TABLE_HEADER = ["NAMESPACE", "RESOURCE", "OUTCOME", "SELECTORS", "ROLE", "REGION"];

/** The format of a table: `-o wide` has more columns and no maximum width. */
export interface TableFormat {
  readonly isWide: boolean;
  readonly width: number;
  readonly firstDetail: number;
}

/** Returns the table format for `-o text` or `-o wide`. */
export function tableFormat(output: "text" | "wide", { stdout, environment }: IO): TableFormat {
  const isWide = output === "wide";
  return { isWide, width: isWide ? Infinity : widthOf(stdout, environment), firstDetail: 3 };
}

const OUTCOME_STYLE = { selected: "green", default: "yellow", conflict: "red", refused: "red" } as const;

/** Returns the lines of a table that has a row for each resource. A hypothetical resource has no name. */
export function resolutionTable(resolved: readonly ResolvedResource[], format: TableFormat, paint: Paint): string[] {
  const rows = resolved.map((one) => [
    one.resource.namespace,
    one.resource.name === null ? one.resource.kind : `${one.resource.kind}/${one.resource.name}`,
    one.outcome,
    ...(format.isWide ? wideCells(one) : [roleOrReason(one)]),
  ]);
  const [headerLine = "", ...lines] = formatTable([format.isWide ? WIDE_TABLE_HEADER : TABLE_HEADER, ...rows], format);
  const colored = lines.map((line, i) => {
    const outcome = resolved[i]?.outcome ?? "refused";
    return line.replace(`  ${outcome}`, `  ${paint(OUTCOME_STYLE[outcome], outcome)}`);
  });
  return [paint("bold", headerLine), ...colored];
}

function wideCells({ outcome, selectors, roleARN, region }: Resolution): string[] {
  const role = roleARN ?? (outcome === "default" ? OWN_ROLE : "-");
  return [selectors.map(({ name }) => name).join(", ") || "-", role, region?.value ?? "-"];
}

const OWN_ROLE = "the controller's own";

/** Returns the short name of the role. Without a role, returns the selectors in conflict, or the error code. */
export function roleOrReason({ outcome, selectors, roleARN, code }: Resolution): string {
  if (outcome === "default") return OWN_ROLE;
  if (outcome === "conflict") return selectors.map(({ name }) => name).join(", ");
  return roleARN === null ? (code ?? "-") : shortRole(roleARN);
}

/**
 * Returns ACCOUNT/NAME for the ARN of a role, and any other text unchanged. Omits the path of the role, because the
 * name of a role is unique in its account (https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html).
 */
function shortRole(roleARN: string): string {
  const arn = parseRoleARN(roleARN);
  return arn === null ? roleARN : `${arn.accountID}/${arn.resource.split("/").at(-1) ?? ""}`;
}

/** Returns the resolution and the selectors of each resource. Selectors that select the resource come first. */
function explanationLines(resolved: readonly ResolvedResource[], paint: Paint): string[] {
  return resolved.flatMap(({ resource, outcome, message, explanation = [] }, i) => {
    const name = `${resource.kind} ${resource.namespace}${resource.name === null ? "" : `/${resource.name}`}`;
    const sorted = explanation.toSorted((a, b) => Number(b.selects) - Number(a.selects));
    return [
      ...(i === 0 ? [] : [""]),
      `${paint("bold", printable(name))}: ${paint(OUTCOME_STYLE[outcome], outcome)}`,
      `  ${printable(message)}`,
      ...(explanation.length === 0 ? ["  No IAMRoleSelector exists."] : []),
      ...sorted.flatMap((one) => selectorLines(one, paint)),
    ];
  });
}

const NOT_CHOSEN = `, but ${USE_SELECTOR_ANNOTATION} does not name it`;

function selectorLines(explanation: SelectorExplanation, paint: Paint): string[] {
  const { selector, selects, chosen, malformed, parts, message } = explanation;
  const verdict = selects ? paint("green", "selects the resource") : "does not select the resource";
  const head = `  ${printable(selector)}: ${verdict}${selects && chosen === false ? NOT_CHOSEN : ""}`;
  if (malformed || parts.length === 0) return [head, `    ${printable(message)}`];
  const verdictOf = (holds: boolean): string => (holds ? paint("green", "yes") : paint("yellow", "no "));
  return [head, ...parts.map((part) => `    ${verdictOf(part.holds)} ${partText(part)}`)];
}
