import { IRS_04 } from "../../shared/checks/selector-account.ts";
import { IRS_15 } from "../../shared/checks/selector-breadth.ts";
import { IRS_48 } from "../../shared/checks/selector-limits.ts";
import { IRS_01, IRS_02, IRS_03 } from "../../shared/checks/selector-role.ts";
import { IRS_07 } from "../../shared/checks/selector-stored.ts";
import { SELECTOR_GROUP } from "../../shared/contract/ack-groups.ts";
import { SELECTOR_ANNOTATIONS } from "../../shared/contract/annotation-keys.ts";
import type { Runtime } from "../../shared/contract/context.ts";
import { LIMITS } from "../../shared/contract/limits.ts";
import {
  ACCOUNT_ID, ARN_LENGTH, MAX_PATH_LENGTH, parseARN, PARTITION, PARTS_BEFORE_RESOURCE, ROLE_NAME, ROLE_PATH,
} from "../../shared/formats/arn.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, NOT_BEING_DELETED } from "../conditions.ts";
import {
  body, derivedVariables, fieldVariables, not, read, type State, text, texts, unlessStored, type Variable,
} from "./cel.ts";
import type { Policy, PolicyCheck, PolicySettings } from "./policy.ts";
import { isWaived, WAIVERS, waiverVariables } from "./requester.ts";
import { MATCH_VARIABLES, matchChecks } from "./selector-matches.ts";
import { SESSION_CHECKS, SESSION_VARIABLES } from "./selector-session.ts";

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

function roleVariables(settings: PolicySettings): readonly Variable[] {
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
const ROLE_CHECKS: readonly PolicyCheck[] = [
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

const FIELDS: readonly Variable[] = [
  ...fieldVariables("annotations", "metadata.annotations", "{}"),
  ...fieldVariables("labels", "metadata.labels", "{}"),
  ...fieldVariables("arn", "spec.arn", '""'),
  ...fieldVariables("names", "spec.namespaceSelector.names", "[]"),
  ...fieldVariables("types", "spec.resourceTypeSelector", "[]"),
  ...fieldVariables("namespaceLabels", "spec.namespaceSelector.labelSelector.matchLabels", "{}"),
  ...fieldVariables("resourceLabels", "spec.resourceLabelSelector.matchLabels", "{}"),
];

/** The fields that only the CRD for `--runtime extended` defines. */
const EXPRESSIONS: readonly Variable[] = [
  ...fieldVariables("namespaceExpressions", "spec.namespaceSelector.labelSelector.matchExpressions", "[]"),
  ...fieldVariables("resourceExpressions", "spec.resourceLabelSelector.matchExpressions", "[]"),
];

/** The lists and maps that restrict a selector, and the maximum number of their entries. */
const RESTRICTIONS: readonly (readonly [name: string, limit: number])[] = [
  ["names", LIMITS.selectorNamespaces.value],
  ["types", LIMITS.selectorTypes.value],
  ["namespaceLabels", LIMITS.selectorLabels.value],
  ["resourceLabels", LIMITS.selectorLabels.value],
];
const EXPRESSION_RESTRICTIONS = ["namespaceExpressions", "resourceExpressions"].map(
  (name) => [name, LIMITS.selectorLabels.value] as const,
);

function restrictionsOf(runtime: Runtime): typeof RESTRICTIONS {
  return runtime === "extended" ? [...RESTRICTIONS, ...EXPRESSION_RESTRICTIONS] : RESTRICTIONS;
}

/** Returns an expression: whether no list, map or annotation of the selector exceeds its limit. */
function isWithinLimits(state: State, runtime: Runtime): string {
  const maps = ["labels", "annotations"].map((name) => [name, LIMITS.metadataEntries.value] as const);
  const sizes = [...restrictionsOf(runtime), ...maps].map(([name, limit]) => `size(${read(name, state)}) <= ${limit}`);
  const lengths = `${texts(SELECTOR_ANNOTATIONS)}.all(key, `
    + `size(${read("annotations", state)}[?key].orValue("")) <= ${LIMITS.annotationCharacters.value})`;
  return [...sizes, lengths].join(" && ");
}

function isRestricted(state: State, runtime: Runtime): string {
  return restrictionsOf(runtime).map(([name]) => `size(${read(name, state)}) > 0`).join(" || ");
}

function withinLimitsCheck(): PolicyCheck {
  return {
    check: IRS_48,
    admits: read("isWithinLimits"),
    path: "spec",
    message: "a list, a map or an annotation of the selector exceeds its limit (docs/limits.md)",
  };
}

function breadthCheck(runtime: Runtime): PolicyCheck {
  return {
    check: IRS_15,
    admits: `${unlessStored((state) => isRestricted(state, runtime))} || ${isWaived(IRS_15)}`,
    path: "spec",
    message: "the selector selects every resource in every namespace",
  };
}

/**
 * Returns a function that runs a check only if a variable is true. No check runs on a selector that exceeds a limit,
 * which IRS-48 denies. A check that reads each entry of a list does not run if the stored selector exceeds a limit
 * either. This bounds the cost of its expression.
 */
function only(variable: "isWithinLimits" | "isComparable"): (check: PolicyCheck) => PolicyCheck {
  return (check) => ({ ...check, admits: `${not(read(variable))} || (${check.admits})` });
}

/** Returns the policy for IAMRoleSelectors. */
export function selectorPolicy(settings: PolicySettings, runtime: Runtime): Policy {
  const ofFields = [...ROLE_CHECKS, breadthCheck(runtime), WAIVERS].map(only("isWithinLimits"));
  const ofEntries = [...matchChecks(runtime), ...SESSION_CHECKS].map(only("isComparable"));
  return {
    name: "iamroleselectors",
    repeatsWebhook: true,
    match: {
      matchPolicy: "Equivalent",
      resourceRules: [{
        apiGroups: [SELECTOR_GROUP], apiVersions: ["v1alpha1"], resources: ["iamroleselectors"],
        operations: ["CREATE", "UPDATE"], scope: "Cluster",
      }],
    },
    conditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      ...FIELDS, ...(runtime === "extended" ? EXPRESSIONS : []),
      ...derivedVariables("isWithinLimits", (state) => isWithinLimits(state, runtime)),
      { name: "isComparable", expression: `${read("isWithinLimits")} && ${read("isWithinLimits", "old")}` },
      ...roleVariables(settings), ...MATCH_VARIABLES, ...SESSION_VARIABLES, ...waiverVariables(settings),
    ],
    checks: [...ofFields, ...ofEntries, withinLimitsCheck()],
  };
}
