import {
  type ControllerDeployment, type RoleSource, roleSourceOf,
} from "../../shared/controllers/controller-deployment.ts";
import type { Settlement } from "../../shared/controllers/controller-settings.ts";
import { listOf, printable } from "../../shared/formats/text.ts";
import { formatTable, type Paint } from "./terminal.ts";

/** The controllers of a report, and the settings that follow from their Deployments. */
export interface ReportedControllers extends Settlement {
  readonly deployments: readonly ControllerDeployment[];
}

const SOURCES: Readonly<Record<RoleSource, string>> = {
  selectors: "IAMRoleSelectors", carm: "CARM maps", own: "own role only", exits: "nothing: it exits",
};
const UNKNOWN = "unknown";

/** Returns what the Deployments show, the settings that were taken from them, and the notes. */
export function controllerLines(controllers: ReportedControllers, paint: Paint): string[] {
  const { deployments, notes } = controllers;
  if (deployments.length === 0 && notes.length === 0) return [];
  const rows = deployments.map((one) => [
    one.name, sourceText(one), one.region.value ?? UNKNOWN, watchText(one), credentialsText(one),
  ]);
  const header = ["DEPLOYMENT", "ROLES FROM", "REGION", "WATCHES", "OWN CREDENTIALS"];
  return [
    "", paint("bold", "Controllers"), ...(rows.length === 0 ? [] : formatTable([header, ...rows])),
    ...settlementLines(controllers, paint),
  ];
}

/** Returns the settings that were taken from the Deployments, and the notes, in lines. */
export function settlementLines({ read, notes }: Pick<Settlement, "read" | "notes">, paint: Paint): string[] {
  return [
    ...(read.length === 0 ? [] : [printable(`Settings from the Deployments: ${read.join(" ")}`)]),
    ...notes.map((note) => paint("yellow", printable(`note: ${note}`))),
  ];
}

function sourceText(controller: ControllerDeployment): string {
  const source = roleSourceOf(controller);
  const gates = Object.entries(controller.gates.value ?? {}).filter(([, isOn]) => isOn).map(([gate]) => gate);
  if (source === null) return UNKNOWN;
  return source === "carm" && gates.length > 0 ? `${SOURCES.carm}, ${gates.join(", ")}` : SOURCES[source];
}

function watchText({ watchNamespaces, watchSelectors }: ControllerDeployment): string {
  if (watchNamespaces.value === null || watchSelectors.value === null) return UNKNOWN;
  const namespaces = watchNamespaces.value.length === 0 ? "all namespaces" : listOf(watchNamespaces.value);
  return watchSelectors.value === "" ? namespaces : `${namespaces}, only ${watchSelectors.value}`;
}

function credentialsText({ credentials: { used, roleARN, ignored } }: ControllerDeployment): string {
  const role = roleARN === null ? used : `${roleARN}: ${used}`;
  return ignored.length === 0 ? role : `${role}; ignored: ${ignored.join(", ")}`;
}

/** Returns the controllers in the format of `-o json`. A setting is null if it is unknown. */
export function controllersJSON({ deployments, settings, read, notes }: ReportedControllers): object {
  return {
    deployments: deployments.map((one) => ({
      name: one.name, rolesFrom: roleSourceOf(one), featureGates: one.gates.value, enableCARM: one.enableCARM.value,
      region: one.region.value, watchNamespaces: one.watchNamespaces.value, watchSelectors: one.watchSelectors.value,
      credentials: one.credentials,
    })),
    settings, read, notes,
  };
}
