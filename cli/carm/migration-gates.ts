import {
  type ControllerDeployment, type Controllers, deploymentsText, roleSourceOf,
} from "../../shared/controllers/controller-deployment.ts";
import type { Inexpressible } from "../../shared/carm/inexpressible.ts";

/** The feature gates on which the roles of CARM depend, and the flags that state them. */
const FLAGS = { TeamLevelCARM: "--team-level-carm", ServiceLevelCARM: "--service-level-carm" } as const;
type CARMGate = keyof typeof FLAGS;

/** Why a comparison of roles could be wrong. The texts have no full stop at their end. */
export interface GateProblem {
  readonly problem: string;
  readonly fix: string;
}

export type GateValues = Readonly<Record<CARMGate, boolean>>;

/** The gates of every controller, or why they are not certain. */
export type MigrationGates =
  | { readonly values: GateValues; readonly problems: readonly [] }
  | { readonly values: null; readonly problems: readonly [GateProblem, ...GateProblem[]] };

/**
 * Decides the feature gates of the controllers: those that the user states, or else those in their Deployments. The
 * result has problems if a gate is unknown, if controllers differ, because a selector applies to all of them, or if a
 * controller does not use CARM.
 */
export function decideGates(
  stated: Readonly<Record<CARMGate, boolean | null>>, found: Controllers, systemNamespace: string,
): MigrationGates {
  const decide = (gate: CARMGate): boolean | GateProblem => decideGate(gate, stated[gate], found, systemNamespace);
  const [team, service] = [decide("TeamLevelCARM"), decide("ServiceLevelCARM")];
  const [first, ...others] = [
    ...found.controllers.flatMap(sourceProblem), ...[team, service].filter((one) => typeof one !== "boolean"),
  ];
  if (first !== undefined) return { values: null, problems: [first, ...others] };
  return { values: { TeamLevelCARM: team === true, ServiceLevelCARM: service === true }, problems: [] };
}

function decideGate(
  gate: CARMGate, stated: boolean | null, found: Controllers, systemNamespace: string,
): boolean | GateProblem {
  const flag = FLAGS[gate];
  const names = (value: boolean): string[] => (
    found.controllers.filter(({ gates }) => gates.value?.[gate] === value).map(({ name }) => name)
  );
  const [on, off] = [names(true), names(false)];
  if (stated !== null) {
    const [state, others] = stated ? ["off", off] as const : ["on", on] as const;
    if (others.length === 0) return stated;
    const problem = `${flag}=${String(stated)}, but ${gate} is ${state} in ${deploymentsText(others)}`;
    return { problem, fix: "correct the flag, or give all controllers the same feature gate" };
  }
  const reason = unknownReason(found, systemNamespace);
  if (reason !== null) {
    const fix = `pass ${flag}=true or ${flag}=false, as the controllers are configured, or add their Deployments to `
      + "the input and set --ack-system-namespace to their namespace";
    return { problem: `it is unknown whether the feature gate ${gate} is on: ${reason}`, fix };
  }
  if (on.length === 0 || off.length === 0) return on.length > 0;
  const problem = `the feature gate ${gate} is on in ${deploymentsText(on)}, but off in ${deploymentsText(off)}`;
  return { problem, fix: "give all controllers the same feature gate, because a selector applies to each of them" };
}

/** Returns why the Deployments do not show the gates of every controller, or null if they do. */
function unknownReason({ controllers, unread }: Controllers, systemNamespace: string): string | null {
  if (controllers.length === 0) {
    return unread ?? `no Deployment of an ACK controller was found in namespace ${systemNamespace}`;
  }
  const [reason] = controllers.flatMap(({ name, gates: { unknown } }) => (
    unknown === null ? [] : [`in ${deploymentsText([name])}, ${unknown}`]
  ));
  return reason ?? null;
}

/** Returns the problem of a controller that does not take its roles from the CARM maps now. */
function sourceProblem(controller: ControllerDeployment): GateProblem[] {
  const source = roleSourceOf(controller);
  const subject = deploymentsText([controller.name]);
  if (source === "selectors") {
    return [{
      problem: `${subject} has the feature gate IAMRoleSelector on, so its controller already ignores the CARM maps`,
      fix: "compare its roles with `ack-role-resolver resolve`; only controllers with CARM can migrate",
    }];
  }
  if (source === "exits") {
    const problem = `${subject} has both IAMRoleSelector and CARM on, so its controller exits at its start`;
    return [{ problem, fix: "turn the feature gate off until the selectors are applied" }];
  }
  if (source !== "own") return [];
  const cause = controller.enableCARM.value === true ? "--watch-namespace has one namespace" : "--enable-carm is false";
  return [{
    problem: `the controller of ${subject} does not use CARM but its own role, because ${cause}`,
    fix: "run the command on manifests without this Deployment, and do not let the selectors select its resources",
  }];
}

/** Returns a case for Deployments in other namespaces, whose controllers read the CARM maps there. */
export function uncoveredControllers({ others }: Controllers, systemNamespace: string): readonly Inexpressible[] {
  if (others.length === 0) return [];
  return [{
    subject: deploymentsText(others),
    reason: "an ACK controller seems to run here, but its feature gates and CARM maps were not read, because its "
      + `namespace is not ${systemNamespace}`,
    fix: "if it is a controller, run the command with --ack-system-namespace set to its namespace, and compare the "
      + "outputs",
  }];
}
