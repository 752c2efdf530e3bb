import { type Finding, findingSentences, type Section } from "../../shared/checks/check.ts";
import { runChecks } from "../../shared/checks/run.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../../shared/contract/ack-groups.ts";
import { ACCOUNT_MAP, RESOLUTION, TEAM_MAP } from "../../shared/contract/annotation-keys.ts";
import type { DecisionSettings } from "../../shared/contract/context.ts";
import { STDIN } from "../../shared/files/listing.ts";
import { namespaceOf } from "../../shared/files/object-key.ts";
import { type FieldPath, formatFieldPath, type JsonObject } from "../../shared/formats/json.ts";
import { annotationAt, objectReference } from "../../shared/formats/object-meta.ts";
import type { SelectorExplanation } from "../../shared/resolution/explain.ts";
import type { Resolution } from "../../shared/resolution/resolve.ts";
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
    const denials = findings.filter(({ finding }) => isDenial(finding));
    return (denials.length > 0 ? denials : findings).slice(0, MAX_ADVICE).map(({ finding, one }) => ({
      code: finding.code, isDenial: isDenial(finding), text: textOf(finding, advised.resolution),
      command: this.#commandFor(finding, one, advised),
    }));
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

  /** Returns the command that changes what the finding is about, or the place in a file. */
  #commandFor({ section, path }: Finding, one: StateObject, advised: Advised): string {
    const { resolution, found } = advised;
    if (one !== found) return edit([one], path);
    if (resolution.outcome === "default" && (section === "onDefault" || section === "drift")) {
      return this.#selectCommand(advised);
    }
    const key = path.at(-1);
    if (section === "staleAnnotations" && found.file === null && typeof key === "object") {
      return `kubectl annotate ${target(found.object)} ${key.key}-`;
    }
    const owners = this.#ownersOf(section, resolution);
    return owners.length > 0 ? edit(owners) : edit([found], path);
  }

  /** Returns the objects to change instead of the resource: selectors, a CARM map or an identity. */
  #ownersOf(section: Section | undefined, { selectors, chain = [], outcome, via }: Resolution): StateObject[] {
    if (section === "conflicts") return this.#named(SELECTOR_KIND, selectors.map(({ name }) => name));
    if (outcome !== "refused") return [];
    const denied = chain.filter(({ allowed }) => !allowed).slice(0, 1);
    const maps = this.#settings.mode === "carm" && chain.length === 0 ? this.#named("ConfigMap", [mapOf({ via })]) : [];
    return [...denied.flatMap(({ kind, name }) => this.#named(kind, [name])), ...maps];
  }

  /** Returns the command with which the nearest selector selects the resource, or which creates a selector. */
  #selectCommand({ found, explanation: [nearest] }: Advised): string {
    const namespace = namespaceOf(found.object);
    const failing = nearest?.parts.filter(({ holds }) => !holds) ?? [];
    // A selector that names other namespaces is probably not meant for this one.
    if (nearest === undefined || failing.some(({ path }) => path === "spec.namespaceSelector.names")) {
      return newSelector(found.object, namespace);
    }
    for (const [path, object] of [
      ["spec.namespaceSelector.labelSelector.matchLabels[", `namespace/${namespace}`],
      ["spec.resourceLabelSelector.matchLabels[", target(found.object)],
    ] as const) {
      const isOfLabels = failing.every((part) => part.path.startsWith(path) && SAFE_LABEL.test(part.wants));
      if (found.file === null && failing.length > 0 && isOfLabels) {
        return `kubectl label --overwrite ${object} ${failing.map(({ wants }) => wants).join(" ")}`;
      }
    }
    return edit(this.#named(SELECTOR_KIND, [nearest.selector]));
  }
}

/** The API server does not validate the labels of selectors, and users copy commands into a shell. */
const SAFE_LABEL = /^[\w./-]+=[\w.-]*$/;

/** Returns the command that creates a selector: the one that selected the resource before, if annotations name it. */
function newSelector(resource: JsonObject, namespace: string): string {
  const { selector = namespace, roleARN: arn = "arn:aws:iam::ACCOUNT:role/NAME" } = Object.fromEntries(
    (["selector", "roleARN"] as const).map((key) => [key, annotationAt(resource, RESOLUTION[key]) ?? undefined]),
  );
  return `echo '${JSON.stringify({
    apiVersion: `${SELECTOR_GROUP}/v1alpha1`, kind: SELECTOR_KIND, metadata: { name: selector },
    spec: { arn, namespaceSelector: { names: [namespace] } },
  }).replaceAll("'", "")}' | kubectl create -f -`;
}

function isDenial({ severity }: Finding): boolean {
  return severity === "deny";
}

/** Whether a warning is about the role of the resource, such as stale annotations or a drift. */
function isOfRole(one: StateObject, { section = "checks" }: Finding, found: StateObject): boolean {
  return one === found && section !== "checks";
}

/** Returns what is wrong and the fix, without the message of the resolution, which is already shown. */
function textOf(finding: Finding, resolution: Resolution): string {
  const place = formatFieldPath(finding.path);
  const shown = resolution.message.replace(/\.$/, "");
  const all = findingSentences(finding);
  if (place !== "" && place !== "metadata") return `${place}: ${all}`;
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
