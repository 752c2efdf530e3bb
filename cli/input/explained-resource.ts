import { resolve } from "../../shared/core/resolve.ts";
import type { Resolution } from "../../shared/core/resolution.ts";
import { createdIn, isResource } from "../../shared/core/ack-resource.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { apiVersionOf } from "../../shared/formats/object-meta.ts";
import type { Inventory, RoleObject } from "../../shared/core/inventory.ts";
import type { ChosenSession } from "../../shared/core/session.ts";
import { explain, explainNearest } from "../../shared/diagnosis/explain.ts";
import type { Explanation } from "../output/explanation.ts";
import type { ResolvedResource } from "../output/resolution-table.ts";
import type { Adviser } from "./advice.ts";
import type { StateObject } from "./state.ts";

interface ExplainContext {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly adviser: Adviser;
  /** Whether to explain every selector, instead of those that select the resource or nearly do. */
  readonly isComplete: boolean;
}

/** Returns the role of a resource, why it has this role, the session that its controller gets, and what to do. */
export function explainResource(
  query: RoleObject, found: StateObject, context: ExplainContext,
): ResolvedResource & Explanation & { readonly omitted: number } {
  const { inventory, settings, adviser, isComplete } = context;
  const resolution = resolve(inventory, query, settings);
  const isBySelectors = isResource(query) && settings.mode === "selectors";
  const { nearest, omitted } = !isBySelectors ? { nearest: [], omitted: 0 }
    : isComplete ? { nearest: explain(inventory, query), omitted: 0 } : explainNearest(inventory, query);
  const { kind, namespace, name } = query;
  return {
    resource: { apiVersion: apiVersionOf(query), kind, namespace, name }, ...resolution,
    omitted, ...(isBySelectors && { explanation: nearest }),
    existsIn: createdIn(found.object), session: sessionText(query, resolution, context), reported: [],
    advice: adviser.adviceOf({ found, resolution, explanation: nearest }),
  };
}

/** Returns an object like the one that --kind describes, whose name is valid. */
export function hypotheticalObject(query: RoleObject): StateObject {
  const { kind, namespace } = query;
  const labels = isResource(query) ? { labels: Object.fromEntries(query.labels) } : {};
  const metadata = { name: query.name ?? "name", namespace, ...labels };
  return { object: { apiVersion: apiVersionOf(query), kind, metadata }, file: null, lineOf: () => null };
}

/** Describes the session without the external ID, which is a secret. Null if no role is assumed. */
function sessionText(
  query: RoleObject, resolution: Resolution, { inventory, settings }: ExplainContext,
): string | null {
  if (resolution.outcome !== "selected") return null;
  const chosen = inventory.sourceOf(query, settings).sessionOf?.(resolution, inventory) ?? null;
  return chosen === null ? null : settingsText(chosen);
}

function settingsText({ settings, defaultName }: ChosenSession): string {
  const { sessionName, externalID, sourceIdentity = null, tags, durationSeconds } = settings;
  return [
    sessionName === null ? defaultName : `name ${sessionName}`,
    ...(externalID === null ? [] : ["an external ID"]),
    ...(sourceIdentity === null ? [] : [`source identity ${sourceIdentity}`]),
    ...(tags.length === 0 ? [] : [`tags ${tags.map(({ key, value }) => `${key}=${value}`).join(" ")}`]),
    ...(durationSeconds === null ? [] : [`${durationSeconds} s`]),
  ].join(", ");
}
