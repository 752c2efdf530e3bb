import type { Resolution } from "../../shared/core/resolution.ts";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import { auditObject } from "../../shared/diagnosis/audit.ts";
import { type Finding, findingSentences } from "../../shared/core/check.ts";
import { ACK_07 } from "../../shared/ack/resource-drift.ts";
import { definedKind, isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/core/ack-groups.ts";
import {
  ACCOUNT_MAP, OWNER_ACCOUNT_ANNOTATION, REGION_ANNOTATION, TEAM_MAP,
} from "../../shared/core/annotation-keys.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import { annotationPath, formatFieldPath, type JsonObject } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { readsResourceLabels } from "../../shared/core/effective-selector.ts";
import type { SelectorExplanation } from "../../shared/diagnosis/explain.ts";
import {
  edits, inItsRegion, keepingOne, labeling, moving, newSelector, newSource, refresh, type Remedy, type Way,
  withOtherRole,
} from "./remedies.ts";
import type { State, StateObject } from "./state.ts";
import { type Controllers, controllersOfGroup } from "../../shared/controllers/controller-deployment.ts";

/** What is wrong with a resource or with what chooses its role, and the commands or the edits that change it. */
export interface Advice {
  readonly code: string;
  readonly isDenial: boolean;
  /** What is wrong and how to fix it, in sentences. */
  readonly text: string;
  readonly ways: readonly Way[];
}

/** A resource whose role is resolved, and what else decides about it. */
interface Advised {
  readonly found: StateObject;
  readonly resolution: Resolution;
  /** The selectors that select the resource or nearly do. */
  readonly explanation: readonly SelectorExplanation[];
}

type Stored = Pick<State, "objects" | "inventory" | "origin" | "controllers">;

const MAX_ADVICE = 3;

/** Tells what to do about resources. */
export class Adviser {
  readonly #state: Stored;
  readonly #settings: DecisionSettings;
  readonly #causes: Causes;

  constructor(state: Stored, settings: DecisionSettings) {
    this.#state = state;
    this.#settings = settings;
    this.#causes = new Causes(state);
  }

  /**
   * Returns what `audit` reports about the resource, its controllers and the objects that choose its role: what it
   * denies, or else its warnings about the role and the controllers, or else its other warnings.
   */
  adviceOf(advised: Advised): Advice[] {
    const { found } = advised;
    const controllers = this.#causes.ofControllers(found.object);
    const selectors = this.#selectorsOf(advised);
    const { inventory, origin } = this.#state;
    const context = { inventory, origin, storedSelectors: selectors.map(({ object }) => object) };
    const findings = [found, ...controllers, ...this.#choosersOf(advised, selectors)].flatMap((one) => (
      auditObject(one.object, context, this.#settings).findings
        .filter(({ waived }) => !waived).map((finding) => ({ finding, one }))
    ));
    const all = findings.filter(({ finding }) => isDenial(finding));
    // With CARM maps, the namespace or the map says why the resource is refused.
    const isCaused = this.#settings.mode === "carm" && all.some(({ one }) => one !== found);
    const denials = all.filter(({ finding }) => !isCaused || finding.section !== "refused");
    const ofRole = findings.filter(({ finding: { section = "checks" }, one }) => (
      one === found ? section !== "checks" : controllers.includes(one)
    ));
    const shown = [denials, ofRole].find((some) => some.length > 0) ?? findings;
    return shown.slice(0, MAX_ADVICE).map(({ finding, one }) => {
      const { ways, ...better } = one === found
        ? this.#remedyFor(finding, advised) : this.#remedyForCause(finding, one, advised);
      const text = textOf({ ...finding, ...better }, one, advised);
      return { code: finding.code, isDenial: isDenial(finding), text, ways };
    });
  }

  /** Returns the selectors whose faults can be why the resource has its role. */
  #selectorsOf({ resolution, explanation }: Advised): readonly StateObject[] {
    if (this.#settings.mode === "carm") return [];
    // A malformed selector is first if it is for the namespace of the resource.
    const isLost = resolution.outcome === "default" && explanation[0]?.malformed === true;
    const malformed = explanation.slice(0, isLost ? 1 : 0).map(({ selector }) => selector);
    return this.#causes.named(SELECTOR_KIND, [...resolution.selectors.map(({ name }) => name), ...malformed]);
  }

  /** Returns the other objects that choose the role, and the selectors. */
  #choosersOf({ found, resolution }: Advised, selectors: readonly StateObject[]): StateObject[] {
    return [
      ...this.#causes.named("Namespace", [namespaceOf(found.object)]),
      ...this.#settings.mode === "carm" ? this.#causes.named("ConfigMap", [mapOf(resolution)]) : selectors,
      ...resolution.chain?.flatMap(({ kind, name }) => this.#causes.named(kind, [name])) ?? [],
    ];
  }

  /** Returns how to change an object that chooses the role. */
  #remedyForCause({ section, path, fix }: Finding, one: StateObject, { resolution, found }: Advised): Remedy {
    const source = section === "missingSources" ? newSource(one.object, found.object) : null;
    if (source !== null) return source;
    const { kind, name } = objectReference(one.object);
    if (one.file === null && kind === SELECTOR_KIND && formatFieldPath(path) === "spec.arn") {
      return withOtherRole(one, fix, this.#state.inventory.of(SELECTORS).malformed.has(name));
    }
    return { ways: edits([...this.#mapBeside(one, resolution), one], path) };
  }

  /** Returns how to change what the finding about the resource is about. */
  #remedyFor(finding: Finding, advised: Advised): Remedy {
    const { section, path } = finding;
    const { resolution, found } = advised;
    if (resolution.outcome === "default" && (section === "onDefault" || section === "drift")) {
      return this.#settings.mode === "carm"
        ? { ways: edits(this.#causes.named("Namespace", [namespaceOf(found.object)]), OWNER_PATH) }
        : this.#select(advised);
    }
    const annotating = found.file === null ? annotatingFor(finding, advised) : null;
    if (annotating !== null) return annotating;
    return this.#changeOfSelectors(finding, advised)
      ?? { ways: edits([...this.#ownersOf(resolution), found], path) };
  }

  /** Returns how to change selectors if only they decide, which decide about other resources too; else null. */
  #changeOfSelectors({ section, fix }: Finding, { resolution, found }: Advised): Remedy | null {
    const selectors = this.#causes.named(SELECTOR_KIND, resolution.selectors.map(({ name }) => name));
    const [first] = selectors;
    if (section === "conflicts") return keepingOne(selectors, fix);
    const dependsOnLabels = resolution.selectors.some(({ name }) => (
      readsResourceLabels(this.#state.inventory.of(SELECTORS).get(name))
    ));
    return first !== undefined && fix === ACK_07.fix && !dependsOnLabels ? moving(first, found.object) : null;
  }

  /** Returns the objects to change instead of a refused resource: a CARM map or an identity. */
  #ownersOf({ chain = [], outcome, via }: Resolution): StateObject[] {
    if (outcome !== "refused") return [];
    const denied = chain.filter(({ allowed }) => !allowed).slice(0, 1);
    const isByMap = this.#settings.mode === "carm" && chain.length === 0;
    const maps = isByMap ? this.#causes.named("ConfigMap", [mapOf({ via })]) : [];
    return [...denied.flatMap(({ kind, name }) => this.#causes.named(kind, [name])), ...maps];
  }

  /** Returns the CARM map to change instead of the annotation of a namespace. */
  #mapBeside(one: StateObject, resolution: Resolution): StateObject[] {
    const isOfNamespace = objectReference(one.object).kind === "Namespace" && this.#settings.mode === "carm";
    return isOfNamespace ? this.#ownersOf(resolution) : [];
  }

  /** Returns how the nearest selector selects the resource, or how to create a selector. */
  #select({ found, explanation: [nearest] }: Advised): Remedy {
    const namespace = namespaceOf(found.object);
    const failing = nearest?.parts.filter(({ holds }) => !holds) ?? [];
    // A selector that names other namespaces is probably not meant for this one.
    if (nearest === undefined || failing.some(({ path }) => path === "spec.namespaceSelector.names")) {
      return newSelector(found.object, namespace);
    }
    const ofLabels = found.file === null && failing.length > 0 ? labeling(nearest, found.object) : null;
    if (ofLabels !== null) return ofLabels;
    const fix = `unless the controller's own role is intended, let ${nearest.selector} select the resource`;
    return { fix, ways: edits(this.#causes.named(SELECTOR_KIND, [nearest.selector])) };
  }
}

const OWNER_PATH = annotationPath(OWNER_ACCOUNT_ANNOTATION);
const REGION = formatFieldPath(annotationPath(REGION_ANNOTATION));

/** Returns how `kubectl annotate` changes what the finding is about; null if it does not. */
function annotatingFor({ section, path }: Finding, { found, resolution }: Advised): Remedy | null {
  if (section === "staleAnnotations") return refresh(found.object, resolution);
  return section === "drift" && formatFieldPath(path) === REGION ? inItsRegion(found.object) : null;
}

function isDenial({ severity }: Finding): boolean {
  return severity === "deny";
}

/** The fields of faults that are not faults of one field. */
const UNSPECIFIC: ReadonlySet<string> = new Set(["", "metadata", "metadata.labels"]);

/**
 * Returns what is wrong and the fix, without the message of the resolution, which is already shown. Names an object
 * other than the resource.
 */
function textOf(finding: Finding, one: StateObject, { found, resolution }: Advised): string {
  const { kind, name } = objectReference(one.object);
  const place = one === found ? formatFieldPath(finding.path) : `${kind} ${name}: ${formatFieldPath(finding.path)}`;
  const shown = resolution.message.replace(/\.$/, "");
  const all = findingSentences(finding);
  if (!UNSPECIFIC.has(place)) return `${place}: ${all}`;
  const text = all.startsWith(shown) ? all.slice(shown.length).replace(/^[.;] /, "") : all;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function mapOf({ via }: Pick<Resolution, "via">): string {
  return via === "team-map" ? TEAM_MAP : ACCOUNT_MAP;
}

/** The objects whose faults can be why a resource has its role, or why no controller acts on the resource. */
class Causes {
  /** By `KIND/NAME`. */
  readonly #byName: ReadonlyMap<string, readonly StateObject[]>;
  /** The CustomResourceDefinitions, by `GROUP/KIND`. */
  readonly #definitions: ReadonlyMap<string, readonly StateObject[]>;
  readonly #controllers: Controllers;

  constructor({ objects, controllers }: Pick<State, "objects" | "controllers">) {
    const others = objects.filter(({ object }) => !isACKGroup(objectReference(object).group));
    this.#byName = Map.groupBy(others, ({ object }) => (
      `${objectReference(object).kind}/${objectReference(object).name}`
    ));
    const definitions = others.filter(({ object }) => objectReference(object).kind === "CustomResourceDefinition");
    this.#definitions = Map.groupBy(definitions, ({ object }) => keyOf(definedKind(object)));
    this.#controllers = controllers;
  }

  named(kind: string, names: readonly string[]): readonly StateObject[] {
    return names.flatMap((name) => this.#byName.get(`${kind}/${name}`) ?? []);
  }

  /** Returns the Deployments of the resource's controllers, and the definitions of its kind and of IAMRoleSelector. */
  ofControllers(resource: JsonObject): readonly StateObject[] {
    const { group, kind } = objectReference(resource);
    const selectors = isACKGroup(group) ? [{ group: SELECTOR_GROUP, kind: SELECTOR_KIND }] : [];
    return [
      ...controllersOfGroup(this.#controllers, group).controllers.flatMap(({ name }) => this.#deployment(name)),
      ...[{ group, kind }, ...selectors].flatMap((one) => this.#definitions.get(keyOf(one)) ?? []),
    ];
  }

  /** Returns the Deployment with the name `NAMESPACE/NAME`. */
  #deployment(fullName: string): readonly StateObject[] {
    return this.named("Deployment", [fullName.slice(fullName.indexOf("/") + 1)])
      .filter(({ object }) => `${objectReference(object).namespace}/${objectReference(object).name}` === fullName);
  }
}

function keyOf({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`;
}
