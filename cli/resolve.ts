import { findingLine } from "../shared/decisions/checks/judge.ts";
import { isACKGroup, queryOf, type ResourceQuery } from "../shared/decisions/ack-resource.ts";
import { compareText } from "../shared/decisions/finding.ts";
import { Inventory } from "../shared/decisions/inventory.ts";
import type { JsonObject } from "../shared/decisions/json.ts";
import { apiVersionOf, objectMeta } from "../shared/decisions/object-meta.ts";
import { type Resolution, resolve } from "../shared/decisions/resolve.ts";
import { decisionSettings, type SettingsFor } from "../shared/decisions/settings.ts";
import { readInput, reportFaults } from "./input.ts";
import { EXIT, type ExitStatus, type IO } from "./io.ts";
import { painter } from "./paint.ts";
import { formatTable } from "./table.ts";

/** A resource and its resolution, in the shape of `-o json`. */
export interface ResolvedResource extends Resolution {
  readonly resource: { readonly apiVersion: string; readonly kind: string; readonly namespace: string; readonly name: string | null };
}

/** Prints nothing but the faults when anything could not be read: half a picture of roles is a wrong one. */
export async function runResolve(settings: SettingsFor<"resolve">, io: IO): Promise<ExitStatus> {
  const { manifests, faults } = await readInput(settings.from, io);
  if (faults.length > 0) {
    reportFaults(faults, io);
    return EXIT.usage;
  }
  const objects = manifests.map(({ object }) => object);
  const inventory = inventoryOf(objects, settings.runtime);
  const resolved = resolveAll(objects, inventory, settings);
  if (settings.output === "json") io.stdout.write(`${JSON.stringify(resolved, null, 2)}\n`);
  else printText(resolved, io);
  warnOfVersions(resolved, inventory, io);
  const faulty = reportSelectors(inventory, io);
  const undecided = resolved.some(({ outcome }) => outcome === "conflict" || outcome === "refused");
  return faulty || undecided ? EXIT.findings : EXIT.fine;
}

export function inventoryOf(objects: readonly JsonObject[], runtime: "ack" | "extended"): Inventory {
  const inventory = new Inventory({ runtime, origin: "file" });
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  return inventory;
}

/** Every ACK resource among `objects`, in their order. */
export function resolveAll(objects: readonly JsonObject[], inventory: Inventory, settings: SettingsFor<"resolve">): ResolvedResource[] {
  const decisive = decisionSettings(settings);
  const queries = objects.filter((object) => isACKGroup(objectMeta(object).group)).map((object) => queryOf(object, settings.namespace));
  return queries.map((query) => ({ resource: resourceOf(query), ...resolve(inventory, query, decisive) }));
}

function resourceOf(query: ResourceQuery): ResolvedResource["resource"] {
  return { apiVersion: apiVersionOf(query), kind: query.kind, namespace: query.namespace, name: query.name };
}

const OUTCOME_STYLE = { selected: "green", default: "yellow", conflict: "red", refused: "red" } as const;

function printText(resolved: readonly ResolvedResource[], io: IO): void {
  const paint = painter(io.stdout, io.environment);
  const rows = resolved.map(({ resource, outcome, roleARN, region, selectors }) => [
    resource.namespace, `${resource.kind}/${resource.name ?? ""}`, outcome, selectors.map(({ name }) => name).join(", ") || "-",
    roleARN ?? (outcome === "default" ? "the controller's own" : "-"), region?.value ?? "-",
  ]);
  const [head = "", ...lines] = formatTable([["NAMESPACE", "RESOURCE", "OUTCOME", "SELECTORS", "ROLE", "REGION"], ...rows]);
  io.stdout.write(`${paint("bold", head)}\n`);
  for (const [i, line] of lines.entries()) {
    const outcome = resolved[i]?.outcome ?? "refused";
    io.stdout.write(`${line.replace(`  ${outcome}`, `  ${paint(OUTCOME_STYLE[outcome], outcome)}`)}\n`);
  }
}

/** Reports the selectors that take no part, and those that the webhook would refuse; says whether there are any. */
function reportSelectors(inventory: Inventory, io: IO): boolean {
  for (const [name, { faults }] of [...inventory.faulty].toSorted(([a], [b]) => compareText(a, b))) {
    const effect = inventory.malformed.has(name) ? "is malformed and takes no part" : "takes part, but the webhook would refuse it";
    io.stderr.write(`IAMRoleSelector ${name} ${effect}:\n`);
    for (const { check, fault } of faults) {
      if (check.severity === "deny" && !check.waivable) io.stderr.write(`  ${findingLine({ code: check.id, fix: check.fix, ...fault })}\n`);
    }
  }
  return inventory.faulty.size > 0;
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
