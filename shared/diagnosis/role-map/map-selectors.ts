import { SELECTORS } from "../../ack/selectors.ts";
import type { Inventory } from "../../core/inventory.ts";
import type { EffectiveSelector } from "../../core/effective-selector.ts";
import type { SelectorSpec } from "../../core/iamroleselector.ts";
import type { SessionExtras } from "../../core/session.ts";
import { conditionTexts, namespacesText } from "../../ack/selector-conditions.ts";
import { compareText } from "../../formats/text.ts";
import { shownText } from "./map-table.ts";
import type { MapSelector } from "./role-map.ts";

/** A selector as the inventory has it. */
export interface StoredSelector extends Pick<MapSelector, "name" | "state" | "conditions" | "names" | "session"> {
  /** "" if the selector has no ARN. */
  readonly roleARN: string;
}

/** Returns the selectors sorted by name: at most `limit`, those with faults first. */
export function storedSelectors(inventory: Inventory, limit: number): StoredSelector[] {
  const selectors = inventory.of(SELECTORS);
  const malformed = Array.from(selectors.malformed.values(), ({ name, roleARN, spec }): StoredSelector => (
    { name, roleARN, state: "malformed", ...writtenConditions(spec), session: [] }
  ));
  const effective = Array.from(inventory.of(SELECTORS).values(), (selector): StoredSelector => ({
    name: selector.name, roleARN: selector.roleARN,
    state: inventory.of(SELECTORS).faulty.has(selector.name) ? "faulty" : "resolved",
    conditions: shownConditions(selector), names: [], session: sessionTexts(selector.extras),
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
function sessionTexts({ externalID, sessionName, sourceIdentity, tags, durationSeconds }: SessionExtras): string[] {
  return [
    ...(externalID === null ? [] : ["external ID: set"]),
    ...(sessionName === null ? [] : [`session name: ${shownText(sessionName)}`]),
    ...(sourceIdentity === null ? [] : [`source identity: ${shownText(sourceIdentity)}`]),
    ...(tags.length === 0 ? [] : [`session tags: ${shownText(tags.map(({ key }) => key).join(", "))}`]),
    ...(durationSeconds === null ? [] : [`duration: ${durationSeconds} s`]),
  ];
}
