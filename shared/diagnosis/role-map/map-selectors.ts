import { SELECTORS } from "../../ack/selectors.ts";
import type { Inventory } from "../../core/inventory.ts";
import type { EffectiveSelector } from "../../core/effective-selector.ts";
import type { NamespaceStore } from "../../core/namespaces.ts";
import type { SelectorSpec } from "../../core/iamroleselector.ts";
import type { SessionExtras } from "../../core/session.ts";
import { conditionTexts, namespacesText } from "../../ack/selector-conditions.ts";
import { isEmptySelector, isOperator, type LabelSelector, satisfies } from "../../formats/label-selector.ts";
import { compareText } from "../../formats/text.ts";
import { shownText } from "./map-table.ts";
import type { MapSelector } from "./role-map.ts";

/** A selector as the inventory has it. */
export interface StoredSelector extends Pick<MapSelector, "name" | "state" | "conditions" | "names" | "session"> {
  /** "" if the selector has no ARN. */
  readonly roleARN: string;
  /** What a malformed selector asks of namespaces; null for another selector. */
  readonly written: SelectorSpec["namespaceSelector"];
}

/** Returns the selectors sorted by name: at most `limit`, those with faults first. */
export function storedSelectors(inventory: Inventory, limit: number): StoredSelector[] {
  const selectors = inventory.of(SELECTORS);
  const malformed = Array.from(selectors.malformed.values(), ({ name, roleARN, spec }): StoredSelector => ({
    name, roleARN, state: "malformed", ...writtenConditions(spec), session: [], written: spec.namespaceSelector,
  }));
  const effective = Array.from(inventory.of(SELECTORS).values(), (selector): StoredSelector => ({
    name: selector.name, roleARN: selector.roleARN,
    state: inventory.of(SELECTORS).faulty.has(selector.name) ? "faulty" : "resolved",
    conditions: shownConditions(selector), names: [], session: sessionTexts(selector.extras), written: null,
  }));
  const isFaulty = ({ state }: StoredSelector): number => Number(state === "resolved");
  const first = [...malformed, ...effective]
    .toSorted((a, b) => isFaulty(a) - isFaulty(b) || compareText(a.name, b.name)).slice(0, limit);
  return first.toSorted((a, b) => compareText(a.name, b.name));
}

function shownConditions(selector: EffectiveSelector): string[] {
  return conditionTexts(selector).map(shownText);
}

/** Returns the namespaces that a malformed selector names, to tell whom it concerns. Its other fields can be wrong. */
function writtenConditions({ namespaceSelector }: SelectorSpec): Pick<MapSelector, "conditions" | "names"> {
  const names = namespaceSelector?.names ?? [];
  return {
    conditions: names.length === 0 ? [] : [shownText(namespacesText(names))],
    names: names.slice(0, MAX_NAMES).map(shownText),
  };
}

const MAX_NAMES = 20;

/** Returns the session settings. An external ID is confidential, and so may the values of tags be. */
function sessionTexts(
  { externalID, sessionName, sourceIdentity, tags, durationSeconds, policy, policyARNs, scope }: SessionExtras,
): string[] {
  return [
    ...(externalID === null ? [] : ["external ID: set"]),
    ...(sessionName === null ? [] : [`session name: ${shownText(sessionName)}`]),
    ...(sourceIdentity === null ? [] : [`source identity: ${shownText(sourceIdentity)}`]),
    ...(tags.length === 0 ? [] : [`session tags: ${shownText(tags.map(({ key }) => key).join(", "))}`]),
    ...(durationSeconds === null ? [] : [`duration: ${durationSeconds} s`]),
    ...(policy === null ? [] : ["session policy: inline"]),
    ...(policyARNs.length === 0 ? [] : [`session policies: ${shownText(policyARNs.join(", "))}`]),
    ...(scope === null ? [] : [`session scope: ${scope}`]),
  ];
}

/** A malformed selector with the labels that it asks of a namespace. */
interface IgnoredSelector {
  readonly index: number;
  readonly labels: LabelSelector;
}

/** The malformed selectors by the namespaces that they are written for. One without such a condition is for none. */
export class IgnoredSelectors {
  readonly #namespaces: Pick<NamespaceStore, "has" | "labelsOf">;
  readonly #byName = new Map<string, IgnoredSelector[]>();
  readonly #byLabels: IgnoredSelector[] = [];
  readonly #found = new Map<string, readonly number[]>();

  constructor(namespaces: Pick<NamespaceStore, "has" | "labelsOf">) {
    this.#namespaces = namespaces;
  }

  add(index: number, { names, labelSelector }: NonNullable<StoredSelector["written"]>): void {
    const labels = labelsIn(labelSelector);
    for (const name of new Set(names)) {
      const list = this.#byName.get(name);
      if (list === undefined) this.#byName.set(name, [{ index, labels }]);
      else list.push({ index, labels });
    }
    if (names.length === 0 && !isEmptySelector(labels)) this.#byLabels.push({ index, labels });
  }

  /** Returns the indexes of the selectors that are written for the namespace. */
  of(name: string): readonly number[] {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const named = this.#byName.get(name) ?? [];
    // The labels of a namespace that the inventory lacks are unknown.
    const found = !this.#namespaces.has(name) ? named : [...named, ...this.#byLabels]
      .filter(({ labels }) => satisfies(this.#namespaces.labelsOf(name), labels));
    const indexes = found.map(({ index }) => index);
    this.#found.set(name, indexes);
    return indexes;
  }
}

function labelsIn(labels: NonNullable<StoredSelector["written"]>["labelSelector"]): LabelSelector {
  const matchExpressions = labels?.matchExpressions.flatMap(({ operator, ...rest }) => (
    isOperator(operator) ? [{ ...rest, operator }] : []
  ));
  return { matchLabels: [...labels?.matchLabels ?? []], matchExpressions: matchExpressions ?? [] };
}
