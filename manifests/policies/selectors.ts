import { SELECTOR_ANNOTATIONS } from "../../shared/decisions/annotation-keys.ts";
import { IRS_15 } from "../../shared/decisions/checks/selectors/breadth.ts";
import { IRS_48 } from "../../shared/decisions/checks/selectors/limits.ts";
import type { Runtime } from "../../shared/decisions/context.ts";
import { SELECTOR_GROUP } from "../../shared/decisions/kubernetes/kinds.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, NOT_BEING_DELETED } from "../conditions.ts";
import {
  derivedVariables, fieldVariables, not, read, type State, texts, unlessStored, type Variable,
} from "./cel.ts";
import type { Policy, PolicyCheck, PolicySettings } from "./policy.ts";
import { isWaived, waiverVariables, WAIVERS } from "./requester.ts";
import { ROLE_CHECKS, roleVariables } from "./selector-role.ts";
import { SESSION_CHECKS, SESSION_VARIABLES } from "./selector-session.ts";
import { matchChecks, MATCH_VARIABLES } from "./selector-matches.ts";

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
