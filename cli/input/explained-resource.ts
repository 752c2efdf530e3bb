import { NOTICE } from "../../shared/ack/adoption.ts";
import { isResource } from "../../shared/core/ack-resource.ts";
import { isSelector } from "../../shared/core/ack-groups.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import type { RoleObject } from "../../shared/core/inventory.ts";
import type { ChosenSession } from "../../shared/core/session.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import { type Cause, diagnose, type DiagnosisContext } from "../../shared/diagnosis/diagnosis.ts";
import { explain } from "../../shared/diagnosis/explain.ts";
import { apiVersionOf, objectReference } from "../../shared/formats/object-meta.ts";
import { listOf } from "../../shared/formats/text.ts";
import { RelatedObjects } from "../../shared/diagnosis/related.ts";
import { editingWays, type Way } from "../output/editing.ts";
import type { ExplainedCause, Explanation } from "../output/explanation.ts";
import { locator } from "../output/located-finding.ts";
import type { ResolvedResource } from "../output/resolution-table.ts";
import type { State, StateObject } from "./state.ts";

interface ExplainContext extends DiagnosisContext<StateObject> {
  /** Whether to explain every selector, instead of those that select the resource or nearly do. */
  readonly isComplete: boolean;
  readonly locate: ReturnType<typeof locator>;
}

/** Returns what explanations of resources read. */
export function explainContext(
  { inventory, origin, objects, controllers }: State, settings: DecisionSettings,
  { isWhole, isComplete }: Pick<ExplainContext, "isWhole" | "isComplete">,
): ExplainContext {
  const related = new RelatedObjects(objects, controllers);
  return { inventory, settings, origin, related, isWhole, isComplete, locate: locator("json", objects) };
}

/** Returns the role of a resource, why it has this role, the session that its controller gets, and what to do. */
export function explainResource(
  query: RoleObject, found: StateObject, context: ExplainContext,
): ResolvedResource & Explanation & { readonly omitted: number } {
  const { inventory, isComplete } = context;
  const { explained, session, causes, existsIn, nearMisses, ...resolution } = diagnose(query, found, context);
  const explanation = explained === null || !isComplete || !isResource(query)
    ? explained?.nearest : explain(inventory, query);
  const { kind, namespace, name } = query;
  return {
    resource: { apiVersion: apiVersionOf(query), kind, namespace, name }, ...resolution,
    omitted: isComplete ? 0 : explained?.omitted ?? 0, ...(explanation !== undefined && { explanation }),
    nearMisses: nearMisses.map(({ selector, reason, message }) => ({ selector, reason, message })),
    existsIn, session: session === null ? null : settingsText(session), reported: [],
    causes: causes.map((cause) => explainedCause(cause, found, context)),
  };
}

function explainedCause(
  cause: Cause<StateObject>, found: StateObject, { inventory, locate, related }: ExplainContext,
): ExplainedCause {
  const { found: one, finding } = cause;
  const located = locate(finding, one);
  const repairs = located.repairs ?? [];
  const ways = repairs.flatMap(({ when, commands }, i) => commands.map((command, step): Way => {
    const choice = repairs.length === 1 ? unsaid(when, finding.fix) : when;
    return { when: step > 0 ? "then, if that succeeded" : i > 0 && choice !== null ? `or ${choice}` : choice, command };
  }));
  const isIgnored = isSelector(one.object) && inventory.of(SELECTORS).malformed.has(objectReference(one.object).name);
  const restarts = finding.fix.endsWith(NOTICE) ? restartsOf(one, related) : [];
  return {
    ...located, isOfResource: one === found,
    ways: ways.length + restarts.length > 0 ? [...ways, ...restarts] : editingWays(cause, isIgnored),
  };
}

/** Returns when to choose a repair, without what the fix says; null if nothing is left. */
function unsaid(when: string | null, fix: string): string | null {
  const left = when?.split("; ").filter((clause) => !fix.includes(clause)) ?? [];
  return left.length === 0 ? null : left.join("; ");
}

const RESTART = "then restart the controller, for the resources of all teams";

/** Returns how the controllers of a resource notice an annotation, which does not change its generation. */
function restartsOf({ object, file }: StateObject, related: RelatedObjects<StateObject>): readonly Way[] {
  const controllers = file === null ? related.ofControllers(object).map((one) => objectReference(one.object)) : [];
  return controllers.filter(({ kind }) => kind === "Deployment").map(({ namespace, name }) => (
    { when: RESTART, command: `kubectl rollout restart deployment/${name} -n ${namespace}` }
  ));
}

/** Returns an object like the one that --kind describes, whose name is valid. */
export function hypotheticalObject(query: RoleObject): StateObject {
  const { kind, namespace } = query;
  const labels = isResource(query) ? { labels: Object.fromEntries(query.labels) } : {};
  const metadata = { name: query.name ?? "name", namespace, ...labels };
  return { object: { apiVersion: apiVersionOf(query), kind, metadata }, file: null, lineOf: () => null };
}

/** Describes the session without the external ID, which is a secret. */
function settingsText({ settings, defaultName }: ChosenSession): string {
  const { sessionName, externalID, sourceIdentity = null, tags, durationSeconds } = settings;
  return [
    sessionName === null ? defaultName : `name ${sessionName}`,
    ...(externalID === null ? [] : ["an external ID"]),
    ...(sourceIdentity === null ? [] : [`source identity ${sourceIdentity}`]),
    ...(tags.length === 0 ? [] : [`tags ${tags.map(({ key, value }) => `${key}=${value}`).join(" ")}`]),
    ...(durationSeconds === null ? [] : [`${durationSeconds} s`]),
    ...policyTexts(settings),
  ].join(", ");
}

function policyTexts({ policy = null, policyARNs = [], scope = null }: ChosenSession["settings"]): readonly string[] {
  const names = [...(policy === null ? [] : ["its session policy"]), ...policyARNs];
  return [
    ...(names.length === 0 ? [] : [`at most what one of these allows: ${listOf(names)}`]),
    ...(scope === null ? [] : [`session scope ${scope}`]),
  ];
}
