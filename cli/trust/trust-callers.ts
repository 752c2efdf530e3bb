import type { SidecarSession } from "../../shared/core/session.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { parseRoleARN } from "../../shared/formats/arn.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { printable } from "../../shared/formats/text.ts";
import {
  type ControllerDeployment, type Controllers, deploymentsText,
} from "../../shared/controllers/controller-deployment.ts";
import type { SessionDefaultSettings } from "../../shared/core/session-defaults.ts";
import { sidecarSession } from "../../shared/controllers/sidecar-session.ts";
import type { RoleOwner } from "../../shared/trust/own-role.ts";
import type { RoleCaller } from "../../shared/trust/role-caller.ts";

interface Callers {
  readonly callers: readonly RoleCaller[];
  /** Why the caller of a Deployment is unknown. */
  readonly notes: readonly string[];
  /** How the controllers get the roles of the callers, as far as it is known. */
  readonly owners: readonly RoleOwner[];
  /** Whether no caller is unknown: --caller may state those of all Deployments. */
  readonly areComplete: boolean;
}

type CallerSettings = SessionDefaultSettings & Pick<
  SettingsFor<"trust">, "caller" | "via" | "callerCredentials" | "sessionName"
>;
type FoundControllers = Pick<Controllers, "controllers" | "unread"> & Partial<Pick<Controllers, "others">>;

/** Returns the callers of --caller and those of the controllers' Deployments. Throws if there is none. */
export function trustCallers(settings: CallerSettings, found: FoundControllers): Callers {
  const { controllers, others = [], unread } = found;
  const { via, callerCredentials: credentials } = settings;
  const sidecar = sidecarSession(settings.sessionName, settings);
  if (typeof sidecar === "string") throw invalid(sidecar);
  const given = settings.caller.map((arn): RoleCaller => ({ arn, via, credentials, sidecar }));
  const read = controllers.map((one) => callerOf(one, sidecar));
  const notes = [...(unread === null ? [] : [unread]), ...read.filter((one) => typeof one === "string")];
  const callers = [...given, ...read.filter((one) => typeof one !== "string")];
  const areComplete = notes.length === 0 || given.length > 0;
  const all = [...notes, ...elsewhere(others)];
  const owners = ownersOf(given, controllers);
  if (callers.length > 0) return { callers: withoutRepetitions(callers), owners, notes: all, areComplete };
  const why = all.length === 0 ? "" : `; ${all.join("; ")}`;
  throw invalid(`no caller is known: pass the role of the controllers with --caller${why}`);
}

/**
 * Returns how the controllers get their own roles. A Deployment that shows no role has that of the only caller that the
 * user states with EKS Pod Identity.
 */
function ownersOf(given: readonly RoleCaller[], controllers: readonly ControllerDeployment[]): RoleOwner[] {
  const [only, ...more] = given;
  const stated = more.length === 0 && only?.credentials === "pod-identity" ? only.arn : null;
  const ofDeployments = controllers.flatMap(({ name, serviceAccount: account, credentials }): RoleOwner[] => {
    const through = credentials.roleARN === null ? "pod-identity" : "irsa";
    const roleARN = credentials.roleARN ?? stated;
    return roleARN === null ? [] : [{ name, roleARN, through, account }];
  });
  const known = new Set(ofDeployments.map(({ roleARN }) => roleARN));
  const others = given.flatMap(({ arn: roleARN, via, credentials }): RoleOwner[] => {
    const through = via === "eks-capability" ? via : credentials === "keys" ? null : credentials;
    const isOpen = through !== null && !known.has(roleARN) && parseRoleARN(roleARN) !== null;
    return isOpen ? [{ name: null, roleARN, through, account: null }] : [];
  });
  return [...ofDeployments, ...others];
}

/** Tenants can create Deployments that look like a controller, so only the user states another namespace. */
function elsewhere(others: readonly string[]): string[] {
  const namespaces = [...new Set(others.map((name) => name.slice(0, name.indexOf("/"))))];
  return namespaces.length === 0 ? []
    : [`${deploymentsText(others)} not read, because of the namespace; pass --ack-system-namespace ${
      namespaces.join(" or ")}`];
}

function invalid(message: string): ResolverError {
  return new ResolverError("ERR_CONFIG_INVALID", printable(message));
}

function callerOf(controller: ControllerDeployment, none: SidecarSession): RoleCaller | string {
  const { name, group, sidecar, credentials: { roleARN: arn, used } } = controller;
  if (arn === null) return `the role of Deployment ${name} is unknown: it uses ${used}; pass --caller`;
  if (typeof sidecar === "string") return `what the sidecar of Deployment ${name} sends is unknown: ${sidecar}`;
  // A Deployment shows a role only with a web identity (IRSA).
  const via = sidecar === null ? "ack" : "sidecar";
  return { arn, via, credentials: "irsa", sidecar: sidecar ?? none, groups: group === null ? null : [group] };
}

/** Many Deployments have the same role. */
function withoutRepetitions(callers: readonly RoleCaller[]): RoleCaller[] {
  const byRole = Map.groupBy(callers, (caller) => JSON.stringify({ ...caller, groups: null }));
  return [...byRole.values()].flatMap((same) => same.slice(0, 1).map((caller) => {
    const groups = same.map((one) => one.groups ?? null);
    const known = groups.filter((one) => one !== null);
    return { ...caller, groups: known.length < groups.length ? null : [...new Set(known.flat())] };
  }));
}
