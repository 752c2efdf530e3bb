import { IRS_04 } from "../../shared/decisions/checks/selectors/account.ts";
import { IRS_01, IRS_02, IRS_03 } from "../../shared/decisions/checks/selectors/role.ts";
import { IRS_07 } from "../../shared/decisions/checks/selectors/stored.ts";
import {
  ACCOUNT_ID, ARN_LENGTH, MAX_PATH_LENGTH, parseARN, PARTITION, PARTS_BEFORE_RESOURCE, ROLE_NAME, ROLE_PATH,
} from "../../shared/decisions/kubernetes/arn.ts";
import { body, derivedVariables, not, read, type State, text, texts, unlessStored, type Variable } from "./cel.ts";
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

export function roleVariables(settings: PolicySettings): readonly Variable[] {
  return [...settingVariables(settings), ...derivedVariables("isRole", (state) => isRole(read("arn", state)))];
}

/** Returns the variables of the settings that limit the roles. An empty list allows every role. */
function settingVariables({ allowedAccounts, controllerRole }: PolicySettings): readonly Variable[] {
  const partition = parseARN(controllerRole ?? "")?.partition;
  return [
    { name: "allowedPartitions", expression: texts(partition === undefined ? [] : [partition]) },
    { name: "allowedAccounts", expression: texts(allowedAccounts) },
  ];
}

/** Returns an expression: whether the role is in an allowed account and in the partition of the controllers. */
function isAllowed(state: State): string {
  const isOneOf = (index: number, allowed: string): string => (
    `(size(${allowed}) == 0 || ${read("arn", state)}.split(":")[${index}] in ${allowed})`
  );
  const rules = [isOneOf(1, read("allowedPartitions")), isOneOf(4, read("allowedAccounts"))];
  return [not(read("isRole", state)), rules.join(" && ")].join(" || ");
}

const HAS_OLD_ARN = "oldObject != null && has(oldObject.spec) && has(oldObject.spec.arn)";

/** The checks of the role. */
export const ROLE_CHECKS: readonly PolicyCheck[] = [
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
  {
    check: IRS_04,
    admits: unlessStored(isAllowed),
    path: PATH,
    message: "the role is not in an allowed account and in the partition of the controllers",
  },
  {
    check: IRS_07,
    admits: `!(${HAS_OLD_ARN}) || has(object.spec) && has(object.spec.arn) && object.spec.arn == oldObject.spec.arn`,
    path: PATH,
    message: "the role is changed or removed",
  },
];
