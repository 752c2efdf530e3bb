import { IRS_04 } from "../../shared/decisions/checks/selectors/account.ts";
import { IRS_01, IRS_02, IRS_03 } from "../../shared/decisions/checks/selectors/role.ts";
import { IRS_07 } from "../../shared/decisions/checks/selectors/stored.ts";
import {
  ACCOUNT_ID, ARN_LENGTH, MAX_PATH_LENGTH, parseARN, PARTITION, PARTS_BEFORE_RESOURCE, ROLE_NAME, ROLE_PATH,
} from "../../shared/decisions/kubernetes/arn.ts";
import { body, derivedVariables, not, read, type State, text, texts, unlessStored } from "./cel.ts";
import type { PolicyCheck, PolicySettings } from "./policy.ts";

const PATH = "spec.arn";
const ARN = read("arn");
const OLD_ARN = read("arn", "old");
/** Whether the selector keeps the role of the stored selector, so that each fault of the role is an old fault. */
const IS_KEPT = `oldObject != null && ${ARN} == ${OLD_ARN}`;
const IS_ARN = `^arn:([^:]*:){${PARTS_BEFORE_RESOURCE - 1}}`;
const IS_ROLE = `^arn:${body(PARTITION)}:iam::${body(ACCOUNT_ID)}:role${body(ROLE_PATH)}${body(ROLE_NAME)}$`;

/** The first `/` of a role ARN is the start of its path, and the last `/` is the end of its path. */
function isRole(arn: string): string {
  const { min, max } = ARN_LENGTH;
  return `size(${arn}) >= ${min} && size(${arn}) <= ${max} && ${arn}.matches(${text(IS_ROLE)}) && `
    + `${arn}.lastIndexOf("/") - ${arn}.indexOf("/") < ${MAX_PATH_LENGTH}`;
}

export const ROLE_VARIABLES = derivedVariables("isRole", (state) => isRole(read("arn", state)));

/** Returns an expression: whether the role is in an allowed account and in the partition of the controllers. */
function isAllowed(state: State, { allowedAccounts, controllerRole }: PolicySettings): string {
  const part = (index: number): string => `${read("arn", state)}.split(":")[${index}]`;
  const partition = parseARN(controllerRole ?? "")?.partition ?? null;
  const rules = [
    ...(partition === null ? [] : [`${part(1)} == ${text(partition)}`]),
    ...(allowedAccounts.length === 0 ? [] : [`${part(4)} in ${texts(allowedAccounts)}`]),
  ];
  return [not(read("isRole", state)), rules.join(" && ")].join(" || ");
}

function accountChecks(settings: PolicySettings): readonly PolicyCheck[] {
  const { allowedAccounts, controllerRole } = settings;
  if (allowedAccounts.length === 0 && controllerRole === null) return [];
  return [{
    check: IRS_04,
    admits: unlessStored((state) => isAllowed(state, settings)),
    path: PATH,
    message: "the role is not in an allowed account and in the partition of the controllers",
  }];
}

const HAS_OLD_ARN = "oldObject != null && has(oldObject.spec) && has(oldObject.spec.arn)";

/** Returns the checks of the role. */
export function roleChecks(settings: PolicySettings): readonly PolicyCheck[] {
  return [
    { check: IRS_01, admits: `${ARN} != "" || ${IS_KEPT}`, path: PATH, message: "the role is missing or empty" },
    {
      check: IRS_02,
      admits: `${ARN} == "" || ${IS_KEPT} || ${ARN}.matches(${text(IS_ARN)})`,
      path: PATH,
      message: "the value is not an ARN",
    },
    {
      check: IRS_03,
      admits: `${ARN} == "" || ${IS_KEPT} || ${read("isRole")} || !${ARN}.matches(${text(IS_ARN)})`,
      path: PATH,
      message: "the value is not the ARN of an IAM role",
    },
    ...accountChecks(settings),
    {
      check: IRS_07,
      admits: `!(${HAS_OLD_ARN}) || has(object.spec) && has(object.spec.arn) && object.spec.arn == oldObject.spec.arn`,
      path: PATH,
      message: "the role is changed or removed",
    },
  ];
}
