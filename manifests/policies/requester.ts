import { WAIVER_ANNOTATION } from "../../shared/contract/annotation-keys.ts";
import type { CheckEntry } from "../../shared/checks/check.ts";
import { WAIVER_01 } from "../../shared/checks/waiver.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { LIMITS } from "../../shared/contract/limits.ts";
import { derivedVariables, not, quoted, read, text, texts, trimmed, type Variable } from "./cel.ts";
import type { PolicyCheck, PolicySettings } from "./policy.ts";

const USER = 'request.userInfo.?username.orValue("")';
const GROUPS = "request.userInfo.?groups.orValue([])";

/** Returns an expression: whether the user of the request is one of `usernames`, or a member of one of `groups`. */
function isOneOf(usernames: readonly string[], groups: readonly string[]): string {
  return `${USER} in ${texts(usernames)} || ${GROUPS}.exists(group, group in ${texts(groups)})`;
}

/** The settings that name the ACK controllers. */
type ControllerSettings = Pick<PolicySettings, "controllerServiceAccounts" | "controllerUsers">;

/** Returns an expression: whether the user is one of the ACK controllers that the settings name. */
export function isController({ controllerServiceAccounts, controllerUsers }: ControllerSettings): string {
  const names = controllerServiceAccounts.map(usernameOf);
  const patterns = controllerUsers.map(userPattern);
  return `${USER} in ${texts(names)} || ${texts(patterns)}.exists(pattern, ${USER}.matches(pattern))`;
}

/** Returns the regular expression of a pattern of user names, in which `*` stands for any characters. */
export function userPattern(pattern: string): string {
  return `(?s)^${pattern.split("*").map(quoted).join(".*")}$`;
}

/** Returns the user name of a service account `NAMESPACE/NAME`. */
export function usernameOf(account: string): string {
  return `system:serviceaccount:${account.replace("/", ":")}`;
}

/** Returns an expression: whether the user is a service account of CAPA. */
export function isCAPA({ capaServiceAccounts }: Pick<PolicySettings, "capaServiceAccounts">): string {
  return `${USER} in ${texts(capaServiceAccounts.map(usernameOf))}`;
}

/**
 * Returns the variable `isExempt`, which is true for controllers that the webhook only warns, and a function that
 * exempts them from a check. WAIVER-01 exempts nobody.
 */
export function exemption(isExempt: string): {
  readonly variable: Variable;
  readonly unlessExempt: (check: PolicyCheck) => PolicyCheck;
} {
  return {
    variable: { name: "isExempt", expression: isExempt },
    unlessExempt: (check) => ({ ...check, admits: `${read("isExempt")} || (${check.admits})` }),
  };
}

/**
 * Returns the variables that `WAIVERS` and `isWaived` read: `waivers` lists the first 100 ids in the waiver annotation.
 * The appended commas separate the 100th id from the rest, which contains a comma.
 */
export function waiverVariables(settings: PolicySettings): readonly Variable[] {
  const { waiverUsers, waiverGroups } = settings;
  const isExcluded = `${isController(settings)} || ${isCAPA(settings)}`;
  const limit = LIMITS.listedEntries.value;
  return [
    ...derivedVariables("waivers", (state) => {
      const listed = `(${read("annotations", state)}[?${text(WAIVER_ANNOTATION)}].orValue("") + ",,")`
        + `.split(",", ${limit + 1})`;
      return `${listed}.filter(id, !id.contains(",")).map(id, ${trimmed("id")})`;
    }),
    {
      name: "isWaiverUser",
      expression: `(${isOneOf(waiverUsers, waiverGroups)}) && ${not(isExcluded)}`,
    },
  ];
}

/** Denies an id that a user who is not a waiver user adds to the waiver annotation. */
export const WAIVERS: PolicyCheck = {
  check: WAIVER_01,
  admits: `${read("waivers")}.all(id, id == "" || id in ${read("waivers", "old")}) || ${read("isWaiverUser")}`,
  path: formatFieldPath(annotationPath(WAIVER_ANNOTATION)),
  message: "the requester is a controller or not a waiver user, and may not waive checks",
  protectsWebhook: true,
};

/** Returns an expression: whether the check is waived by a waiver user. */
export function isWaived({ id }: CheckEntry): string {
  return `${text(id)} in ${read("waivers")} && ${read("isWaiverUser")}`;
}
