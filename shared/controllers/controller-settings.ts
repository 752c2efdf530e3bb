import { REGION } from "../core/setting-definition.ts";
import { accountOfARN } from "../formats/arn.ts";
import { listOf } from "../formats/text.ts";
import {
  type ControllerDeployment, type Controllers, deploymentsText, type Gate, roleSourceOf,
} from "./controller-deployment.ts";

/** The settings that the Deployments of controllers show. Null if the user does not state a setting. */
export interface StatedSettings {
  readonly mode: "selectors" | "carm" | null;
  readonly teamLevelCarm: boolean | null;
  readonly serviceLevelCarm: boolean | null;
  readonly region: string | null;
  readonly controllerAccount: string | null;
  readonly controllerRole: string | null;
}

interface SettledSettings extends StatedSettings {
  readonly mode: "selectors" | "carm";
  readonly teamLevelCarm: boolean;
  readonly serviceLevelCarm: boolean;
}

/** The settings of a report on controllers, and what its reader must know about them. */
export interface Settlement {
  readonly settings: SettledSettings;
  /** The settings that come from the Deployments, as flags, without the defaults. */
  readonly read: readonly string[];
  /** Contradictions, differences between controllers, and what is unknown. No note has a full stop at its end. */
  readonly notes: readonly string[];
}

const DEFAULTS: ReadonlyMap<string, string | boolean> = new Map<string, string | boolean>([
  ["mode", "selectors"], ["team-level-carm", false], ["service-level-carm", false],
]);

/**
 * Returns the stated settings, completed by those in which all controllers agree. A setting that is unknown for one
 * controller keeps its default.
 */
export function settleSettings(stated: StatedSettings, found: Controllers): Settlement {
  const { controllers } = found;
  const read: string[] = [];
  const notes: string[] = [];
  const settle = <Value extends string | boolean>(
    name: string, own: Value | null, valueOf: (controller: ControllerDeployment) => Value | null,
  ): Value | null => {
    const result = settleOne({ flag: `--${name}`, own, valueOf }, controllers);
    if (DEFAULTS.get(name) !== result.value) read.push(...result.read);
    notes.push(...result.notes);
    return result.value;
  };
  const account = stated.controllerAccount ?? accountOfARN(stated.controllerRole ?? "");
  const settings = {
    mode: settle("mode", stated.mode, modeOf) ?? "selectors",
    teamLevelCarm: settle("team-level-carm", stated.teamLevelCarm, gateOf("TeamLevelCARM")) ?? false,
    serviceLevelCarm: settle("service-level-carm", stated.serviceLevelCarm, gateOf("ServiceLevelCARM")) ?? false,
    region: settle("region", stated.region, regionOf),
    controllerAccount: settle("controller-account", account, (one) => accountOfARN(roleOf(one) ?? "")),
    controllerRole: settle("controller-role", stated.controllerRole, roleOf),
  };
  return { settings, read, notes: [...notes, ...controllers.flatMap(unknownSettings), ...absenceNotes(found)] };
}

/** Returns the mode in which all controllers find roles, or null if they differ or if the mode of one is unknown. */
export function commonMode(controllers: readonly ControllerDeployment[]): StatedSettings["mode"] {
  return settleOne({ flag: "--mode", own: null, valueOf: modeOf }, controllers).value;
}

function modeOf(controller: ControllerDeployment): StatedSettings["mode"] {
  const source = roleSourceOf(controller);
  return source === "selectors" || source === "carm" ? source : null;
}

function gateOf(gate: Gate): (controller: ControllerDeployment) => boolean | null {
  return ({ gates }) => gates.value?.[gate] ?? null;
}

function roleOf({ credentials }: ControllerDeployment): string | null {
  return credentials.roleARN;
}

function regionOf({ region }: ControllerDeployment): string | null {
  return region.value !== null && new RegExp(REGION.regexp).test(region.value) ? region.value : null;
}

interface Setting<Value> {
  readonly flag: string;
  readonly own: Value | null;
  readonly valueOf: (controller: ControllerDeployment) => Value | null;
}

interface Settled<Value> extends Pick<Settlement, "read" | "notes"> {
  readonly value: Value | null;
}

function settleOne<Value extends string | boolean>(
  { flag, own, valueOf }: Setting<Value>, controllers: readonly ControllerDeployment[],
): Settled<Value> {
  const values = controllers.map((controller) => ({ name: controller.name, value: valueOf(controller) }));
  const known = values.filter(({ value }) => value !== null);
  const textOf = (list: typeof known): string => listOf(list.map(({ name, value }) => `${String(value)} in ${name}`));
  if (own !== null) {
    const others = known.filter(({ value }) => value !== own);
    const notes = others.length === 0 ? [] : [`${flag}=${String(own)} contradicts the Deployments: ${textOf(others)}`];
    return { value: own, read: [], notes };
  }
  const [first] = known;
  const isCommon = first !== undefined && values.every(({ value }) => value === first.value);
  if (isCommon) return { value: first.value, read: [`${flag}=${String(first.value)}`], notes: [] };
  // Each controller usually has a role of its own.
  const isDifference = new Set(known.map(({ value }) => value)).size > 1 && flag !== "--controller-role";
  const notes = isDifference ? [`the controllers differ, so state ${flag}: ${textOf(known)}`] : [];
  return { value: null, read: [], notes };
}

function unknownSettings({ name, ...readings }: ControllerDeployment): string[] {
  const { gates, enableCARM, watchNamespaces, watchSelectors, region } = readings;
  const reasons = [gates, enableCARM, watchNamespaces, watchSelectors, region].flatMap(({ unknown }) => unknown ?? []);
  return [...new Set(reasons)].map((reason) => `in Deployment ${name}, ${reason}`);
}

function absenceNotes({ others, unread }: Controllers): string[] {
  const elsewhere = "only controllers in the namespace of --ack-system-namespace count, not "
    + deploymentsText(others);
  return [
    ...(unread === null ? [] : [`the configuration of the controllers is unknown: ${unread}; state it with flags`]),
    ...(others.length === 0 ? [] : [elsewhere]),
  ];
}
