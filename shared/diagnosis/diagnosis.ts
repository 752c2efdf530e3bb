import { deniedActions } from "../ack/denied-actions.ts";
import { existenceFindings } from "../ack/adoption.ts";
import { type NearMiss, nearMisses, selectingRepairs } from "../ack/near-misses.ts";
import { selectorName } from "../ack/selector-conditions.ts";
import { SELECTORS } from "../ack/selectors.ts";
import { SELECTOR_KIND } from "../core/ack-groups.ts";
import { defaultScope } from "../core/closures.ts";
import { createdIn, isResource, type ResourceQuery } from "../core/ack-resource.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import type { Finding } from "../core/check.ts";
import type { DecisionSettings, Origin } from "../core/context.ts";
import type { Inventory, RoleObject } from "../core/inventory.ts";
import { describeRepairs, remove, type Repair } from "../core/repair.ts";
import type { Resolution } from "../core/resolution.ts";
import { resolve } from "../core/resolve.ts";
import type { ChosenSession } from "../core/session.ts";
import { objectReference } from "../formats/object-meta.ts";
import { accountOfARN } from "../formats/arn.ts";
import { CATALOGUE } from "../judges.ts";
import { auditObject } from "./audit.ts";
import { explainNearest, type NearestSelectors, type SelectorExplanation } from "./explain.ts";
import { offeredRepairs } from "./offered-repairs.ts";
import type { Located } from "./object-changes.ts";
import type { RelatedObjects } from "./related.ts";

/** What is wrong with an object, which can be why a resource has its role, or why no controller acts on it. */
export interface Cause<T extends Located> {
  readonly found: T;
  /** Its repairs are those that the webhook would admit, and after which no other resource is worse off. */
  readonly finding: Finding;
  /** The objects of which a change can correct it, if only a person can know the change. The first is the best. */
  readonly toChange: readonly T[];
}

/** The story of one object: its role, why it has this role, and what to change. */
export interface Diagnosis<T extends Located> extends Resolution {
  /** The session that its controller gets; null if it assumes no role. */
  readonly session: ChosenSession | null;
  /** The account in which it exists in AWS; null if its status does not prove that it exists. */
  readonly existsIn: string | null;
  /** The selectors that select the object, and those that nearly do. Null if no selector decides about it. */
  readonly explained: NearestSelectors | null;
  /** The selectors that probably should select the object, although no selector does. */
  readonly nearMisses: readonly NearMiss[];
  /** What is wrong, the most likely cause first. All that denies has to be changed. */
  readonly causes: readonly Cause<T>[];
}

/** What a diagnosis reads beside the object. */
export interface DiagnosisContext<T extends Located> {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly origin: Origin;
  readonly related: RelatedObjects<T>;
  /** Whether the objects are all of the cluster or the manifests, so that the effects of repairs can be compared. */
  readonly isWhole: boolean;
}

const MAX_CAUSES = 3;

/** Returns the diagnosis of an object that has a role. `query` is the object as its source of roles reads it. */
export function diagnose<T extends Located>(
  query: RoleObject, found: T, context: DiagnosisContext<T>,
): Diagnosis<T> {
  const { inventory, settings } = context;
  const resolution = resolve(inventory, query, settings);
  const resource = isResource(query) && settings.mode === "selectors" ? query : null;
  const explained = resource === null ? null : explainNearest(inventory, resource);
  const misses = resource !== null && resolution.outcome === "default" ? nearMisses(inventory, resource) : [];
  return {
    ...resolution, explained, nearMisses: misses, existsIn: createdIn(found.object),
    session: sessionOf(query, resolution, context),
    causes: causesOf({ query, resource, found, resolution, misses, nearest: explained?.nearest ?? [] }, context),
  };
}

function sessionOf<T extends Located>(
  query: RoleObject, resolution: Resolution, { inventory, settings }: DiagnosisContext<T>,
): ChosenSession | null {
  if (resolution.outcome !== "selected") return null;
  return inventory.sourceOf(query, settings).sessionOf?.(resolution, inventory) ?? null;
}

interface Diagnosed<T> {
  readonly query: RoleObject;
  /** The same object if selectors decide about it, else null. */
  readonly resource: ResourceQuery | null;
  readonly found: T;
  readonly resolution: Resolution;
  readonly nearest: readonly SelectorExplanation[];
  readonly misses: readonly NearMiss[];
}

/**
 * Returns what `audit` reports about the object, its controllers and the objects that choose its role: what it denies,
 * or else its warnings about the role and the controllers, or else its other warnings.
 */
function causesOf<T extends Located>(diagnosed: Diagnosed<T>, context: DiagnosisContext<T>): readonly Cause<T>[] {
  const { found } = diagnosed;
  const { inventory, origin, related, settings } = context;
  const controllers = related.ofControllers(found.object);
  const selectors = selectorsOf(diagnosed, context);
  const scope = { inventory, origin, storedSelectors: selectors.map(({ object }) => object) };
  const all = [...choosersOf(diagnosed, selectors, context), found, ...controllers].flatMap((one): Cause<T>[] => (
    auditObject(one.object, scope, settings).findings.filter(({ waived }) => !waived)
      .map((finding) => ({ found: one, finding, toChange: [one] }))
  ));
  const denying = all.filter(({ finding }) => finding.severity === "deny");
  // With CARM maps, the namespace or the map says why the object is refused.
  const isCaused = settings.mode === "carm" && denying.some((one) => one.found !== found);
  const denials = denying.filter(({ finding }) => !isCaused || finding.section !== "refused");
  const ofRole = all.filter((one) => (
    one.found === found ? (one.finding.section ?? "checks") !== "checks" : controllers.includes(one.found)
  ));
  const existing = existenceFindings(found.object).map((finding) => ({ found, finding, toChange: [found] }));
  // Controllers do not read the annotations of the webhook.
  const effective = ofRole.filter(({ finding }) => finding.section !== "staleAnnotations");
  const restricted = selectors.flatMap((selector) => restrictedBy(selector, diagnosed, context));
  const shown = [[...denials, ...existing, ...restricted], effective, ofRole].find((some) => some.length > 0) ?? all;
  return shown.slice(0, MAX_CAUSES).map((cause) => withRepairs(cause, diagnosed, context));
}

/** Returns the causes in the session policies of a selector that selects the object. */
function restrictedBy<T extends Located>(
  selector: T, { found, resolution }: Diagnosed<T>, { inventory, settings }: DiagnosisContext<T>,
): readonly Cause<T>[] {
  const { name } = objectReference(selector.object);
  const effective = inventory.of(SELECTORS).get(name);
  const isUsed = effective !== undefined && resolution.selectors.some((one) => one.name === name);
  if (!isUsed) return [];
  const denied = deniedActions(found.object, effective, defaultScope(settings.injection.closures));
  return denied.map((finding) => ({ found: selector, finding, toChange: [selector] }));
}

/** Returns the selectors whose faults can be why the object has its role. */
function selectorsOf<T extends Located>(
  { resolution, misses }: Diagnosed<T>, { related, settings }: DiagnosisContext<T>,
): readonly T[] {
  if (settings.mode === "carm") return [];
  const malformed = misses.filter(({ reason }) => reason === "malformed");
  const names = [...resolution.selectors.map(({ name }) => name), ...malformed.map(({ selector }) => selector)];
  return related.named(SELECTOR_KIND, names);
}

/** Returns the objects that choose the role, the selectors first. */
function choosersOf<T extends Located>(
  { query, resolution }: Diagnosed<T>, selectors: readonly T[], { related, settings }: DiagnosisContext<T>,
): readonly T[] {
  return [
    ...settings.mode === "carm" ? related.named("ConfigMap", [mapOf(resolution)]) : selectors,
    ...related.named("Namespace", [query.namespace]),
    ...resolution.chain?.flatMap(({ kind, name }) => related.named(kind, [name])) ?? [],
  ];
}

function mapOf({ via }: Pick<Resolution, "via">): string {
  return via === "team-map" ? TEAM_MAP : ACCOUNT_MAP;
}

/** Returns the fix. A sentence that only describes repairs must not recommend what is not offered. */
function fixWith(offered: readonly Repair[], { code, fix, path, repairs = [] }: Finding): string {
  const general = GENERAL_FIXES.get(code);
  const isDescription = offered.length === 0 && fix === describeRepairs(repairs, path);
  return isDescription && general !== undefined ? general : fix;
}

const GENERAL_FIXES = new Map(CATALOGUE.map(({ id, fix }) => [id, fix]));

/** Returns the cause with the repairs that are offered. */
function withRepairs<T extends Located>(
  { found, finding }: Cause<T>, diagnosed: Diagnosed<T>, context: DiagnosisContext<T>,
): Cause<T> {
  const { section, repairs = [] } = finding;
  const isOwn = found === diagnosed.found;
  const others = !isOwn || repairs.length > 0 ? [] : section === "onDefault" ? nearestRepairs(diagnosed, context)
    : section === "conflicts" && context.isWhole ? keepingRepairs(diagnosed) : [];
  const offered = offeredRepairs([...repairs, ...others], found, { ...context, subject: diagnosed.found });
  const choosers = choosersToChange(found, diagnosed, context);
  const toChange = diagnosed.resolution.outcome === "conflict" && choosers.length > 0 ? choosers : [...choosers, found];
  return { found, finding: { ...finding, fix: fixWith(offered, finding), repairs: offered }, toChange };
}

/** Returns the objects that choose the role, if a change of them can correct what a finding says. */
function choosersToChange<T extends Located>(
  found: T, diagnosed: Diagnosed<T>, { related, settings: { mode } }: DiagnosisContext<T>,
): readonly T[] {
  const { chain, outcome, selectors } = diagnosed.resolution;
  if (outcome === "conflict") return related.named(SELECTOR_KIND, selectors.map(({ name }) => name));
  if (mode === "carm" && chain === undefined) return mapsToChange(found, diagnosed, related);
  const denied = found === diagnosed.found ? chain?.find(({ allowed }) => !allowed) : undefined;
  return denied === undefined ? [] : related.named(denied.kind, [denied.name]);
}

function mapsToChange<T extends Located>(
  found: T, { found: subject, query: { namespace }, resolution: { outcome, via } }: Diagnosed<T>,
  related: RelatedObjects<T>,
): readonly T[] {
  const isOwn = found === subject;
  if (outcome === "default") return isOwn ? related.named("Namespace", [namespace]) : [];
  const isOfNamespace = objectReference(found.object).kind === "Namespace";
  return outcome === "refused" && (isOwn || isOfNamespace) ? related.named("ConfigMap", [mapOf({ via })]) : [];
}

/** The number of selectors in conflict for which each choice is a repair. */
const MAX_CHOICES = 3;

/** Returns, for each selector of a conflict, the deletion of the others. Offered only if no resource needs them. */
function keepingRepairs<T extends Located>({ resolution: { selectors } }: Diagnosed<T>): readonly Repair[] {
  if (selectors.length > MAX_CHOICES) return [];
  return selectors.map(({ name }) => ({
    when: `to keep ${name}`,
    edits: selectors.filter((one) => one.name !== name).map((one) => ({ of: selectorName(one.name), ...remove([]) })),
  }));
}

/**
 * Returns the labels with which the nearest selectors select the object. A selector that lists other namespaces is
 * probably not meant for this one.
 */
function nearestRepairs<T extends Located>(
  { resource, nearest }: Diagnosed<T>, { inventory }: DiagnosisContext<T>,
): readonly Repair[] {
  if (resource === null) return [];
  const { ownerAccountID } = resource.status;
  const compared = { inventory, query: resource, type: inventory.kinds.typeOf(resource) };
  const selectors = nearest.map(({ selector }) => inventory.of(SELECTORS).get(selector));
  return selectors.filter((one) => one !== undefined)
    .filter(({ roleARN }) => ownerAccountID === null || ownerAccountID === accountOfARN(roleARN))
    .flatMap((selector) => selectingRepairs(selector, compared).map(({ edits }) => (
      { when: `if the role of ${selector.name} is meant`, edits }
    )))
    .filter(({ edits }) => edits.every(({ path: [top] }) => top === "metadata"));
}
