import {
  type MapRole, type MapSelector, type Reason, type State, STATES,
} from "../../shared/diagnosis/role-map/role-map.ts";
import { ignoredIn, type ReasonGroup } from "./details.ts";
import type { Model } from "./model.ts";

/** A way from a namespace to a role. */
export interface Path {
  /** Null if no selector leads to the role. */
  readonly selector: MapSelector | null;
  /** What stands in the place of the selector. */
  readonly instead: string;
  /** The role, also one that the state withholds; null without one. */
  readonly role: MapRole | null;
  /** Whether the role is that of the controller. */
  readonly isOwn: boolean;
  readonly state: State;
}

/** Returns each way once by which the resources get, or fail to get, a role: what is wrong first. */
export function pathsOf(model: Model, groups: readonly ReasonGroup[]): Path[] {
  const ignored = ignoredIn(groups.flatMap(({ uses }) => uses)).map((index) => selectorPath(model, index, "malformed"));
  const paths = [...ignored, ...groups.flatMap(({ reason }) => reasonPaths(model, reason))];
  const byText = new Map(paths.map((path) => [JSON.stringify(path), path]));
  return [...byText.values()].toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state));
}

function reasonPaths(model: Model, { selectors, chain: [identity], outcome, role, state }: Reason): Path[] {
  if (selectors.length > 0) return selectors.map((index) => selectorPath(model, index, state));
  const instead = identity ?? "no selector";
  return [{ selector: null, instead, role: model.roleAt(role), isOwn: outcome === "default", state }];
}

function selectorPath(model: Model, index: number, state: State): Path {
  const selector = model.map.selectors[index] ?? null;
  return { selector, instead: "no selector", role: model.roleAt(selector?.role ?? null), isOwn: false, state };
}
