import { type Finding, findingSentences } from "../../shared/checks/check.ts";
import { ACK_07 } from "../../shared/checks/resource-drift.ts";
import { runChecks } from "../../shared/checks/run.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/contract/ack-groups.ts";
import { ACCOUNT_MAP, RESOLUTION, TEAM_MAP } from "../../shared/contract/annotation-keys.ts";
import type { DecisionSettings } from "../../shared/contract/context.ts";
import { statusOf } from "../../shared/contract/ack-resource.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import { accountOfARN } from "../../shared/formats/arn.ts";
import { type FieldPath, formatFieldPath, type JsonObject } from "../../shared/formats/json.ts";
import { annotationAt, objectMeta, objectReference } from "../../shared/formats/object-meta.ts";
import { readsResourceLabels } from "../../shared/model/effective-selector.ts";
import { listOf } from "../../shared/formats/text.ts";
import type { SelectorExplanation } from "../../shared/resolution/explain.ts";
import { staleAnnotations } from "../../shared/resolution/resolution-annotations.ts";
import type { Resolution } from "../../shared/resolution/resolve.ts";
import { NAMESPACE_LABELS } from "../../shared/resolution/selector-conditions.ts";
import { placeAndName } from "../output/located-finding.ts";
import { commandName } from "./named-resource.ts";
import type { State, StateObject } from "./state.ts";

/** What is wrong with a resource or with what chooses its role, and the command or the edit that changes it. */
export interface Advice {
  readonly code: string;
  readonly isDenial: boolean;
  /** What is wrong and how to fix it, in sentences. */
  readonly text: string;
  readonly command: string;
}

interface Remedy {
  /** A command, or the place to edit in a file. */
  readonly command: string;
  /** Default: the fix of the finding. */
  readonly fix?: string;
}

/** A resource whose role is resolved, and what else decides about it. */
interface Advised {
  readonly found: StateObject;
  readonly resolution: Resolution;
  /** The selectors that select the resource or nearly do. */
  readonly explanation: readonly SelectorExplanation[];
}

type Stored = Pick<State, "objects" | "inventory" | "origin">;

const MAX_ADVICE = 3;

/** Tells what to do about resources. */
export class Adviser {
  readonly #state: Stored;
  readonly #settings: DecisionSettings;
  /** The objects that can choose a role, by `KIND/NAME`. */
  readonly #causes: ReadonlyMap<string, readonly StateObject[]>;

  constructor(state: Stored, settings: DecisionSettings) {
    this.#state = state;
    this.#settings = settings;
    this.#causes = Map.groupBy(state.objects.filter(({ object }) => !isACKGroup(objectReference(object).group)), (
      { object },
    ) => `${objectReference(object).kind}/${objectReference(object).name}`);
  }

  /**
   * Returns what `audit` reports about the resource, and what it denies of the objects that choose its role. Omits
   * warnings beside denials.
   */
  adviceOf(advised: Advised): Advice[] {
    const { found } = advised;
    const { inventory, origin } = this.#state;
    const findings = [found, ...this.#causesOf(advised)].flatMap((one) => {
      const { object } = one;
      const input = { object, old: object, operation: "AUDIT", requester: null, inventory, origin } as const;
      return runChecks(input, this.#settings).findings
        .filter((finding) => !finding.waived && (finding.severity === "deny" || isOfRole(one, finding, found)))
        .map((finding) => ({ finding, one }));
    });
    const all = findings.filter(({ finding }) => isDenial(finding));
    // With CARM maps, the namespace or the map says why the resource is refused.
    const isCaused = this.#settings.mode === "carm" && all.some(({ one }) => one !== found);
    const denials = all.filter(({ finding }) => !isCaused || finding.section !== "refused");
    return (denials.length > 0 ? denials : findings).slice(0, MAX_ADVICE).map(({ finding, one }) => {
      const { command, fix = finding.fix } = this.#remedyFor(finding, one, advised);
      const text = textOf({ ...finding, fix }, advised.resolution);
      return { code: finding.code, isDenial: isDenial(finding), text, command };
    });
  }

  /** Returns the objects whose faults can be why the resource has its role. */
  #causesOf({ found, resolution, explanation }: Advised): StateObject[] {
    // A malformed selector is first if it is for the namespace of the resource.
    const isLost = resolution.outcome === "default" && explanation[0]?.malformed === true;
    const malformed = explanation.slice(0, isLost ? 1 : 0).map(({ selector }) => selector);
    const selectors = [...resolution.selectors.map(({ name }) => name), ...malformed];
    return [
      ...this.#named("Namespace", [namespaceOf(found.object)]),
      ...this.#settings.mode === "carm"
        ? this.#named("ConfigMap", [mapOf(resolution)]) : this.#named(SELECTOR_KIND, selectors),
      ...resolution.chain?.flatMap(({ kind, name }) => this.#named(kind, [name])) ?? [],
    ];
  }

  #named(kind: string, names: readonly string[]): StateObject[] {
    return names.flatMap((name) => this.#causes.get(`${kind}/${name}`) ?? []);
  }

  /** Returns how to change what the finding is about. */
  #remedyFor(finding: Finding, one: StateObject, advised: Advised): Remedy {
    const { section, path } = finding;
    const { resolution, found } = advised;
    if (one !== found) return { command: edit([one, ...this.#mapBeside(one, resolution)], path) };
    if (resolution.outcome === "default" && (section === "onDefault" || section === "drift")) {
      return this.#select(advised);
    }
    if (section === "staleAnnotations" && found.file === null) return refresh(found.object, resolution);
    const fix = this.#fixOfSelectors(finding, advised);
    const owners = fix === null ? this.#ownersOf(resolution)
      : this.#named(SELECTOR_KIND, resolution.selectors.map(({ name }) => name));
    const command = owners.length > 0 ? edit(owners) : edit([found], path);
    return fix === null ? { command } : { command, fix };
  }

  /** Returns the fix if only selectors decide, which decide about other resources too; else null. */
  #fixOfSelectors({ section, fix }: Finding, { resolution, found }: Advised): string | null {
    if (section === "conflicts") {
      return `${fix}. Changing or deleting a selector can change the roles of other resources`;
    }
    const { selectors } = this.#state.inventory;
    const dependsOnLabels = resolution.selectors.some(({ name }) => readsResourceLabels(selectors.get(name)));
    return fix === ACK_07.fix && !dependsOnLabels ? narrowing(found.object) : null;
  }

  /** Returns the objects to change instead of a refused resource: a CARM map or an identity. */
  #ownersOf({ chain = [], outcome, via }: Resolution): StateObject[] {
    if (outcome !== "refused") return [];
    const denied = chain.filter(({ allowed }) => !allowed).slice(0, 1);
    const maps = this.#settings.mode === "carm" && chain.length === 0 ? this.#named("ConfigMap", [mapOf({ via })]) : [];
    return [...denied.flatMap(({ kind, name }) => this.#named(kind, [name])), ...maps];
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
    const fix = `let ${nearest.selector} select the resource, unless the controller's own role is intended`;
    return { fix, command: edit(this.#named(SELECTOR_KIND, [nearest.selector])) };
  }
}

/** Returns the labels with which the selector selects the resource; null if labels of one object are not enough. */
function labeling(nearest: SelectorExplanation, resource: JsonObject): Remedy | null {
  const namespace = namespaceOf(resource);
  const failing = nearest.parts.filter(({ holds }) => !holds);
  const isOf = (path: string): boolean => (
    failing.every((part) => part.path.startsWith(`${path}.matchLabels[`) && SAFE_LABEL.test(part.wants))
  );
  const isOfNamespace = isOf(NAMESPACE_LABELS);
  if (!isOfNamespace && !isOf("spec.resourceLabelSelector")) return null;
  const [object, effect] = isOfNamespace
    ? [`namespace/${namespace}`, `all that it selects in ${namespace}`] : [target(resource), "the resource"];
  const replaced = failing.flatMap(({ carries }) => (carries.startsWith("no label") ? [] : [carries]));
  const change = replaced.length === 0 ? "set the labels" : `replace ${listOf(replaced)}`;
  return {
    fix: `if the role of ${nearest.selector} is intended, ${change}, which changes the role of ${effect}${
      consequence(resource, nearest)}`,
    command: `kubectl label${replaced.length === 0 ? "" : " --overwrite"} ${object} ${
      failing.map(({ wants }) => wants).join(" ")}`,
  };
}

/** Says what happens to a resource that exists in another account than the role of the selector. */
function consequence(resource: JsonObject, { roleARN }: SelectorExplanation): string {
  const { ownerAccountID } = statusOf(resource);
  if (ownerAccountID === null || roleARN === null || accountOfARN(roleARN) === ownerAccountID) return "";
  return `. Controllers would no longer reconcile the resource, which exists in account ${ownerAccountID}`;
}

/** Returns how a resource gets a role in its own account if its selector decides about other resources too. */
function narrowing(resource: JsonObject): string {
  const { ownerAccountID } = statusOf(resource);
  return `restrict the selector so that it does not select the resource, and then create one with a role in account ${
    ownerAccountID}. Change its role only if all that it selects is in that account`;
}

/** The API server does not validate the labels of selectors, and users copy commands into a shell. */
const SAFE_LABEL = /^[\w./-]+=[\w.-]*$/;

/** Returns how to create a selector: the one that selected the resource before, if annotations name it. */
function newSelector(resource: JsonObject, namespace: string): Remedy {
  const [name, role] = (["selector", "roleARN"] as const).map((key) => annotationAt(resource, RESOLUTION[key]));
  const [selector, arn] = [name ?? namespace, role ?? "arn:aws:iam::ACCOUNT:role/NAME"];
  const manifest = {
    apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, metadata: { name: selector },
    spec: { arn, namespaceSelector: { names: [namespace] } },
  };
  const origin = role === null ? "replace ACCOUNT and NAME"
    : "its name and its role are those in the annotations of the resource, so check them";
  return {
    fix: `unless the controller's own role is intended, create a selector, which gives its role to every resource of `
      + `namespace ${namespace}; ${origin}`,
    command: `echo '${JSON.stringify(manifest).replaceAll("'", "")}' | kubectl create -f -`,
  };
}

/** Returns how to let the webhook update its annotations: a write that changes nothing else. */
function refresh(object: JsonObject, resolution: Resolution): Remedy {
  const stale = [...staleAnnotations(objectMeta(object).annotations, resolution)];
  const [key, value] = stale.find(([, expected]) => expected === null || SAFE_VALUE.test(expected))
    ?? [RESOLUTION.reason, null];
  return {
    fix: "the role stays the same. Wait until the webhook updates its annotations, or make it update them now",
    command: `kubectl annotate --overwrite ${target(object)} ${value === null ? `${key}-` : `${key}=${value}`}`,
  };
}

const SAFE_VALUE = /^[\w./:@=+,-]+$/;

function isDenial({ severity }: Finding): boolean {
  return severity === "deny";
}

/** Whether a warning is about the role of the resource, such as stale annotations or a drift. */
function isOfRole(one: StateObject, { section = "checks" }: Finding, found: StateObject): boolean {
  return one === found && section !== "checks";
}

/** The fields of faults that are not faults of one field. */
const UNSPECIFIC: ReadonlySet<string> = new Set(["", "metadata", "metadata.labels"]);

/** Returns what is wrong and the fix, without the message of the resolution, which is already shown. */
function textOf(finding: Finding, resolution: Resolution): string {
  const place = formatFieldPath(finding.path);
  const shown = resolution.message.replace(/\.$/, "");
  const all = findingSentences(finding);
  if (!UNSPECIFIC.has(place)) return `${place}: ${all}`;
  const text = all.startsWith(shown) ? all.slice(shown.length).replace(/^[.;] /, "") : all;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function mapOf({ via }: Pick<Resolution, "via">): string {
  return via === "team-map" ? TEAM_MAP : ACCOUNT_MAP;
}

/** Returns the command that opens objects, or their places in files. */
function edit(objects: readonly StateObject[], path: FieldPath = ["spec"]): string {
  const [first] = objects;
  if (first === undefined) return "";
  if (first.file === null) {
    const names = objects.slice(0, -1).map(({ object }) => `${commandName(object)} `);
    return `kubectl edit ${names.join("")}${target(objects.at(-1)?.object ?? {})}`;
  }
  const places = objects.map((one) => placeAndName(one, path)).map(({ file, line }) => (
    file === STDIN ? `line ${line} of standard input` : `${file}:${line}`
  ));
  return `edit ${places.join(" or ")}`;
}

function target(object: JsonObject): string {
  const { namespace } = objectReference(object);
  return `${commandName(object)}${namespace === "" ? "" : ` -n ${namespace}`}`;
}
