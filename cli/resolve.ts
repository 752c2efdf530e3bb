import { isACKGroup, queryOf, type ResourceQuery } from "../shared/decisions/ack-resource.ts";
import { Inventory } from "../shared/decisions/inventory.ts";
import type { JsonObject } from "../shared/decisions/json.ts";
import { apiVersionOf, objectMeta } from "../shared/decisions/object-meta.ts";
import { type Resolution, resolve } from "../shared/decisions/resolve.ts";
import { type DecisionSettings, decisionSettings, type SettingsFor } from "../shared/decisions/settings.ts";
import { readInput, reportFaults } from "./input.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "./io.ts";
import { painter } from "./paint.ts";
import { faultySelectorLines, resolutionTable } from "./resolve-text.ts";

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
  const resolved = resolveAll(objects, inventory, decisionSettings(settings), settings.namespace);
  if (settings.output === "json") io.stdout.write(`${JSON.stringify(resolved, null, 2)}\n`);
  else writeLines(io.stdout, resolutionTable(resolved, painter(io.stdout, io.environment)));
  warnOfVersions(resolved, inventory, io);
  writeLines(io.stderr, faultySelectorLines(inventory));
  const undecided = resolved.some(({ outcome }) => outcome === "conflict" || outcome === "refused");
  return inventory.faulty.size > 0 || undecided ? EXIT.findings : EXIT.fine;
}

export function inventoryOf(objects: readonly JsonObject[], runtime: "ack" | "extended"): Inventory {
  const inventory = new Inventory({ runtime, origin: "file" });
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  return inventory;
}

/** Every ACK resource among `objects`, in their order; one without a namespace is in `defaultNamespace`. */
export function resolveAll(objects: readonly JsonObject[], inventory: Inventory, settings: DecisionSettings, defaultNamespace: string): ResolvedResource[] {
  const queries = objects.filter((object) => isACKGroup(objectMeta(object).group)).map((object) => queryOf(object, defaultNamespace));
  return queries.map((query) => ({ resource: resourceOf(query), ...resolve(inventory, query, settings) }));
}

function resourceOf(query: ResourceQuery): ResolvedResource["resource"] {
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
