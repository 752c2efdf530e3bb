import { resolve } from "../../shared/core/resolve.ts";
import type { Resolution } from "../../shared/core/resolution.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import { IDENTITIES } from "../../shared/capa/identities.ts";
import { type ResourceQuery, statusOf } from "../../shared/core/ack-resource.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { apiVersionOf } from "../../shared/formats/object-meta.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { type Referrer, refersToIdentity } from "../../shared/capa/referrer.ts";
import type { RoleIdentity } from "../../shared/capa/identity.ts";
import type { SessionExtras } from "../../shared/core/session.ts";
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
  query: ResourceQuery | Referrer, found: StateObject, { inventory, settings, adviser, isComplete }: ExplainContext,
): ResolvedResource & Explanation & { readonly omitted: number } {
  const resolution = resolve(inventory, query, settings);
  const isBySelectors = !refersToIdentity(query) && settings.mode === "selectors";
  const { nearest, omitted } = !isBySelectors ? { nearest: [], omitted: 0 }
    : isComplete ? { nearest: explain(inventory, query), omitted: 0 } : explainNearest(inventory, query);
  const { kind, namespace, name } = query;
  return {
    resource: { apiVersion: apiVersionOf(query), kind, namespace, name }, ...resolution,
    omitted, ...(isBySelectors && { explanation: nearest }),
    existsIn: statusOf(found.object).ownerAccountID, session: sessionText(resolution, inventory), reported: [],
    advice: adviser.adviceOf({ found, resolution, explanation: nearest }),
  };
}

/** Returns an object like the one that --kind describes, whose name is valid. */
export function hypotheticalObject(query: ResourceQuery | Referrer): StateObject {
  const { kind, namespace } = query;
  const labels = refersToIdentity(query) ? {} : { labels: Object.fromEntries(query.labels) };
  const metadata = { name: query.name ?? "name", namespace, ...labels };
  return { object: { apiVersion: apiVersionOf(query), kind, metadata }, file: null, lineOf: () => null };
}

const OF_SIDECAR = "default name";
const OF_CAPA = "name that CAPA chooses";

/** Describes the session without the external ID, which is a secret. Null if no role is assumed. */
function sessionText({ selectors, chain, outcome }: Resolution, inventory: Inventory): string | null {
  if (outcome !== "selected") return null;
  const [link] = chain ?? [];
  const identity = link === undefined ? null : inventory.of(IDENTITIES).get(link, "");
  if (identity !== null) return "externalID" in identity ? settingsText(identity, OF_CAPA) : null;
  const selector = inventory.of(SELECTORS).get(selectors[0]?.name ?? "");
  return selector === undefined ? null : settingsText(selector.extras, OF_SIDECAR);
}

type Settings = Pick<RoleIdentity, "sessionName" | "externalID" | "tags" | "durationSeconds">
  & Partial<Pick<SessionExtras, "sourceIdentity">>;

function settingsText(settings: Settings, defaultName: string): string {
  const { sessionName, externalID, sourceIdentity = null, tags, durationSeconds } = settings;
  return [
    sessionName === null ? defaultName : `name ${sessionName}`,
    ...(externalID === null ? [] : ["an external ID"]),
    ...(sourceIdentity === null ? [] : [`source identity ${sourceIdentity}`]),
    ...(tags.length === 0 ? [] : [`tags ${tags.map(({ key, value }) => `${key}=${value}`).join(" ")}`]),
    ...(durationSeconds === null ? [] : [`${durationSeconds} s`]),
  ].join(", ");
}
